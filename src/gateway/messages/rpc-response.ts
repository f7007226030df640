import type { HttpResponse } from '../../kernel/http/http-types.ts'
import { LARGE_BYTES } from '../../mcp/protocol/raw-json.ts'
import type { RequestId, RpcError } from './rpc-error.ts'

/** A response that contains the bytes of a result unchanged. */
export function resultMessage(id: RequestId, result: Buffer | string): Buffer {
  const head = resultHead(id)
  if (typeof result === 'string') return Buffer.from(`${head}${result}}`)
  const headBytes = Buffer.byteLength(head)
  const message = Buffer.allocUnsafe(headBytes + result.length + 1)
  message.write(head)
  result.copy(message, headBytes)
  message[headBytes + result.length] = CLOSE_BRACE
  return message
}
const CLOSE_BRACE = 0x7d

/** A response up to the result. After the result, one closing brace completes it. */
const resultHead = ({ json }: RequestId): string => `{"jsonrpc":"2.0","id":${json},"result":`

export function errorMessage(id: RequestId | null, { code, message, data, json }: RpcError): Buffer {
  const error = json ?? JSON.stringify({ code, message, ...(data !== undefined && { data }) })
  return Buffer.from(`{"jsonrpc":"2.0","id":${id?.json ?? null},"error":${error}}`)
}

/** A literal, because objects that are cloned with a spread survive garbage collections. */
const headersOf = (length: number) => ({
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'content-length': length,
})
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII
const ASCII = /^[\x00-\x7f]*$/
const isAscii = ({ key, json }: RequestId): boolean => typeof key === 'number' || ASCII.test(json)

export function sendJson(
  response: HttpResponse,
  status: number,
  body: Buffer,
  headers?: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, Object.assign(headersOf(body.length), headers)).end(body)
}

/** Sends a small result with its headers in one write, and a large result without a copy. */
export function sendResult(response: HttpResponse, id: RequestId, result: Buffer | string): void {
  const head = resultHead(id)
  if (result.length > LARGE_BYTES) {
    const length = Buffer.byteLength(head) + Buffer.byteLength(result) + 1
    response.writeHead(200, headersOf(length))
    response.cork()
    response.write(head)
    response.write(result)
    response.end('}')
    response.uncork()
  } else if (!isAscii(id) || (typeof result === 'string' && !ASCII.test(result))) {
    sendJson(response, 200, resultMessage(id, result))
  } else {
    // As latin1, every character of the text is one byte.
    const text = `${head}${typeof result === 'string' ? result : result.toString('latin1')}}`
    response.writeHead(200, headersOf(text.length)).end(text, 'latin1')
  }
}
