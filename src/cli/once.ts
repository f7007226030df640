import type { IncomingMessage } from 'node:http'
import { isObject } from '../kernel/is-object.ts'
import { headersOf, type Session } from './headers.ts'
import { hearAnswer, isEventStream } from './hear.ts'
import { Away, type Link } from './link.ts'
import { CODES, errorLine, oneLine, type Request } from './message.ts'

/** What became of a request: answered, or broken off without an answer, or refused by who stands at the door. */
export type Outcome = 'answered' | 'broken' | Refusal

export interface Refusal {
  readonly status: number
  /** Its body: an error of JSON-RPC, or whatever it was. */
  readonly said: unknown
}

interface Attempt {
  readonly session: Session | undefined
  readonly signal: AbortSignal
  readonly until: number
  readonly onSent: () => void
  readonly write: (line: Buffer | string) => void
  /** Before the answer is written. */
  readonly onAnswer: (message: Readonly<Record<string, unknown>>, answer: IncomingMessage) => void
  /** True for what the agent need not see; an answer then is none. */
  readonly isUnwanted: (message: Readonly<Record<string, unknown>>) => boolean
}

/** Sends a request once, and writes what comes back: the answer, and what is said before it. */
export async function askOnce(link: Link, request: Request, attempt: Attempt): Promise<Outcome> {
  const { session, signal, until, onSent, write, onAnswer, isUnwanted } = attempt
  const headers = headersOf(request, session)
  let status = 0
  let isAnswered = false
  let isStream = false
  let said: unknown
  try {
    const sending = { method: 'POST', headers, body: request.bytes, signal, until, onSent } as const
    const answer = await link.reach(sending)
    status = answer.statusCode ?? 0
    isStream = status < 300 && isEventStream(answer)
    const isOver = status === 404 && 'mcp-session-id' in headers
    const other = await hearAnswer(answer, (message, bytes) => {
      const isAnswer = message.method === undefined && message.id === request.id
      if (isOver || status === 401 || (status >= 400 && !isAnswer)) {
        said = message.error
        return
      }
      if (isUnwanted(message)) return
      if (isAnswer) {
        isAnswered = true
        onAnswer(message, answer)
      }
      write(oneLine(bytes, message))
    })
    said ??= other
  } catch (error) {
    if (signal.aborted || error instanceof Away) throw error
    return isAnswered ? 'answered' : 'broken'
  }
  if (isAnswered) return 'answered'
  return isStream ? 'broken' : { status, said }
}

/** In the words of who refused it, where there are any. */
export function refusalLine({ id }: Request, { status, said }: Refusal): string {
  if (isObject(said) && typeof said.code === 'number')
    return JSON.stringify({ jsonrpc: '2.0', id, error: said })
  const detail = isObject(said) && typeof said.detail === 'string' ? `: ${said.detail.slice(0, 500)}` : ''
  const sentence = `What answers there is no gateway, or did not take the request: HTTP ${status}${detail}`
  return errorLine(id, CODES.answer, sentence)
}
