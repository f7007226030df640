import type { CancelSignal } from '../kernel/cancel.ts'
import { AppError } from '../kernel/errors.ts'
import type { Call, FactBus } from '../kernel/facts.ts'
import { memo } from '../kernel/memo.ts'
import type { Caller } from '../kernel/wire.ts'
import {
  CallFailure,
  type CallOptions,
  type CallResult,
  type FailureReason,
  type TimedCallOptions,
} from '../protocol/call.ts'
import type { Catalogue } from './catalogues.ts'

/** How one tool is called, whatever the way to it. Rejects with an error whose `failure` says why. */
export type CallTool = (tool: string, args: unknown, options: TimedCallOptions) => Promise<CallResult>

/** Any other request, handed on as it is. */
export type RelayRequest = (method: string, params: unknown, options: TimedCallOptions) => Promise<CallResult>

/** How patient whoever asks is. */
interface Patient {
  /** Agents wait for a server that has fallen until it is tried again; a person is told at once that it does not run. */
  readonly waits?: true | undefined
}

/** What is handed on to a server. */
export interface AskedRelay extends CallOptions, Patient {
  readonly method: string
  readonly params: unknown
  readonly signal: CancelSignal
}

/** What a caller asks for. */
export interface AskedCall extends CallOptions, Patient {
  readonly tool: string
  readonly args: unknown
  readonly timeoutMs: number
  readonly signal: CancelSignal
  readonly by: Caller
  /** Asked when the server is there and has said its tools; throws when the call must not be made after all. */
  readonly admit?: (() => void) | undefined
}

interface Called {
  readonly id: string
  readonly name: string
}

/** Where the time of one call goes, noted by who runs it. */
export interface CallTimes {
  /** What it took until the server was there. */
  start_ms: number
  /** When the server got it; undefined when it never did. */
  handedAt: number | undefined
}

/** Calls of tools of any server, each of which is two facts. */
export function createCaller(facts: FactBus) {
  let lastCall = 0
  return async (
    server: Called,
    { tool, by }: Pick<AskedCall, 'tool' | 'by'>,
    run: (times: CallTimes) => Promise<CallResult>,
  ): Promise<CallResult> => {
    lastCall += 1
    const { request_id, agent_type = null } = by
    const fact: Call = { call_id: lastCall, server_id: server.id, tool, agent_type, request_id }
    facts.publish('call_started', fact)
    const startedAt = performance.now()
    const times: CallTimes = { start_ms: 0, handedAt: undefined }
    const completed = (
      status: 'ok' | 'error' | 'timeout' | 'cancelled',
      error_code: string | null,
      response_bytes: number,
    ) => {
      const { start_ms, handedAt } = times
      const endedAt = performance.now()
      const duration_ms = endedAt - startedAt
      const server_ms = handedAt === undefined ? 0 : endedAt - handedAt
      const queue_ms = Math.max(0, duration_ms - start_ms - server_ms)
      facts.publish('call_completed', {
        call_id: fact.call_id,
        server_id: fact.server_id,
        tool,
        agent_type,
        request_id,
        status,
        error_code,
        duration_ms,
        queue_ms,
        start_ms,
        server_ms,
        response_bytes,
      })
    }
    try {
      const result = await run(times)
      const failed = saysError(result)
      completed(failed ? 'error' : 'ok', failed ? 'tool_error' : null, result.json.length)
      return result
    } catch (error) {
      const reason = error instanceof CallFailure ? error.reason : undefined
      completed(reason === 'timeout' || reason === 'cancelled' ? reason : 'error', reason ?? codeOf(error), 0)
      throw reason ? callError(server.name, tool, reason, error as Error) : error
    }
  }
}

/** A large result is not read for it, unless it may say so. */
function saysError(result: CallResult): boolean {
  if (result.json.length > LARGE_BYTES && !result.json.includes('"isError"')) return false
  return (result.value as { isError?: unknown } | null)?.isError === true
}
const LARGE_BYTES = 16 * 1024

/** Only of a server whose tools are known can it be said that it has no such tool. */
export function refuseUnknownTool(
  { id, name }: Called,
  path: string,
  tool: string,
  known: Catalogue | undefined,
): void {
  if (!known || known.truncated || namesIn(known).has(tool)) return
  const hint = `GET /api/${path}/${id}/tools lists its tools`
  throw new AppError('not_found', `'${name}' has no tool '${tool.slice(0, 100)}'`, { hint })
}

const namesIn = memo(({ tools }: Catalogue) => new Set(tools.map(({ name }) => name)))

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'internal_error'

function callError(name: string, tool: string, reason: FailureReason, cause: Error): AppError {
  const subject = `The call of '${tool}' on '${name}'`
  switch (reason) {
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
