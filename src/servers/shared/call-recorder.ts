import { didYouMean } from '../../kernel/did-you-mean.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Call, FactBus } from '../../kernel/fact-bus.ts'
import { memo } from '../../kernel/memo.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { CallFailure, type FailureReason } from '../../mcp/protocol/call-failure.ts'
import type { CallResult } from '../../mcp/protocol/call-options.ts'
import { bytesIn, itemsIn, LARGE_BYTES, memberOf, plainOf } from '../../mcp/protocol/raw-json.ts'
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
  /** When the call began, by `performance.now()`. */
  readonly startedAt: number
  /** How long the start of the server, or the connection to it, took. */
  start_ms: number
  /** When the call was sent to the server. */
  sentAt: number | undefined
}

/** A call that reaches no server. */
interface RefusedCall {
  /** The server that was meant; null when that is not known. */
  readonly server_id: string | null
  readonly tool: string
  readonly by: Caller
  readonly args?: unknown
}

interface RecorderDeps {
  readonly facts: FactBus
  readonly now: () => number
  /** Masks the secrets in names and sentences that a client or a server wrote. */
  readonly redact: (text: string) => string
  /** Keeps the arguments and the result of a call. Undefined when they are not kept. */
  readonly keep?: ((call_id: number, args: unknown, result: Buffer | string | undefined) => void) | undefined
}

const MAX_NAME = 256
const MAX_SENTENCE = 1000

/** Publishes the facts `call_started` and `call_completed` of every call, whether it reaches a server or not. */
export function createCallRecorder({ facts, now, redact, keep }: RecorderDeps) {
  const afterResponses = new AfterTurn()
  let lastId = now() // so that ids are higher than those of an earlier run

  function start(server_id: string | null, tool: string, by: Caller, args: unknown): Call {
    lastId += 1
    const { request_id, agent_type = null, session_id = null } = by
    const request_bytes = args === undefined ? 0 : bytesIn(args)
    const call = { call_id: lastId, server_id, tool, agent_type, session_id, request_id, request_bytes }
    facts.publish('call_started', call)
    return call
  }

  return {
    /** Runs a call of a tool. */
    async record(
      server: Called,
      { tool, by, args, waits, options }: ToolCall,
      run: (times: CallTimes) => Promise<CallResult>,
    ): Promise<CallResult> {
      const started_at = now()
      const startedAt = performance.now()
      const times: CallTimes = { startedAt, start_ms: 0, sentAt: undefined }
      const running = begin(run, times)
      const call = start(server.id, tool, by, args) // while the server is at work
      const completed = (
        status: 'ok' | 'error' | 'timeout' | 'cancelled',
        error_code: string | null,
        error_message: string | null,
        response_bytes: number,
        /** Null: it was refused, so how long it took says nothing about the server. */
        endedAt: number | null,
      ) => {
        const { start_ms, sentAt } = times
        const duration_ms = endedAt === null ? null : endedAt - startedAt
        const server_ms = sentAt === undefined || endedAt === null ? 0 : endedAt - sentAt
        const queue_ms = Math.max(0, (duration_ms ?? 0) - start_ms - server_ms)
        facts.publish('call_completed', {
          call_id: call.call_id,
          server_id: call.server_id,
          tool,
          agent_type: call.agent_type,
          session_id: call.session_id,
          request_id: call.request_id,
          request_bytes: call.request_bytes,
          started_at,
          status,
          error_code,
          error_message,
          duration_ms,
          queue_ms,
          start_ms,
          server_ms,
          response_bytes,
        })
      }
      try {
        const result = await running
        const endedAt = performance.now()
        const bytes = result.length
        const record = () => {
          if (isToolError(result))
            completed('error', 'tool_error', sentence(toolErrorText(result)), bytes, endedAt)
          else completed('ok', null, null, bytes, endedAt)
          keep?.(call.call_id, args, result.written)
        }
        if (waits) afterResponses.run(record)
        else record()
        return result
      } catch (caught) {
        const isCancelled = options.signal?.aborted && !(caught instanceof CallFailure) // before it was sent
        const error = isCancelled ? new CallFailure('cancelled', 'It was cancelled') : caught
        const reason = error instanceof CallFailure ? error.reason : undefined
        const status = reason === 'timeout' || reason === 'cancelled' ? reason : 'error'
        const byAgent = call.agent_type !== null
        const failure = reason ? callError(server.name, tool, reason, error as Error, byAgent) : error
        const isRefused = times.sentAt === undefined && error instanceof AppError && error.status < 500
        const endedAt = isRefused ? null : performance.now()
        completed(status, reason ?? codeOf(error), sentence(messageOf(failure)), 0, endedAt)
        keep?.(call.call_id, args, undefined)
        throw failure
      }
    },

    /** Records a call that reaches no server, so that it is not invisible. */
    refuse({ server_id, tool, by, args }: RefusedCall, error_code: string, message: string): void {
      const call = start(
        server_id,
        redact(tool.length > MAX_NAME ? `${tool.slice(0, MAX_NAME)}…` : tool),
        by,
        args,
      )
      const times = { duration_ms: null, queue_ms: 0, start_ms: 0, server_ms: 0 }
      facts.publish('call_completed', {
        ...call,
        ...times,
        started_at: now(),
        status: error_code === 'cancelled' ? 'cancelled' : 'error',
        error_code,
        error_message: sentence(message),
        response_bytes: 0,
      })
      keep?.(call.call_id, args, undefined)
    },

    /** Ids of stored calls are not used again, even if the clock was set back. */
    startAfter(id: number): void {
      lastId = Math.max(lastId, id)
    },
  }

  function sentence(text: string): string {
    return redact(text.length > MAX_SENTENCE ? `${text.slice(0, MAX_SENTENCE)}…` : text)
  }
}

/** Without a turn in between, so that the call is sent at once. */
function begin(run: (times: CallTimes) => Promise<CallResult>, times: CallTimes): Promise<CallResult> {
  try {
    return run(times)
  } catch (error) {
    return Promise.reject(error)
  }
}

export type CallRecorder = ReturnType<typeof createCallRecorder>

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

/** Searches the bytes before it parses them. A name that is written with an escape is found in small results. */
function isToolError(result: CallResult): boolean {
  if (!result.includes('"isError"') && (result.length > LARGE_BYTES || !result.includes('\\'))) return false
  if (result.length > LARGE_BYTES) return plainOf(memberOf(result.raw, 'isError')) === true
  return (result.value as { isError?: unknown } | null)?.isError === true
}

/** What the tool says about its error: the first text of its result. */
function toolErrorText(result: CallResult): string {
  for (const item of itemsIn(memberOf(result.raw, 'content'), MAX_ERROR_ITEMS)) {
    const text = plainOf(memberOf(item, 'text'))
    if (typeof text === 'string') return text
  }
  return 'The tool reported an error without a text'
}
const MAX_ERROR_ITEMS = 20

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
  const meant = known && didYouMean(tool, [...namesIn(known)].map(String))
  const hint = meant ?? `GET /api/${path}/${id}/tools lists its tools`
  throw new UnknownTool('not_found', `'${name}' has no tool '${tool.slice(0, 100)}'`, { hint })
}
class UnknownTool extends AppError {}

const namesIn = memo(({ tools }: Listed) => new Set(tools.map(({ name }) => name)))

/** The most specific code: that a server requires a login says more than that the call failed. */
export function codeOf(error: unknown): string {
  if (error instanceof UnknownTool) return 'unknown_tool'
  if (!(error instanceof Error)) return 'internal_error'
  const { code, cause } = error as Error & { readonly code?: unknown }
  if (code === 'call_failed' && cause instanceof Error && 'code' in cause) return codeOf(cause)
  return typeof code === 'string' ? code : 'internal_error'
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

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

/**
 * Runs work at the end of this turn of the event loop: after the responses that are sent in it, and before any request that
 * a client sends because of them is read.
 */
class AfterTurn {
  #work: (() => void)[] = []
  #isScheduled = false

  run(work: () => void): void {
    this.#work.push(work)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#runAll)
  }

  #runAll = (): void => {
    const all = this.#work
    this.#work = []
    this.#isScheduled = false
    for (const work of all) work()
  }
}
