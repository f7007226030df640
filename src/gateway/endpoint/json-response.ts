import type { HttpResponse } from '../../kernel/http/exchange.ts'
import { LARGE_BYTES } from '../../mcp/protocol/raw-json.ts'
import { type RequestId, resultHead, resultMessage } from './json-rpc.ts'

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
