import { AppError } from '../kernel/errors.ts'
import type { Call, FactBus } from '../kernel/facts.ts'
import { memo } from '../kernel/memo.ts'
import { CallFailure, type CallResult, type FailureReason } from '../protocol/call.ts'
import type { Catalogue } from './catalogues.ts'
import type { ToolCall } from './upstream.ts'

type Listed = Pick<Catalogue, 'tools' | 'truncated'>
/** Over REST, where the caller can send `timeout_s`. */
const REST_S = 60
/** Through the gateway: no MCP client can send a time limit, and every client has its own. */
const GATEWAY_S = 600

export const REQUEST_S_DESCRIPTION = `Seconds for one call. null: ${REST_S} over REST, ${GATEWAY_S} through the gateway`

interface Called {
  readonly id: string
  readonly name: string
}

/** The timing of one call, filled in by the function that runs it. */
export interface CallTimes {
  /** How long the start of the server, or the connection to it, took. */
  start_ms: number
  /** When the call was sent to the server. */
  sentAt: number | undefined
}

/** Runs calls of tools and publishes the facts `call_started` and `call_completed` for each. */
export function createCallRecorder(facts: FactBus) {
  let lastId = 0
  return async (
    server: Called,
    { tool, by }: ToolCall,
    run: (times: CallTimes) => Promise<CallResult>,
  ): Promise<CallResult> => {
    lastId += 1
    const { request_id, agent_type = null } = by
    const fact: Call = { call_id: lastId, server_id: server.id, tool, agent_type, request_id }
    facts.publish('call_started', fact)
    const startedAt = performance.now()
    const times: CallTimes = { start_ms: 0, sentAt: undefined }
    const completed = (
      status: 'ok' | 'error' | 'timeout' | 'cancelled',
      error_code: string | null,
      response_bytes: number,
    ) => {
      const { start_ms, sentAt } = times
      const endedAt = performance.now()
      const duration_ms = endedAt - startedAt
      const server_ms = sentAt === undefined ? 0 : endedAt - sentAt
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
      const failed = isToolError(result)
      completed(failed ? 'error' : 'ok', failed ? 'tool_error' : null, result.json.length)
      return result
    } catch (error) {
      const reason = error instanceof CallFailure ? error.reason : undefined
      const status = reason === 'timeout' || reason === 'cancelled' ? reason : 'error'
      completed(status, reason ?? codeOf(error), 0)
      throw reason ? callError(server.name, tool, reason, error as Error, agent_type !== null) : error
    }
  }
}

export type RecordCall = ReturnType<typeof createCallRecorder>

type Limited = Pick<ToolCall, 'timeout_s' | 'waits'>
interface Timeouts {
  readonly request_s: number | null
}

/** The time limit of a request. Progress restarts it. */
export const requestMs = ({ timeout_s, waits }: Limited, { request_s }: Timeouts): number =>
  (timeout_s ?? request_s ?? (waits ? GATEWAY_S : REST_S)) * 1000

/** How long a request waits for the start of its server: an agent is told sooner that a server does not start. */
export const startWaitMs = ({ timeout_s }: Limited, { request_s }: Timeouts): number =>
  (timeout_s ?? request_s ?? REST_S) * 1000

/** Searches the bytes of a large result before it parses them. */
function isToolError(result: CallResult): boolean {
  if (result.json.length > LARGE_BYTES && !result.json.includes('"isError"')) return false
  return (result.value as { isError?: unknown } | null)?.isError === true
}
const LARGE_BYTES = 16 * 1024

/** False when the tool list of the server is known, complete, and does not have the tool. */
export const mayHaveTool = (known: Listed | undefined, tool: string): boolean =>
  !known || known.truncated || namesIn(known).has(tool)

/** Throws when the server cannot have the tool. */
export function refuseUnknownTool(
  { id, name }: Called,
  path: string,
  tool: string,
  known: Listed | undefined,
): void {
  if (mayHaveTool(known, tool)) return
  const hint = `GET /api/${path}/${id}/tools lists its tools`
  throw new AppError('not_found', `'${name}' has no tool '${tool.slice(0, 100)}'`, { hint })
}

const namesIn = memo(({ tools }: Listed) => new Set(tools.map(({ name }) => name)))

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'internal_error'

function callError(
  name: string,
  tool: string,
  reason: FailureReason,
  cause: Error,
  byAgent: boolean,
): AppError {
  const subject = `The call to '${tool}' on '${name}'`
  switch (reason) {
    case 'timeout':
      return new AppError('call_timeout', `${subject} was not answered in time`, {
        hint: byAgent
          ? `Raise timeouts.request_s of '${name}' in Toolroom, or use a server that reports progress`
          : 'Send a larger timeout_s, or raise timeouts.request_s',
        cause,
      })
    case 'closed':
      return new AppError('call_failed', `${subject} failed: the server ended before it answered`, {
        hint: "Check the server's last_exit and log",
        cause,
      })
    case 'cancelled':
    case 'busy':
    case 'remote':
    case 'too_large':
      return new AppError('call_failed', `${subject} failed: ${cause.message.slice(0, 500)}`, { cause })
  }
}
