import type { ServerResponse } from 'node:http'
import { resultHead, resultMessage } from './json-rpc.ts'

/** Beyond this a copy costs more than three writes. */
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

/** A text goes out together with the head, in one write; a character of this text is one byte. */
function sendSmall(response: ServerResponse, text: string): void {
  const headers = {
    'content-type': JSON_TYPE['content-type'],
    'cache-control': JSON_TYPE['cache-control'],
    'content-length': text.length,
  }
  response.writeHead(200, headers).end(text, 'latin1')
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const ASCII = /^[\x00-\x7f]*$/

/** A large result is sent from where it lies. */
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
