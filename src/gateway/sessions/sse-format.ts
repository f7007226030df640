import type { ServerResponse } from 'node:http'

export const SSE = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** Above this much unsent, whoever reads is slow: it gets what it must have, and misses the rest. */
export const SLOW_BYTES = 1024 * 1024
/** At this much unsent nobody reads any more. */
export const STUCK_BYTES = 4 * 1024 * 1024

/** The id is for who wants to hear the rest over another connection. */
export function eventOf(message: string | Buffer, id?: string): Buffer {
  const head = id === undefined ? HEAD : Buffer.from(`id: ${id}\nevent: message\ndata: `)
  return Buffer.concat([head, typeof message === 'string' ? Buffer.from(message) : lined(message), END])
}

/** JSON of ours has no line breaks. Some remote servers send theirs on many lines, each of which is told as one. */
const lined = (json: Buffer): Buffer =>
  json.includes('\n') || json.includes('\r')
    ? Buffer.from(json.toString('utf8').replace(/\r\n?|\n/g, '\ndata: '))
    : json
const HEAD = Buffer.from('event: message\ndata: ')
const END = Buffer.from('\n\n')

/** Without an id it wants no answer. */
export function messageOf(method: string, params?: object, id?: string): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    method,
    ...(params && { params }),
  })
}

/** Says only that the connection lives; whoever does not read has none. */
export function beat(response: ServerResponse): void {
  if (response.writableLength >= STUCK_BYTES) response.destroy()
  else if (response.writableLength < SLOW_BYTES) response.write(': here\n\n')
}
