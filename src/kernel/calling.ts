import type { Catalogue } from './catalogue.ts'
import { AppError } from './errors.ts'
import type { Call, FactBus } from './facts.ts'
import type { Caller } from './wire.ts'

/** `json` is the result as the server sent it, to the last byte. */
export interface CallResult {
  readonly value: unknown
  readonly json: Buffer
}

export interface CallOptions extends Accompanied {
  readonly timeoutMs: number
  readonly signal?: AbortSignal
}

/** What goes along with a call, there and back. */
interface Accompanied {
  /** The caller's `_meta`, passed on. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined
  /** How far it is, as the server says it; asked for only when somebody wants to hear it. */
  readonly onProgress?: ((params: Readonly<Record<string, unknown>>) => void) | undefined
  /** What an agent of the modern era sent, whole: for a server that speaks it, too. */
  readonly modern?: Readonly<Record<string, unknown>> | undefined
  /** Answers what the server asks of whoever calls, such as a person's consent. Rejects with what it is told instead. */
  readonly onAsked?: ((method: string, params: unknown) => Promise<unknown>) | undefined
}

/** How one tool is called, whatever the way to it. Rejects with an error whose `failure` says why. */
export type CallTool = (tool: string, args: unknown, options: CallOptions) => Promise<CallResult>

/** Any other request, handed on as it is. */
export type RelayRequest = (method: string, params: unknown, options: CallOptions) => Promise<CallResult>

/** What is handed on to a server. */
export interface AskedRelay extends Accompanied {
  readonly method: string
  readonly params: unknown
  readonly signal: AbortSignal
}

/** What a caller asks for. */
export interface AskedCall extends Accompanied {
  readonly tool: string
  readonly args: unknown
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly by: Caller
}

interface Called {
  readonly id: string
  readonly name: string
}

/** Calls of tools of any server, each of which is two facts. */
export function createCaller(facts: FactBus) {
  let lastCall = 0
  return async (
    server: Called,
    { tool, by }: AskedCall,
    run: () => Promise<CallResult>,
  ): Promise<CallResult> => {
    lastCall += 1
    const fact: Call = { call_id: lastCall, server_id: server.id, tool, agent_type: null, ...by }
    facts.publish('call_started', fact)
    const startedAt = performance.now()
    const completed = (
      status: 'ok' | 'error' | 'timeout' | 'cancelled',
      code: string | null,
      bytes: number,
    ) => {
      const duration_ms = performance.now() - startedAt
      facts.publish('call_completed', {
        ...fact,
        status,
        error_code: code,
        duration_ms,
        response_bytes: bytes,
      })
    }
    try {
      const result = await run()
      const failed = (result.value as { isError?: unknown } | null)?.isError === true
      completed(failed ? 'error' : 'ok', failed ? 'tool_error' : null, result.json.length)
      return result
    } catch (error) {
      const failure = failureOf(error)
      completed(
        failure === 'timeout' || failure === 'cancelled' ? failure : 'error',
        failure ?? codeOf(error),
        0,
      )
      throw failure ? callError(server.name, tool, failure, error as Error) : error
    }
  }
}

/** Only of a server whose tools are known can it be said that it has no such tool. */
export function refuseUnknownTool(
  { id, name }: Called,
  path: string,
  tool: string,
  known: Catalogue | undefined,
): void {
  if (!known || known.truncated || known.tools.some((each) => each.name === tool)) return
  const hint = `GET /api/${path}/${id}/tools lists its tools`
  throw new AppError('not_found', `'${name}' has no tool '${tool.slice(0, 100)}'`, { hint })
}

type Failure = 'remote' | 'timeout' | 'cancelled' | 'closed' | 'too_large' | 'busy'

function failureOf(error: unknown): Failure | undefined {
  return error instanceof Error && 'failure' in error ? (error.failure as Failure) : undefined
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'internal_error'

function callError(name: string, tool: string, failure: Failure, cause: Error): AppError {
  const subject = `The call of '${tool}' on '${name}'`
  switch (failure) {
    case 'timeout':
      return new AppError('call_timeout', `${subject} was not answered in time`, {
        hint: 'Send a larger timeout_s, or raise timeouts.request_s',
        cause,
      })
    case 'closed':
      return new AppError('call_failed', `${subject} was lost: the server ended`, {
        hint: 'last_exit of the server and its log say why',
        cause,
      })
    case 'cancelled':
    case 'busy':
    case 'remote':
    case 'too_large':
      return new AppError('call_failed', `${subject} failed: ${cause.message.slice(0, 500)}`, { cause })
  }
}
