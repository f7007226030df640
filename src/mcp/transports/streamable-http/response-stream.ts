import { setTimeout as sleep } from 'node:timers/promises'
import { RemoteFailure } from '../../../net/http-failure.ts'
import type { HttpResponse } from '../../../net/http-response.ts'
import type { JsonRpcPeer } from '../../client/json-rpc-peer.ts'
import { SseReader } from '../../protocol/sse-reader.ts'
import { isEventStream, noResult, receiveEvents } from '../http/message-poster.ts'

interface Options {
  readonly peer: JsonRpcPeer
  readonly id: number
  /** The limit of one event. */
  readonly maxBytes: number
  /** The limit of the whole stream. By default one response, and as much again for other messages. */
  readonly streamMaxBytes?: number
  readonly signal: AbortSignal
  /** Undefined when an interrupted stream cannot be resumed. */
  readonly resume: ((lastEventId: string) => Promise<HttpResponse>) | undefined
}

const RETRY_MS = 1000
const LONGEST_RETRY_MS = 30_000
const MAX_EMPTY_STREAMS = 5

/**
 * Receives the response to one request as a stream, with the messages before it. A legacy server that numbers its events
 * may close the stream and continue it later, so that a slow tool needs no open connection.
 */
export async function receiveResponseStream(first: HttpResponse, options: Options): Promise<void> {
  const { peer, id, maxBytes, streamMaxBytes = 2 * maxBytes, signal, resume } = options
  let lastEventId: string | undefined
  let emptyStreams = 0
  for (let response = first; ; response = await resumed(response, resume, lastEventId)) {
    const reader = new SseReader(({ event, data }) => {
      if (event === 'message') peer.receive({ bytes: data, cut: 0, borrowed: false }, id)
      if (!peer.isPending(id)) response.expire()
    }, maxBytes)
    const error = await receiveEvents(response, reader, streamMaxBytes).catch((cause: unknown) => cause)
    if (!peer.isPending(id)) return
    if (error !== undefined && !isInterrupted(error)) throw error
    const hasNewEvents = reader.lastEventId !== undefined && reader.lastEventId !== lastEventId
    emptyStreams = hasNewEvents ? 0 : emptyStreams + 1
    lastEventId = reader.lastEventId ?? lastEventId
    if (!resume || lastEventId === undefined || emptyStreams > MAX_EMPTY_STREAMS) {
      throw error ?? noResult(response.url.host)
    }
    await sleep(Math.min(reader.retryMs ?? RETRY_MS, LONGEST_RETRY_MS), undefined, { signal })
  }
}

async function resumed(
  { url: { host } }: HttpResponse,
  resume: Options['resume'],
  lastEventId: string | undefined,
): Promise<HttpResponse> {
  if (!resume || lastEventId === undefined) throw noResult(host)
  const response = await resume(lastEventId)
  if (response.status === 200 && isEventStream(response)) return response
  response.discard()
  throw noResult(host)
}

const isInterrupted = (error: unknown) => error instanceof RemoteFailure && error.code === 'connection_reset'
