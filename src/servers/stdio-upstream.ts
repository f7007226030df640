import { AppError } from '../kernel/errors.ts'
import { within } from '../kernel/within.ts'
import type { CallResult } from '../protocol/call.ts'
import { type CallTimes, refuseUnknownTool, requestMs, startWaitMs } from '../upstreams/calls.ts'
import { RegisteredUpstream, type UpstreamDeps } from '../upstreams/registered-upstream.ts'
import type { RelayedRequest, ToolCall, Upstream } from '../upstreams/upstream.ts'
import type { Engine, ServerLife } from './engine.ts'
import type { Server } from './servers.schema.ts'
import { notRunning, startError } from './start-errors.ts'

interface Deps extends UpstreamDeps {
  readonly engine: Engine
}

const LIST_MS = 30_000
/** Statuses that lead to `running` without user action. A process that has just ended is `running` for a moment. */
const RECOVERING: readonly string[] = ['backoff', 'stopping', 'running']

/** A request that may have to wait for the start of the server. */
type Waiting = Pick<ToolCall, 'options' | 'timeout_s' | 'waits'>

/** A STDIO server. A call starts it when it sleeps. */
export class StdioUpstream extends RegisteredUpstream<Server, Deps> implements Upstream {
  readonly kind = 'stdio'

  get status(): string {
    return this.deps.engine.life(this.id).state.status
  }

  get isAwake(): boolean {
    return this.status === 'running'
  }

  get isUnlisted(): boolean {
    return !this.catalogue && this.deps.engine.life(this.id).client?.listError !== undefined
  }

  wake(): Promise<unknown> | undefined {
    return this.catalogue || this.status !== 'idle' ? undefined : this.deps.engine.wake(this.id)
  }

  /** On the path of every call of an agent: nothing is awaited while the server is running. */
  call(call: ToolCall): Promise<CallResult> {
    const server = this.server
    const { engine, catalogues, record } = this.deps
    const { tool, args, options } = call
    const deadline = performance.now() + requestMs(call, server.timeouts)
    refuseUnknownTool(server, 'servers', tool, catalogues.of(server.id))
    const life = this.#lifeFor(call)
    const send = (times: CallTimes) => {
      call.admit?.()
      times.sentAt = performance.now()
      const timed = { timeoutMs: Math.max(1, deadline - times.sentAt), ...options }
      return engine.using(server.id, (client) => client.call(tool, args, timed))
    }
    if (life.client) return record(server, call, send)
    return record(server, call, async (times) => {
      const before = performance.now()
      await this.#started(call)
      refuseUnknownTool(server, 'servers', tool, catalogues.of(server.id))
      times.start_ms = performance.now() - before
      return send(times)
    })
  }

  async relay(request: RelayedRequest): Promise<CallResult> {
    const { method, params, options } = request
    const deadline = performance.now() + requestMs(request, this.server.timeouts)
    await this.#started(request)
    const timed = { timeoutMs: Math.max(1, deadline - performance.now()), ...options }
    return this.deps.engine.using(this.id, (client) => client.relay(method, params, timed))
  }

  async refresh(request: Waiting): Promise<void> {
    const { engine } = this.deps
    if (!engine.life(this.id).client) {
      if (!this.catalogue) await this.#started(request) // which lists the tools
      if (this.catalogue) return
    }
    await engine.using(this.id, (client) => client.refresh(LIST_MS))
  }

  /** Throws when the server is not running and is not started automatically. */
  #lifeFor({ waits }: Pick<ToolCall, 'waits'>): ServerLife {
    const life = this.deps.engine.life(this.id)
    const { status } = life.state
    const starts = status === 'idle' || status === 'starting' || (waits && RECOVERING.includes(status))
    if (!life.client && status !== 'running' && !starts) throw notRunning(this.server, life)
    return life
  }

  /** Resolves when the server is running. */
  async #started(call: Waiting): Promise<void> {
    const { server } = this
    const timeoutMs = startWaitMs(call, server.timeouts)
    const { engine } = this.deps
    const life = this.#lifeFor(call)
    if (life.client || (life.state.status === 'running' && !call.waits)) return
    const outcome = await within(engine.wake(this.id, timeoutMs), timeoutMs, call.options.signal)
    if (outcome === 'late') {
      throw new AppError('start_timeout', `'${server.name}' did not start within ${timeoutMs / 1000} s`)
    }
    if (!outcome.ok) throw startError(server, outcome.error, engine.life(this.id))
  }
}
