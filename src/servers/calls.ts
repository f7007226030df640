import { AppError } from '../kernel/errors.ts'
import type { Call, FactBus } from '../kernel/facts.ts'
import type { Caller } from '../kernel/wire.ts'
import type { Catalogues } from './catalogue.ts'
import type { CallResult, Engine } from './engine.ts'
import type { Server } from './servers.schema.ts'
import { notRunning, startError } from './start-errors.ts'

interface Deps {
  readonly engine: Engine
  readonly catalogues: Catalogues
  readonly facts: FactBus
}

interface Asked {
  readonly tool: string
  readonly args: unknown
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly by: Caller
}

type Failure = 'remote' | 'timeout' | 'cancelled' | 'closed' | 'too_large' | 'busy'

/** Calls of tools, by whoever asks. Each is two facts. */
export function createCalls({ engine, catalogues, facts }: Deps) {
  let lastCall = 0

  async function call(server: Server, { tool, args, timeoutMs, signal, by }: Asked): Promise<CallResult> {
    const deadline = performance.now() + timeoutMs
    refuseUnknown(server, tool)
    await awake(server, timeoutMs, signal)
    refuseUnknown(server, tool)
    lastCall += 1
    const fact: Call = { call_id: lastCall, server_id: server.id, tool, agent_type: null, ...by }
    facts.publish('call_started', fact)
    const startedAt = performance.now()
    const completed = (
      status: 'ok' | 'error' | 'timeout' | 'cancelled',
      code: string | null,
      bytes: number,
    ) =>
      facts.publish('call_completed', {
        ...fact,
        status,
        error_code: code,
        duration_ms: performance.now() - startedAt,
        response_bytes: bytes,
      })
    const left = Math.max(1, deadline - performance.now())
    try {
      const result = await engine.using(server.id, (it) => it.call(tool, args, { timeoutMs: left, signal }))
      const failed = (result.value as { isError?: unknown } | null)?.isError === true
      completed(failed ? 'error' : 'ok', failed ? 'tool_error' : null, result.json.length)
      return result
    } catch (error) {
      const failure = failureOf(error)
      const status = failure === 'timeout' || failure === 'cancelled' ? failure : 'error'
      completed(status, failure ?? 'internal_error', 0)
      throw failure ? callError(server.name, tool, failure, error as Error) : error
    }
  }

  /** Only of a server whose tools are known can it be said that it has no such tool. */
  function refuseUnknown({ id, name }: Server, tool: string): void {
    const catalogue = catalogues.of(id)
    if (!catalogue || catalogue.truncated || catalogue.tools.some((each) => each.name === tool)) return
    const hint = `GET /api/servers/${id}/tools lists its tools`
    throw new AppError('not_found', `'${name}' has no tool '${tool.slice(0, 100)}'`, { hint })
  }

  async function awake(server: Server, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { id, name } = server
    const { status } = engine.life(id).state
    if (status === 'running') return
    if (status !== 'idle' && status !== 'starting') throw notRunning(name, engine.life(id))
    const outcome = await within(engine.wake(id), timeoutMs, signal)
    if (outcome === 'late') {
      throw new AppError('start_timeout', `'${name}' did not start within ${timeoutMs / 1000} s`)
    }
    if (!outcome.ok) throw startError(name, outcome.error, engine.life(id))
  }

  return call
}

export async function within<T>(work: Promise<T>, ms: number, signal?: AbortSignal): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined
  let leave = () => {}
  const late = new Promise<'late'>((resolve) => {
    leave = () => resolve('late')
    timer = setTimeout(leave, ms)
    signal?.addEventListener('abort', leave, { once: true })
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', leave)
  }
}

function failureOf(error: unknown): Failure | undefined {
  return error instanceof Error && 'failure' in error ? (error.failure as Failure) : undefined
}

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
