import { AppError } from '../../kernel/errors.ts'
import type { Plan } from '../../kernel/server-plan.ts'
import type { LastError, StartOutcome } from '../../kernel/server-state.ts'
import { within } from '../../kernel/time-limit.ts'
import type { CallingClient, CallResult, InstanceOwner } from '../../mcp/protocol/call-options.ts'
import type { Definition } from '../../mcp/protocol/listed-definitions.ts'
import { MODERN_VERSION } from '../../mcp/protocol/mcp-constants.ts'
import type { StdioClient } from '../../mcp/transports/stdio/stdio-client.ts'
import { type CallTimes, refuseUnknownTool, requestMs, startWaitMs } from '../shared/call-recorder.ts'
import type { DiscoveredServer } from '../shared/catalogues.ts'
import { held, isHeld, notAllowed } from '../shared/definition/outgoing.ts'
import { heldTrouble, type Judgement } from '../shared/judgement.ts'
import type { RelayedRequest, ToolCall, Trouble, Upstream } from '../shared/upstream.ts'
import { RegisteredUpstream, type UpstreamDeps } from '../shared/upstreams.ts'
import type { Engine, Instance, InstancePool, ServerLife } from './instance-pool.ts'
import type { Server } from './servers.schema.ts'
import { notRunning, startError, stopped } from './start-errors.ts'

export interface StdioUpstreamDeps extends UpstreamDeps {
  readonly engine: Engine
  readonly instances: InstancePool
  readonly planOf: (server: Server) => Plan
  /** Receives the notifications of an instance that all sessions of one agent share. */
  readonly onAgentNote: (agentType: string, ...note: Parameters<InstanceOwner['notify']>) => void
  readonly isStopped: (server: Server) => boolean
  readonly judge: (server: Server) => Judgement
}

const LIST_MS = 30_000
/** Statuses that lead to `running` without user action. A process that has just ended is `running` for a moment. */
const RECOVERING: readonly string[] = ['backoff', 'stopping', 'running']

/** A call does not start the server. */
const NOT_STARTED: readonly string[] = ['stopped', 'failed']

/** Enough for a request that needs nothing but a running process. */
const RUNNING = async () => {}

/** A request that may have to wait for the start of the server. */
type Waiting = Pick<ToolCall, 'options' | 'timeout_s' | 'waits'>

/** A STDIO server. A call starts it when it sleeps. */
export class StdioUpstream extends RegisteredUpstream<Server, StdioUpstreamDeps> implements Upstream {
  readonly kind = 'stdio'

  get status(): string {
    return this.deps.engine.statusOf(this.id)
  }

  get trouble(): Upstream['trouble'] {
    const { engine, judge } = this.deps
    if (isHeld(this.server)) return heldTrouble(judge(this.server))
    const { state, client, lastExit } = engine.life(this.id)
    switch (state.status) {
      case 'starting':
      case 'stopping':
        return 'unsettled'
      case 'running':
        return client && degraded(client)
      case 'stopped': // the end of a program that has done its work
        return lastExit?.code === 0 ? undefined : troubleOf(judge(this.server))
      default:
        return troubleOf(judge(this.server))
    }
  }

  get isAwake(): boolean {
    return this.status === 'running'
  }

  get isStopped(): boolean {
    return this.deps.isStopped(this.server)
  }

  get isUnlisted(): boolean {
    return !this.catalogue && this.deps.engine.life(this.id).client?.listError !== undefined
  }

  wake(): Promise<unknown> | undefined {
    return this.catalogue || this.status !== 'idle' ? undefined : this.deps.engine.wake(this.id)
  }

  /** On the path of every call of an agent: nothing is awaited while the shared process is running. */
  call(call: ToolCall): Promise<CallResult> {
    const server = this.server
    const { catalogues, calls } = this.deps
    const { tool, args, options } = call
    const send = (times: CallTimes, instance: Instance | undefined) => {
      call.admit?.()
      times.sentAt = performance.now()
      const deadline = times.startedAt + requestMs(call, server.timeouts)
      const timed = { timeoutMs: Math.max(1, deadline - times.sentAt), ...options }
      return this.#using(instance, (client) => client.call(tool, args, timed))
    }
    const start = (times: CallTimes) => {
      const before = performance.now()
      return this.#started(call, (instance) => {
        if (!instance) refuseUnknownTool(server, 'servers', tool, catalogues.of(server.id))
        times.start_ms = performance.now() - before
        return send(times, instance)
      })
    }
    return calls.record(server, call, (times) => {
      const isRunning = this.deps.engine.clientOf(this.id) !== undefined
      if (!isRunning) this.#lifeFor(call)
      const owner = this.#ownerFor(options.client)
      if (!owner) refuseUnknownTool(server, 'servers', tool, catalogues.of(server.id))
      return isRunning && !owner ? send(times, undefined) : start(times)
    })
  }

  async relay(request: RelayedRequest): Promise<CallResult> {
    const { method, params, options } = request
    const deadline = performance.now() + requestMs(request, this.server.timeouts)
    return this.#started(request, (instance) => {
      const timed = { timeoutMs: Math.max(1, deadline - performance.now()), ...options }
      return this.#using(instance, (client) => client.relay(method, params, timed))
    })
  }

  async refresh(request: Waiting): Promise<void> {
    const { engine } = this.deps
    if (!engine.life(this.id).client) {
      if (!this.catalogue)
        await this.#started({ ...request, options: { signal: request.options.signal } }, RUNNING) // which lists the tools
      if (this.catalogue) return
    }
    await engine.using(this.id, (client) => client.refresh(LIST_MS))
  }

  async modernCapabilities({ waits }: Pick<RelayedRequest, 'waits'>): Promise<Definition | undefined> {
    const { catalogue } = this
    if (catalogue?.protocol_version === MODERN_VERSION) return catalogue.capabilities
    if (catalogue?.modern_capabilities !== undefined) return catalogue.modern_capabilities ?? undefined
    const { engine, catalogues } = this.deps
    await this.#started({ options: {}, waits }, RUNNING)
    const found = await engine.using(this.id, (running) => running.modernCapabilities())
    if (found !== undefined) catalogues.learnModern(this.id, found)
    return found ?? undefined
  }

  openFor(client: CallingClient): Promise<DiscoveredServer | undefined> | undefined {
    if (this.server.sharing === 'per_agent' || !this.#ownerFor(client)) return undefined
    return this.#started({ options: { client }, waits: true }, async (own) => own?.catalogue)
  }

  ownCatalogue(client: CallingClient): DiscoveredServer | undefined {
    return this.#instanceOf(client)?.catalogue
  }

  notify(client: CallingClient, method: string, params: unknown): void {
    const instance = this.#instanceOf(client)
    if (instance) this.deps.engine.life(instance.id).client?.notify(method, params)
  }

  release(client: CallingClient): void {
    const instance = this.#instanceOf(client)
    if (instance) void this.deps.instances.end(instance)
  }

  /** The instance that a client has now. */
  #instanceOf(client: CallingClient): Instance | undefined {
    const all = this.deps.instances.of(this.id)
    return all.size === 0 ? undefined : all.get(client.owner.id)
  }

  #using<R>(instance: Instance | undefined, request: (client: StdioClient) => Promise<R>): Promise<R> {
    return this.deps.engine.using(instance?.id ?? this.id, request)
  }

  /** Who the client is to a process that runs for it alone. Undefined when it shares the server with others. */
  #ownerFor(client: CallingClient | undefined): InstanceOwner | undefined {
    const { sharing } = this.server
    if (!client || sharing === 'shared') return undefined
    if (sharing === 'auto' && this.#isShared(client)) return undefined
    if (NOT_STARTED.includes(this.status)) return undefined // the error of the shared process says why
    return sharing === 'per_agent' ? this.#agentOwner(client) : client.owner
  }

  /** A session that has used the shared process stays with it, because the process may keep its state. */
  #isShared({ shares }: CallingClient): boolean {
    if (shares?.has(this.id)) return true
    const { catalogues } = this.deps
    const isIndependent =
      catalogues.dependencyOf(this.id) === undefined || this.catalogue?.protocol_version === MODERN_VERSION
    if (isIndependent && this.isAwake) shares?.add(this.id)
    return isIndependent
  }

  /** All sessions of an agent together. None of them is the client alone, so the server gets Toolroom's capabilities. */
  #agentOwner({ agentType }: CallingClient): InstanceOwner {
    const notify: InstanceOwner['notify'] = (...note) => this.deps.onAgentNote(agentType, ...note)
    return { id: `agent ${agentType}`, agentType, sessionId: null, notify }
  }

  /** Throws when the server is not running and is not started automatically. */
  #lifeFor({ waits }: Pick<ToolCall, 'waits'>): ServerLife {
    const life = this.deps.engine.life(this.id)
    const { status } = life.state
    const starts = status === 'idle' || status === 'starting' || (waits && RECOVERING.includes(status))
    if (!life.client && status !== 'running' && (!starts || this.isStopped)) throw this.#refusal(life)
    return life
  }

  #refusal(life: ServerLife): AppError {
    const { error } = notAllowed(this.server)
    if (error) return held(this.server, error)
    return this.isStopped ? stopped(this.server) : notRunning(this.server, life)
  }

  /** Calls `use` when the process that serves the client is running, with its instance, which stays meanwhile. */
  async #started<R>(call: Waiting, use: (instance: Instance | undefined) => Promise<R>): Promise<R> {
    const timeoutMs = startWaitMs(call, this.server.timeouts)
    const life = this.#lifeFor(call)
    const { client, signal } = call.options
    const { engine, instances, planOf } = this.deps
    if (!this.#ownerFor(client)) {
      if (!life.client && (life.state.status !== 'running' || call.waits))
        await this.#settled(engine.wake(this.id, timeoutMs), timeoutMs, signal)
    }
    const owner = this.#ownerFor(client) // the start may have shown that the server depends on its client
    if (!owner) return use(undefined)
    const turn = {
      timeoutMs,
      signal,
      onWaiting: this.#waitingFor(call.options),
      admit: () => void this.#lifeFor(call),
    }
    return instances.holding(this.server, owner, { planOf, turn }, async (own) => {
      if (!engine.life(own.id).client) {
        await this.#settled(engine.start(own.id), timeoutMs, signal)
        await own.owner.onStarted?.(this.id)
      }
      return use(own)
    })
  }

  /** Tells the client that its call waits for its turn, in steps that stay below the progress of the server. */
  #waitingFor({ onProgress }: Waiting['options']): () => void {
    const message = `All instances of '${this.server.name}' are busy: the call waits for its turn`
    let step = 0
    return () => {
      onProgress?.({ progress: step / 1000, message })
      step += 1
    }
  }

  async #settled(
    start: Promise<StartOutcome>,
    timeoutMs: number,
    signal: Waiting['options']['signal'],
  ): Promise<void> {
    const { server } = this
    const outcome = await within(start, timeoutMs, signal)
    if (outcome === 'late')
      throw new AppError('start_timeout', `'${server.name}' did not start within ${timeoutMs / 1000} s`)
    if (!outcome.ok) throw startError(server, outcome.error, this.deps.engine.life(this.id))
  }
}

/** Only a server that should work and does not has one. */
function troubleOf({ health, error }: Judgement): Trouble | undefined {
  if (!error) return undefined
  if (health.state !== 'crashed') return { kind: 'failed', what: 'cannot start', ...causeOf(error) }
  const what = error.code === 'start_timeout' ? 'did not start in time' : 'crashed'
  return { kind: 'crashed', what, ...causeOf(error) }
}

const causeOf = ({ message, hint, action }: LastError) => ({ message, hint, action })

function degraded({ listError, strayLines }: NonNullable<ServerLife['client']>): Trouble | undefined {
  if (listError)
    return { kind: 'degraded', what: 'is running, but cannot list its tools', ...causeOf(listError) }
  if (strayLines === 0) return undefined
  return {
    kind: 'degraded',
    what: 'is running, but writes text to stdout that is not an MCP message',
    message: `${strayLines} ${strayLines === 1 ? 'line' : 'lines'} on stdout so far`,
    hint: 'Make it log to stderr. The lines are in its log',
    action: { kind: 'see_log' },
  }
}
