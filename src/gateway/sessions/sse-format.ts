import type { HttpResponse } from '../../kernel/http/exchange.ts'
import { textOf } from '../../mcp/protocol/raw-json.ts'

export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** With more unsent bytes than this, the client is slow: notifications are dropped, responses are not. */
export const SLOW_BYTES = 1024 * 1024
/** With this many unsent bytes, the connection is closed. */
export const STUCK_BYTES = 4 * 1024 * 1024

/** A message as an event. The id lets a client resume on another connection. */
export function eventOf(message: string | Buffer, id?: string): Buffer {
  const head = id === undefined ? HEAD : Buffer.from(`id: ${id}\nevent: message\ndata: `)
  return Buffer.concat([head, typeof message === 'string' ? Buffer.from(message) : onDataLines(message), END])
}

/** Results of remote servers may have line breaks. Each line of an event needs its own `data:`. */
const onDataLines = (json: Buffer): Buffer =>
  json.includes('\n') || json.includes('\r')
    ? Buffer.from(json.toString('utf8').replace(/\r\n?|\n/g, '\ndata: '))
    : json
const HEAD = Buffer.from('event: message\ndata: ')
const END = Buffer.from('\n\n')

/** A request, or without an id a notification. `params`: an object or its RawJson. */
export function messageOf(method: string, params?: unknown, id?: string): string {
  const head = `{"jsonrpc":"2.0"${id === undefined ? '' : `,"id":${JSON.stringify(id)}`}`
  return `${head},"method":${JSON.stringify(method)}${params ? `,"params":${textOf(params)}` : ''}}`
}

/** Keeps the connection open, or closes it when the client has stopped reading. */
export function sendHeartbeat(response: HttpResponse): void {
  if (response.writableLength >= STUCK_BYTES) response.destroy()
  else if (response.writableLength < SLOW_BYTES) response.write(': ping\n\n')
}
