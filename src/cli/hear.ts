import type { IncomingMessage } from 'node:http'
import { isObject } from '../kernel/is-object.ts'
import { MESSAGE_MAX_BYTES } from '../protocol/frames.ts'
import { SseReader } from '../protocol/sse-reader.ts'
import { parsed } from './message.ts'

export type Hear = (message: Readonly<Record<string, unknown>>, bytes: Buffer) => void

/** A server's message of 10 MiB, with what the gateway writes around it. */
const MAX_BYTES = MESSAGE_MAX_BYTES + 64 * 1024

export const isEventStream = ({ headers }: IncomingMessage): boolean =>
  /^text\/event-stream\b/i.test(headers['content-type'] ?? '')

/** Tells each message of an answer, be it one or a stream of them. What is no message is given back. */
export async function hearAnswer(answer: IncomingMessage, hear: Hear): Promise<unknown> {
  if (isEventStream(answer)) return void (await hearStream(answer, readerFor(hear)))
  const bytes = await bodyOf(answer)
  const value = parsed(bytes)
  if (!isObject(value) || value.jsonrpc !== '2.0') return value
  hear(value, bytes)
  return undefined
}

export const readerFor = (hear: Hear): SseReader =>
  new SseReader(({ event, data }) => {
    const value = event === 'message' ? parsed(data) : undefined
    if (isObject(value)) hear(value, data)
  }, MAX_BYTES)

export async function hearStream(answer: IncomingMessage, reader: SseReader): Promise<void> {
  for await (const chunk of answer as AsyncIterable<Buffer>) reader.push(chunk)
}

async function bodyOf(answer: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of answer as AsyncIterable<Buffer>) {
    length += part.length
    if (length > MAX_BYTES) throw new Error('The answer is too large')
    parts.push(part)
  }
  return Buffer.concat(parts, length)
}
