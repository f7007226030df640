import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, problemOf, unexpected } from '../../kernel/errors.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { isoTime } from '../../kernel/time.ts'
import type { CallOptions, CallResult } from '../../mcp/protocol/call-options.ts'
import { CODES, META } from '../../mcp/protocol/mcp-constants.ts'
import type { Elicitations } from './elicitations.ts'

export const EVENT_STREAM = 'text/event-stream'
const CAPABILITIES = { elicitation: { form: {}, url: {} } }
/** An error that comes sooner is a normal response. */
const BEGINS_AFTER_MS = 100
const HEARTBEAT_MS = 15_000
/** With more unsent bytes than this, the client is slow: progress and log messages are left out. */
const SLOW_BYTES = 1024 * 1024

interface Deps {
  readonly elicitations: Elicitations
  readonly signal: AbortSignal
  readonly request_id: string
  readonly onUnexpected: (error: unknown) => void
}

/** True when the client accepts a stream of events. */
export const acceptsEvents = (accept: string | undefined): boolean =>
  accept?.toLowerCase().includes(EVENT_STREAM) ?? false

/**
 * The events of one call: `progress`, `log` and `elicitation`, then `result` or `error`. Rejects instead when the call fails
 * before the first event.
 */
export async function streamedCall(
  call: (options: CallOptions) => Promise<CallResult>,
  { elicitations, signal, request_id, onUnexpected }: Deps,
): Promise<Readable> {
  const events = new Readable({ read() {} })
  const send = (name: string, data: Buffer | string) => {
    if (!events.destroyed && !events.readableEnded) events.push(eventOf(name, data))
  }
  const sendIfRead = (name: string, params: unknown) => {
    if (events.readableLength < SLOW_BYTES) send(name, JSON.stringify(params))
  }
  let begin: () => void = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const finished = call({
    signal,
    capabilities: CAPABILITIES,
    meta: { [META.logLevel]: 'info' },
    onProgress: ({ progressToken: _, ...progress }) => {
      begin()
      sendIfRead('progress', progress)
    },
    onLog: (params) => {
      begin()
      sendIfRead('log', isObject(params) ? params : { data: params })
    },
    onServerRequest: async (method, params) => {
      if (method !== 'elicitation/create') throw unsupported(method)
      begin()
      return elicit(elicitations, signal, send, params)
    },
  })
  await Promise.race([begun, finished, sleep(BEGINS_AFTER_MS)])
  const heartbeat = setInterval(() => send('', ''), HEARTBEAT_MS)
  void finished
    .then(
      ({ bytes }) => send('result', bytes),
      (error: unknown) => {
        if (!(error instanceof AppError)) onUnexpected(error)
        const known = error instanceof AppError ? error : unexpected(error)
        send('error', JSON.stringify(problemOf(known, request_id)))
      },
    )
    .finally(() => {
      clearInterval(heartbeat)
      events.push(null)
    })
  return events
}

/** Asks the client, and declines when it does not answer in time. */
async function elicit(
  elicitations: Elicitations,
  signal: AbortSignal,
  send: (name: string, data: string) => void,
  params: unknown,
): Promise<unknown> {
  const { id, expires_at, answer, end } = elicitations.ask()
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  send('elicitation', JSON.stringify({ id, expires_at: isoTime(expires_at), params }))
  const given = await answer
  signal.removeEventListener('abort', end)
  if (given) return given
  if (!signal.aborted) {
    const data = `The question ${id} was declined, because it was not answered in time`
    send('log', JSON.stringify({ level: 'notice', logger: 'toolroom', data }))
  }
  return { action: 'decline' }
}

const unsupported = (method: string) => ({
  code: CODES.method,
  message: `${method.slice(0, 100)} is not supported by calls over REST`,
})

/** An event, or without a name a comment, which keeps the connection open. Each line of the data needs its own `data:`. */
function eventOf(name: string, data: Buffer | string): string {
  if (name === '') return ': ping\n\n'
  return `event: ${name}\ndata: ${data.toString('utf8').replace(/\r\n?|\n/g, '\ndata: ')}\n\n`
}
