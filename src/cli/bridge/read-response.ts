import { isObject } from '../../kernel/is-object.ts'
import { MESSAGE_MAX_BYTES } from '../../mcp/protocol/line-splitter.ts'
import { SseReader } from '../../mcp/protocol/sse-reader.ts'
import type { HttpResponse } from '../../net/http-response.ts'
import { parsed } from './message.ts'

export type OnMessage = (message: Readonly<Record<string, unknown>>, bytes: Buffer) => void

/** A server's message of 10 MiB, plus what the gateway adds around it. */
const MAX_BYTES = MESSAGE_MAX_BYTES + 64 * 1024

export const isEventStream = ({ contentType }: HttpResponse): boolean => contentType === 'text/event-stream'

/** Calls back for each JSON-RPC message in a response, single or streamed. Returns any other body. */
export async function readResponse(response: HttpResponse, onMessage: OnMessage): Promise<unknown> {
  if (isEventStream(response)) return void (await readStream(response, streamReader(onMessage)))
  const bytes = await response.read(MAX_BYTES)
  const value = parsed(bytes)
  if (!isObject(value) || value.jsonrpc !== '2.0') return value
  onMessage(value, bytes)
  return undefined
}

export const streamReader = (onMessage: OnMessage): SseReader =>
  new SseReader(({ event, data }) => {
    const value = event === 'message' ? parsed(data) : undefined
    if (isObject(value)) onMessage(value, data)
  }, MAX_BYTES)

export async function readStream(response: HttpResponse, reader: SseReader): Promise<void> {
  for await (const chunk of response.chunks()) reader.push(chunk)
}
