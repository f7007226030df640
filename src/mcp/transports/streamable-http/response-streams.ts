import { setTimeout as sleep } from 'node:timers/promises'
import { RemoteFailure } from '../../../net/http-failure.ts'
import type { HttpResponse } from '../../../net/http-response.ts'
import type { JsonRpcPeer } from '../../client/json-rpc-peer.ts'
import { type SseEvent, SseReader } from '../../protocol/sse-reader.ts'
import { isEventStream, noResult, receiveEvents } from '../http/message-poster.ts'

interface ResponseStreamOptions {
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
export async function receiveResponseStream(
  first: HttpResponse,
  options: ResponseStreamOptions,
): Promise<void> {
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
  resume: ResponseStreamOptions['resume'],
  lastEventId: string | undefined,
): Promise<HttpResponse> {
  if (!resume || lastEventId === undefined) throw noResult(host)
  const response = await resume(lastEventId)
  if (response.status === 200 && isEventStream(response)) return response
  response.discard()
  throw noResult(host)
}

const isInterrupted = (error: unknown) => error instanceof RemoteFailure && error.code === 'connection_reset'

interface Options {
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<HttpResponse>
  readonly onEvent: (event: SseEvent) => void
  /** The stream was interrupted, and the server cannot replay what was missed. */
  readonly onGap: () => void
}

const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 60_000

/** The GET stream of a legacy server for notifications, which is optional. It is reopened whenever it ends. */
export class NotificationStream {
  readonly #end = new AbortController()
  /** Resolves when the first request has been answered, whatever the answer. */
  readonly answered: Promise<void>
  #onAnswer = () => {}

  constructor(options: Options) {
    this.answered = new Promise((resolve) => {
      this.#onAnswer = resolve
    })
    void this.#run(options, this.#end.signal).catch(() => {}) // closed while waiting
  }

  close(): void {
    this.#end.abort()
  }

  async #run({ open, onEvent, onGap }: Options, signal: AbortSignal): Promise<void> {
    let lastEventId: string | undefined
    let waitMs = FIRST_WAIT_MS
    for (;;) {
      const startedAt = performance.now()
      const reader = new SseReader(onEvent)
      const isSupported = await open(lastEventId, signal)
        .finally(this.#onAnswer)
        .then((response) => receive(response, reader))
        .catch(() => true) // interrupted or not reachable: other requests show whether the server is down
      if (!isSupported || signal.aborted) return
      lastEventId = reader.lastEventId ?? lastEventId
      const lastedMs = performance.now() - startedAt
      waitMs = lastedMs > LONGEST_WAIT_MS ? FIRST_WAIT_MS : Math.min(waitMs * 2, LONGEST_WAIT_MS)
      await sleep(Math.max(waitMs, Math.min(reader.retryMs ?? 0, LONGEST_WAIT_MS)), undefined, { signal })
      if (lastEventId === undefined) onGap()
    }
  }
}

/** False when the server has no such stream: it answers 405, or another client error. */
async function receive(response: HttpResponse, reader: SseReader): Promise<boolean> {
  const { status } = response
  if (status >= 200 && status < 300 && isEventStream(response)) {
    await receiveEvents(response, reader)
    return true
  }
  response.discard()
  return status >= 500 || status === 409 || status === 429
}
