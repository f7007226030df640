import { setTimeout as sleep } from 'node:timers/promises'
import { RemoteFailure } from '../../../net/http-failure.ts'
import type { HttpResponse } from '../../../net/http-response.ts'
import { SseReader } from '../../../protocol/sse-reader.ts'
import type { Dialogue } from '../../client/json-rpc-peer.ts'
import { hearEvents, isEventStream, otherAnswer } from '../http/response-messages.ts'

interface Options {
  readonly dialogue: Dialogue
  readonly id: number
  /** For one event. */
  readonly maxBytes: number
  /** For all of it. An answer, and as much again beside it, when nothing else is said. */
  readonly streamMaxBytes?: number
  readonly signal: AbortSignal
  /** Undefined where a stream that ends early is the end. */
  readonly resume: ((lastEventId: string) => Promise<HttpResponse>) | undefined
}

const RETRY_MS = 1000
const LONGEST_RETRY_MS = 30_000
const MAX_EMPTY_STREAMS = 5

/**
 * The stream in which one request is answered, with whatever the server says before. A legacy server that numbers its
 * events may close the stream and be asked again for the rest, so that it need not hold a connection for a slow tool.
 */
export async function hearAnswerStream(first: HttpResponse, options: Options): Promise<void> {
  const { dialogue, id, maxBytes, streamMaxBytes = 2 * maxBytes, signal, resume } = options
  let lastEventId: string | undefined
  let empty = 0
  for (let answer = first; ; answer = await resumed(answer, resume, lastEventId)) {
    const reader = new SseReader(({ event, data }) => {
      if (event === 'message') dialogue.hear({ bytes: data, cut: 0, borrowed: false }, id)
      if (!dialogue.awaits(id)) answer.expire()
    }, maxBytes)
    const broken = await hearEvents(answer, reader, streamMaxBytes).catch((error: unknown) => error)
    if (!dialogue.awaits(id)) return
    if (broken !== undefined && !isBrokenOff(broken)) throw broken
    const heard = reader.lastEventId !== undefined && reader.lastEventId !== lastEventId
    empty = heard ? 0 : empty + 1
    lastEventId = reader.lastEventId ?? lastEventId
    if (!resume || lastEventId === undefined || empty > MAX_EMPTY_STREAMS) {
      throw broken ?? otherAnswer(answer.url.host)
    }
    await sleep(Math.min(reader.retryMs ?? RETRY_MS, LONGEST_RETRY_MS), undefined, { signal })
  }
}

async function resumed(
  before: HttpResponse,
  resume: Options['resume'],
  lastEventId: string | undefined,
): Promise<HttpResponse> {
  if (!resume || lastEventId === undefined) throw otherAnswer(before.url.host)
  const answer = await resume(lastEventId)
  if (answer.status === 200 && isEventStream(answer)) return answer
  answer.discard()
  throw otherAnswer(before.url.host)
}

const isBrokenOff = (error: unknown) => error instanceof RemoteFailure && error.code === 'connection_reset'
