import { AppError } from '../kernel/errors.ts'
import { within } from '../kernel/within.ts'
import type { CallOptions, CallResult } from '../protocol/call.ts'
import { type CallTimes, type RecordCall, refuseUnknownTool } from '../upstreams/calls.ts'
import type { Catalogue, Catalogues } from '../upstreams/catalogues.ts'
import type { RelayedRequest, ToolCall, Upstream } from '../upstreams/upstream.ts'
import type { Engine, ServerLife } from './engine.ts'
import type { Server } from './servers.schema.ts'
import { notRunning, startError } from './start-errors.ts'

interface Deps {
  readonly engine: Engine
  readonly catalogues: Catalogues
  readonly record: RecordCall
}

/** Statuses that lead to `running` without a person. A process that has just ended is `running` for a moment. */
const RECOVERING: readonly string[] = ['backoff', 'stopping', 'running']

/** A STDIO server. A call starts it when it sleeps. */
export class StdioUpstream implements Upstream {
  readonly kind = 'stdio'
  readonly #deps: Deps
  readonly id: string
  /** The record as it is stored now. */
  settings: Server

  constructor(server: Server, deps: Deps) {
    this.id = server.id
    this.settings = server
    this.#deps = deps
  }

  get status(): string {
    return this.#deps.engine.life(this.id).state.status
  }

  get isAwake(): boolean {
    return this.status === 'running'
  }

  get catalogue(): Catalogue | undefined {
    return this.#deps.catalogues.of(this.id)
  }

  wake(): Promise<unknown> | undefined {
    return this.catalogue || this.status !== 'idle' ? undefined : this.#deps.engine.wake(this.id)
  }

  /** Every call of an agent runs through here, so nothing is awaited while the server is running. */
  call(call: ToolCall): Promise<CallResult> {
    const server = this.settings
    const { engine, catalogues, record } = this.#deps
    const { tool, args, options } = call
    const timeoutMs = (call.timeout_s ?? server.timeouts.request_s) * 1000
    const deadline = performance.now() + timeoutMs
    refuseUnknownTool(server, 'servers', tool, catalogues.of(server.id))
    const life = this.#lifeFor(call)
    const send = (times: CallTimes) => {
      call.admit?.()
      times.sentAt = performance.now()
      const timed = { ...options, timeoutMs: Math.max(1, deadline - times.sentAt) }
      return engine.using(server.id, (client) => client.call(tool, args, timed))
    }
    if (life.conversation) return record(server, call, send)
    return record(server, call, async (times) => {
      const before = performance.now()
      await this.#started(timeoutMs, call)
      refuseUnknownTool(server, 'servers', tool, catalogues.of(server.id))
      times.start_ms = performance.now() - before
      return send(times)
    })
  }

  async relay({ method, params, options, waits }: RelayedRequest): Promise<CallResult> {
    const wholeMs = this.settings.timeouts.request_s * 1000
    const deadline = performance.now() + wholeMs
    await this.#started(wholeMs, { options, waits })
    const timed = { ...options, timeoutMs: Math.max(1, deadline - performance.now()) }
    return this.#deps.engine.using(this.id, (client) => client.relay(method, params, timed))
  }

  /** Throws when the server is not running and will not be without a person. */
  #lifeFor({ waits }: Pick<ToolCall, 'waits'>): ServerLife {
    const life = this.#deps.engine.life(this.id)
    const { status } = life.state
    const starts = status === 'idle' || status === 'starting' || (waits && RECOVERING.includes(status))
    if (!life.conversation && status !== 'running' && !starts) throw notRunning(this.settings, life)
    return life
  }

  /** Resolves when the server is running. */
  async #started(timeoutMs: number, call: { options: CallOptions; waits?: true | undefined }): Promise<void> {
    const { name } = this.settings
    const { engine } = this.#deps
    const life = this.#lifeFor(call)
    if (life.conversation || (life.state.status === 'running' && !call.waits)) return
    const outcome = await within(engine.wake(this.id), timeoutMs, call.options.signal)
    if (outcome === 'late') {
      throw new AppError('start_timeout', `'${name}' did not start within ${timeoutMs / 1000} s`)
    }
    if (!outcome.ok) throw startError(this.settings, outcome.error, engine.life(this.id))
  }
}
