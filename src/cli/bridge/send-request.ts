import { isObject } from '../../kernel/json/json-checks.ts'
import { RemoteFailure } from '../../net/http-failure.ts'
import type { HttpResponse } from '../../net/http-response.ts'
import { CODES, errorLine, headersOf, oneLine, parsed, type Request, type Session } from './bridge-message.ts'
import { type Link, Unavailable } from './gateway-link.ts'
import { isEventStream, MAX_BYTES, type OnMessage, readStream, streamReader } from './session-stream.ts'

/** `broken`: the connection ended without a response. */
export type Outcome = 'answered' | 'broken' | Refusal

interface Refusal {
  readonly status: number
  /** A JSON-RPC error, a problem document, or anything else. */
  readonly body: unknown
}

interface Attempt {
  readonly session: Session | undefined
  readonly signal: AbortSignal
  readonly until: number
  readonly isStart: boolean
  readonly onSent: () => void
  readonly write: (line: Buffer | string) => void
  /** Called before the response is written. */
  readonly onAnswer: (message: Readonly<Record<string, unknown>>, response: HttpResponse) => void
  /** True for a message that the agent must not receive. A response that is dropped does not count as one. */
  readonly isDropped: (message: Readonly<Record<string, unknown>>) => boolean
}

/** Sends a request once and writes its response, and every message before it, to the agent. */
export async function sendRequest(link: Link, request: Request, attempt: Attempt): Promise<Outcome> {
  const { session, signal, until, isStart, onSent, write, onAnswer, isDropped } = attempt
  const headers = headersOf(request, session)
  let status = 0
  let isAnswered = false
  let isStream = false
  let body: unknown
  try {
    const sending = { method: 'POST', headers, body: request.bytes, signal, until, isStart, onSent } as const
    const response = await link.send(sending)
    status = response.status
    isStream = status < 300 && isEventStream(response)
    const isExpired = status === 404 && 'mcp-session-id' in headers
    const other = await readResponse(response, (message, bytes) => {
      const isAnswer = message.method === undefined && message.id === request.id
      if (isExpired || status === 401 || (status >= 400 && !isAnswer)) {
        body = message.error
        return
      }
      if (isDropped(message)) return
      if (isAnswer) {
        isAnswered = true
        onAnswer(message, response)
      }
      write(oneLine(bytes))
    })
    body ??= other
  } catch (error) {
    if (signal.aborted || error instanceof Unavailable) throw error
    if (isAnswered) return 'answered'
    if (error instanceof RemoteFailure && error.status !== undefined)
      return { status: error.status, body: { detail: `${error.message}. ${error.hint}` } }
    return 'broken'
  }
  if (isAnswered) return 'answered'
  return isStream ? 'broken' : { status, body }
}

/** The gateway's own error if it sent one. */
export function refusalLine({ id }: Request, { status, body }: Refusal): string {
  if (isObject(body) && typeof body.code === 'number')
    return JSON.stringify({ jsonrpc: '2.0', id, error: body })
  const detail = isObject(body) && typeof body.detail === 'string' ? `: ${body.detail.slice(0, 500)}` : ''
  const sentence = `The address is not a Toolroom gateway, or it refused the request: HTTP ${status}${detail}`
  return errorLine(id, CODES.answer, sentence)
}

/** Calls back for each JSON-RPC message in a response, single or streamed. Returns any other body. */
export async function readResponse(response: HttpResponse, onMessage: OnMessage): Promise<unknown> {
  if (isEventStream(response)) return void (await readStream(response, streamReader(onMessage)))
  const bytes = await response.read(MAX_BYTES)
  const value = parsed(bytes)
  if (!isObject(value) || value.jsonrpc !== '2.0') return value
  onMessage(value, bytes)
  return undefined
}
