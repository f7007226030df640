import type { KnownSecrets } from '../../../kernel/secrets/known-secrets.ts'
import { maskText } from '../../../kernel/secrets/secrets.ts'
import { MEBIBYTE, RemoteFailure, tooLarge } from '../../../net/http-failure.ts'
import type { HttpResponse } from '../../../net/http-response.ts'
import { CallFailure } from '../../../protocol/call.ts'
import { MESSAGE_MAX_BYTES } from '../../../protocol/frames.ts'
import { type RemoteError, readMessage, remoteErrorOf } from '../../../protocol/json-rpc-message.ts'
import { EventTooLargeError, type SseReader } from '../../../protocol/sse-reader.ts'
import type { Dialogue } from '../../client/json-rpc-peer.ts'
import { quotable } from '../stdio/stray-output.ts'
import { statusFailure } from './status-failure.ts'

const EVENT_STREAM = 'text/event-stream'
const REFUSAL_MAX_BYTES = 64 * 1024
const WORDS_MAX_CHARS = 200
const GREETING_MAX_BYTES = MEBIBYTE

/** Before a server has said who it is, it gets less credit. */
export function answerLimit(method: string): number {
  return method === 'initialize' || method === 'server/discover' ? GREETING_MAX_BYTES : MESSAGE_MAX_BYTES
}

export const isEventStream = ({ contentType }: HttpResponse): boolean => contentType === EVENT_STREAM

/** The one message of a JSON body, which must be about this request. */
export async function hearBody(
  answer: HttpResponse,
  dialogue: Dialogue,
  id: number,
  maxBytes: number,
): Promise<void> {
  if (!isJson(answer)) {
    answer.discard()
    throw notMcp(answer)
  }
  const bytes = await answer.read(maxBytes)
  if (!dialogue.hear({ bytes, cut: 0, borrowed: false })) throw notMcp(answer)
  if (!dialogue.awaits(id)) return
  const remote = remoteErrorOfBody(bytes) // it could not tell whose it is
  if (remote) throw new CallFailure('remote', remote.message, remote)
  throw otherAnswer(answer.url.host)
}

/** Every event of a stream, until it ends. */
export async function hearEvents(
  answer: HttpResponse,
  reader: SseReader,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<void> {
  const { host } = answer.url
  let bytes = 0
  for await (const chunk of answer.chunks()) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge(host, 'The stream', maxBytes)
    try {
      reader.push(chunk)
    } catch (error) {
      throw error instanceof EventTooLargeError ? tooLarge(host, 'An event', reader.maxBytes) : error
    }
  }
}

/** An answer with a status that says no: a JSON-RPC error where it holds one, unless the status says more. */
export async function refusalIn(answer: HttpResponse, secrets: KnownSecrets): Promise<Error> {
  const { status, headers, url } = answer
  const remote = await remoteErrorIn(answer)
  if (remote && ![401, 403, 429, 503].includes(status)) {
    return new CallFailure('remote', remote.message, remote)
  }
  const words = remote && quotable(maskText(secrets.redact(remote.message)), WORDS_MAX_CHARS)
  return statusFailure({ host: url.host, status, headers, words })
}

async function remoteErrorIn(answer: HttpResponse) {
  if (!isJson(answer)) {
    answer.discard()
    return undefined
  }
  const bytes = await answer.read(REFUSAL_MAX_BYTES).catch(() => undefined) // the status is enough
  return bytes && remoteErrorOfBody(bytes)
}

function remoteErrorOfBody(bytes: Buffer): RemoteError | undefined {
  const message = readMessage(bytes)
  return message?.error === undefined ? undefined : remoteErrorOf(message)
}

/** What has no type is read as if it were JSON. */
function isJson({ contentType }: HttpResponse): boolean {
  return contentType === '' || contentType === 'application/json' || contentType.endsWith('+json')
}

export function notMcp({ contentType, status, url }: HttpResponse): RemoteFailure {
  const kind =
    contentType === 'text/html'
      ? 'a web page'
      : contentType === '' || isBare(status)
        ? 'nothing that is MCP'
        : `${/^[\w.+-]{1,40}\/[\w.+-]{1,40}$/.test(contentType) ? contentType : 'something'} that is no MCP`
  const hint = 'Check the URL: it must be the MCP endpoint itself, often /mcp, and not a page about it'
  return new RemoteFailure('not_mcp', `${url.host} answered with ${kind}`, hint, { status })
}

export function otherAnswer(host: string): RemoteFailure {
  const hint = 'Look into the log of the server; if there is a proxy in front of it, let it stream'
  return new RemoteFailure('protocol_error', `${host} ended its answer without the result`, hint)
}

const isBare = (status: number) => status === 202 || status === 204
