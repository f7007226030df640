import { AppError } from '../kernel/errors.ts'
import type { FactBus } from '../kernel/facts.ts'
import { within } from '../kernel/within.ts'
import type { CallResult } from '../protocol/call.ts'
import {
  type AskedCall,
  type AskedRelay,
  type CallTimes,
  createCaller,
  refuseUnknownTool,
} from '../upstreams/calls.ts'
import type { Catalogues } from '../upstreams/catalogues.ts'
import type { Engine, ServerLife } from './engine.ts'
import type { Server } from './servers.schema.ts'
import { notRunning, startError } from './start-errors.ts'

interface Deps {
  readonly engine: Engine
  readonly catalogues: Catalogues
  readonly facts: FactBus
}

/** Also one that still says `running`, but has fallen a moment ago. */
const COMES_BACK: readonly string[] = ['backoff', 'stopping', 'running']

/** Calls of tools of STDIO servers. One that sleeps is woken first. */
export function createCalls({ engine, catalogues, facts }: Deps) {
  const called = createCaller(facts)

  /** Throws when it does not run and waiting for it would be in vain. */
  function mayCome(server: Server, { waits }: Pick<AskedCall, 'waits'>): ServerLife {
    const life = engine.life(server.id)
    const { status } = life.state
    const comes = status === 'idle' || status === 'starting' || (waits && COMES_BACK.includes(status))
    if (!life.conversation && status !== 'running' && !comes) throw notRunning(server, life)
    return life
  }

  async function awake(
    server: Server,
    timeoutMs: number,
    { signal, waits }: Pick<AskedCall, 'signal' | 'waits'>,
  ): Promise<void> {
    const { id, name } = server
    const life = mayCome(server, { waits })
    if (life.conversation || (life.state.status === 'running' && !waits)) return
    const outcome = await within(engine.wake(id), timeoutMs, signal)
    if (outcome === 'late') {
      throw new AppError('start_timeout', `'${name}' did not start within ${timeoutMs / 1000} s`)
    }
    if (!outcome.ok) throw startError(server, outcome.error, engine.life(id))
  }

  /** Walked for every call, so whatever need not wait does not: each `async` in between costs. */
  function call(server: Server, asked: Omit<AskedCall, 'timeoutMs'>, timeoutMs: number): Promise<CallResult> {
    const {
      tool,
      args,
      rawArguments,
      signal,
      meta,
      modernParams,
      onProgress,
      onServerRequest,
      capabilities,
    } = asked
    const deadline = performance.now() + timeoutMs
    refuseUnknownTool(server, 'servers', tool, catalogues.of(server.id))
    const life = mayCome(server, asked)
    const hand = (times: CallTimes) => {
      asked.admit?.()
      times.handedAt = performance.now()
      const left = Math.max(1, deadline - times.handedAt)
      const along = {
        timeoutMs: left,
        rawArguments,
        signal,
        meta,
        modernParams,
        onProgress,
        onServerRequest,
        capabilities,
      }
      return engine.using(server.id, (it) => it.call(tool, args, along))
    }
    if (life.conversation) return called(server, asked, hand)
    return called(server, asked, async (times) => {
      const before = performance.now()
      await awake(server, timeoutMs, asked)
      refuseUnknownTool(server, 'servers', tool, catalogues.of(server.id))
      times.start_ms = performance.now() - before
      return hand(times)
    })
  }

  /** Whatever else a server can be asked. No call of a tool, so nothing is counted. */
  async function relay(server: Server, { method, params, waits, ...asked }: AskedRelay): Promise<CallResult> {
    const wholeMs = server.timeouts.request_s * 1000
    const deadline = performance.now() + wholeMs
    await awake(server, wholeMs, { signal: asked.signal, waits })
    const timeoutMs = Math.max(1, deadline - performance.now())
    return engine.using(server.id, (it) => it.relay(method, params, { timeoutMs, ...asked }))
  }

  return { call, relay }
}
