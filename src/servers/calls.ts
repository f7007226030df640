import {
  type AskedCall,
  type AskedRelay,
  type CallResult,
  createCaller,
  refuseUnknownTool,
} from '../kernel/calling.ts'
import type { Catalogues } from '../kernel/catalogue.ts'
import { AppError } from '../kernel/errors.ts'
import type { FactBus } from '../kernel/facts.ts'
import { within } from '../kernel/within.ts'
import type { Engine } from './engine.ts'
import type { Server } from './servers.schema.ts'
import { notRunning, startError } from './start-errors.ts'

interface Deps {
  readonly engine: Engine
  readonly catalogues: Catalogues
  readonly facts: FactBus
}

/** Calls of tools of STDIO servers. One that sleeps is woken first. */
export function createCalls({ engine, catalogues, facts }: Deps) {
  const called = createCaller(facts)

  async function awake({ id, name }: Server, timeoutMs: number, signal: AbortSignal): Promise<void> {
    const { status } = engine.life(id).state
    if (status === 'running') return
    if (status !== 'idle' && status !== 'starting') throw notRunning(name, engine.life(id))
    const outcome = await within(engine.wake(id), timeoutMs, signal)
    if (outcome === 'late') {
      throw new AppError('start_timeout', `'${name}' did not start within ${timeoutMs / 1000} s`)
    }
    if (!outcome.ok) throw startError(name, outcome.error, engine.life(id))
  }

  async function call(server: Server, asked: AskedCall): Promise<CallResult> {
    const { tool, args, timeoutMs, signal, meta, modern, onProgress, onAsked } = asked
    const deadline = performance.now() + timeoutMs
    refuseUnknownTool(server, 'servers', tool, catalogues.of(server.id))
    await awake(server, timeoutMs, signal)
    refuseUnknownTool(server, 'servers', tool, catalogues.of(server.id))
    return called(server, asked, () => {
      const left = Math.max(1, deadline - performance.now())
      return engine.using(server.id, (it) =>
        it.call(tool, args, { timeoutMs: left, signal, meta, modern, onProgress, onAsked }),
      )
    })
  }

  /** Whatever else a server can be asked. No call of a tool, so nothing is counted. */
  async function relay(server: Server, { method, params, ...asked }: AskedRelay): Promise<CallResult> {
    const timeoutMs = server.timeouts.request_s * 1000
    await awake(server, timeoutMs, asked.signal)
    return engine.using(server.id, (it) => it.relay(method, params, { timeoutMs, ...asked }))
  }

  return { call, relay }
}
