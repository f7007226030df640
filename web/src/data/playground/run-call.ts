import { ApiError, reach, Unreachable } from '../api.ts'
import { TOKEN_HEADER } from '../client.ts'
import { currentSession } from '../session.ts'

/** One call of a tool as a stream of events: progress, log messages and questions, then the result. */

export interface CallTarget {
  readonly route: 'servers' | 'http-servers'
  readonly server: string
  readonly tool: string
}

export interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}
export interface Question {
  readonly id: string
  readonly expires_at: string
  readonly params: {
    readonly mode?: string
    readonly message?: string
    readonly url?: string
    readonly requestedSchema?: unknown
  }
}
export interface LogMessage {
  readonly level?: string
  readonly data?: unknown
}

interface Listeners {
  readonly signal: AbortSignal
  /** As soon as the service has taken the call: the id under which it is found in the log and in Traffic. */
  readonly onRequest?: (request_id: string) => void
  readonly onProgress?: (progress: Progress) => void
  readonly onLog?: (message: LogMessage) => void
  readonly onQuestion?: (question: Question) => void
}

/** `args` is sent byte for byte. Resolves with the JSON of the result; rejects with an ApiError, or when aborted. */
export async function runCall(
  { route, server, tool }: CallTarget,
  args: string,
  on: Listeners,
): Promise<string> {
  const path = `/api/${route}/${encodeURIComponent(server)}/tools/${encodeURIComponent(tool)}/call`
  const { token } = currentSession()
  const reply = await reach(path, {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      ...(token !== undefined && { [TOKEN_HEADER]: token }),
    },
    body: `{"arguments":${args}}`,
    signal: on.signal,
  })
  if (!reply.ok || !reply.body) throw new ApiError(reply.status, await reply.text())
  on.onRequest?.(reply.headers.get('x-request-id') ?? '')
  for await (const { name, data } of eventsIn(reply.body)) {
    if (name === 'result') return data
    if (name === 'error') throw new ApiError(Number(JSON.parse(data).status), data)
    if (name === 'progress') on.onProgress?.(JSON.parse(data))
    if (name === 'log') on.onLog?.(JSON.parse(data))
    if (name === 'elicitation') on.onQuestion?.(JSON.parse(data))
  }
  throw new Unreachable('The connection ended before the result')
}

interface Event {
  readonly name: string
  readonly data: string
}

async function* eventsIn(body: ReadableStream<Uint8Array>): AsyncGenerator<Event> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader()
  let text = ''
  let searched = 0
  for (;;) {
    const end = text.indexOf('\n\n', searched)
    if (end >= 0) {
      const event = eventOf(text.slice(0, end))
      text = text.slice(end + 2)
      searched = 0
      if (event) yield event
      continue
    }
    searched = Math.max(0, text.length - 1)
    const { value, done } = await reader.read()
    if (done) return
    text += value
  }
}

function eventOf(text: string): Event | undefined {
  const lines = text.split('\n')
  const name = lines.find((line) => line.startsWith('event: '))?.slice(7)
  if (name === undefined) return undefined
  const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6))
  return { name, data: data.join('\n') }
}
