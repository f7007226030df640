import type { ServerResponse } from 'node:http'
import { resultHead, resultMessage } from './json-rpc.ts'

/** Above this size, a copy costs more than three writes. */
const LARGE_BYTES = 16 * 1024
const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

export function sendJson(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { ...JSON_TYPE, ...headers, 'content-length': body.length }).end(body)
}

/** Sends headers and body in one write. Every character of the text must be one byte. */
function sendSmall(response: ServerResponse, text: string): void {
  const headers = {
    'content-type': JSON_TYPE['content-type'],
    'cache-control': JSON_TYPE['cache-control'],
    'content-length': text.length,
  }
  response.writeHead(200, headers).end(text, 'latin1')
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII
const ASCII = /^[\x00-\x7f]*$/

/** A large result is sent without a copy. */
export function sendResult(response: ServerResponse, id: string | number, result: Buffer | string): void {
  const head = resultHead(id)
  if (result.length <= LARGE_BYTES) {
    if (typeof result === 'string' || !ASCII.test(head)) sendJson(response, 200, resultMessage(id, result))
    else sendSmall(response, `${head}${result.toString('latin1')}}`)
    return
  }
  const length = Buffer.byteLength(head) + Buffer.byteLength(result) + 1
  response.writeHead(200, { ...JSON_TYPE, 'content-length': length })
  response.cork()
  response.write(head)
  response.write(result)
  response.end('}')
  response.uncork()
}
