import { AppError } from '../../kernel/errors.ts'
import type { CancelSignal } from '../../kernel/light-abort-controller.ts'
import type { Plan } from '../../kernel/server-plan.ts'
import type { Life, Resources, ServerState, StartOutcome } from '../../kernel/server-state.ts'
import { within } from '../../kernel/time-limit.ts'
import type { InstanceOwner } from '../../mcp/protocol/call-options.ts'
import type { StdioClient } from '../../mcp/transports/stdio/stdio-client.ts'
import type { Supervisor } from '../../supervisor/supervisor.ts'
import type { DiscoveredServer } from '../shared/catalogues.ts'
import type { Server } from './servers.schema.ts'

/** Runs processes: the one that the clients of a server share has the id of the server. */
export type Engine = Supervisor<StdioClient>
export type ServerLife = Life<StdioClient>

/** A process of a server that runs for one client alone: a session, an agent, or a modern client. */
export interface Instance {
  /** Its id in the engine. */
  readonly id: string
  /** Its id in views and log lines. Unique until Toolroom ends. */
  readonly number: string
  readonly serverId: string
  readonly owner: InstanceOwner
  /** Its own description and tools, which may differ from those of the shared process. */
  catalogue: DiscoveredServer | undefined
  /** Requests that use it, or that wait for its start. Meanwhile it is not ended to make room, nor because it is idle. */
  calls: number
  usedAt: number
}

interface Deps {
  readonly engine: Engine
  readonly onChange: (serverId: string) => void
}

/** A request that waits until there is room for an instance. */
interface Turn {
  /** How long it waits at most. */
  readonly timeoutMs: number
  readonly signal: CancelSignal | undefined
  /** Called when it begins to wait, and every few seconds. */
  readonly onWaiting: () => void
  /** Throws when the server is not to be started any more. */
  readonly admit: () => void
}

/** Of one server. More requests are refused at once. */
const MAX_WAITING = 100
const SAY_EVERY_MS = 5000

const NONE: ReadonlyMap<string, Instance> = new Map()
/** The process of an instance has ended, or is not started again. */
const ENDED: readonly ServerState['status'][] = ['idle', 'stopped', 'failed', 'backoff']

/**
 * The instances of servers, beside the processes that clients share. An instance ends with the session of its client, when
 * it is idle, and when its server is stopped, restarted or deleted.
 */
export class InstancePool {
  readonly #engine: Engine
  readonly #onChange: (serverId: string) => void
  readonly #byId = new Map<string, Instance>()
  readonly #byServer = new Map<string, ReadonlyMap<string, Instance>>()
  /** By server: requests that wait for their turn, the one that waits longest first. */
  readonly #waiting = new Map<string, (() => void)[]>()
  #lastNumber = 0

  constructor({ engine, onChange }: Deps) {
    this.#engine = engine
    this.#onChange = onChange
  }

  /** The instance with this engine id. */
  get(id: string): Instance | undefined {
    return this.#byId.get(id)
  }

  of(serverId: string): ReadonlyMap<string, Instance> {
    return this.#byServer.get(serverId) ?? NONE
  }

  /**
   * Holds the instance of an owner while `use` runs. A new one has to be started. When the server has no room for another
   * one, waits until one of them is not used any more, and rejects when none is in time.
   */
  async holding<R>(
    server: Server,
    owner: InstanceOwner,
    { planOf, turn }: { readonly planOf: (server: Server) => Plan; readonly turn: Turn },
    use: (instance: Instance) => Promise<R>,
  ): Promise<R> {
    const instance = this.#open(server, owner, planOf) ?? (await this.#turnOf(server, owner, planOf, turn))
    const release = this.#engine.keepAwake(instance.id)
    try {
      return await use(instance)
    } finally {
      instance.calls -= 1
      instance.usedAt = performance.now()
      release()
      this.#endIfOver(instance)
      if (instance.calls === 0) this.#next(server.id)
    }
  }

  /** The instance of an owner, used from now on. Undefined when the server has no room for another one. */
  #open(
    server: Server,
    owner: InstanceOwner,
    planOf: (server: Server) => Plan,
    isNext = false,
  ): Instance | undefined {
    const known = this.of(server.id).get(owner.id)
    if (known) {
      known.calls += 1
      return known
    }
    if ((this.#waiting.has(server.id) && !isNext) || !this.#makeRoom(server)) return undefined
    this.#lastNumber += 1
    const number = String(this.#lastNumber)
    const instance: Instance = {
      id: `${server.id}~${number}`,
      number,
      serverId: server.id,
      owner,
      catalogue: undefined,
      calls: 1,
      usedAt: performance.now(),
    }
    const plan = planOf(server)
    this.#engine.register(instance.id, {
      ...plan,
      restart: { ...plan.restart, policy: 'never' },
      sleeps_after_s: server.idle_timeout_s,
    })
    this.#byId.set(instance.id, instance)
    this.#byServer.set(server.id, new Map(this.of(server.id)).set(owner.id, instance))
    this.#onChange(server.id)
    return instance
  }

  /** To be called when the state of an instance has changed. It runs once: the next request opens a new one. */
  onState(instance: Instance, status: ServerState['status']): void {
    if (ENDED.includes(status))
      setImmediate(() => this.#endIfOver(instance)) // the outcome of a start is answered first
    else this.#onChange(instance.serverId)
  }

  /** The sum of all processes of a server. */
  resourcesOf(serverId: string): Resources | null {
    const own = [...this.of(serverId).values()].map(({ id }) => this.#engine.life(id).resources)
    return sumOf([this.#engine.life(serverId).resources, ...own])
  }

  /** Restarts the process of a server that clients share. Instances are not started again before they are needed. */
  restart(serverId: string): Promise<StartOutcome> {
    void this.#endAll(serverId)
    return this.#engine.restart(serverId)
  }

  /** Stops all processes of a server. */
  async stop(serverId: string): Promise<void> {
    await Promise.all([this.#endAll(serverId), this.#engine.stop(serverId)])
  }

  async remove(serverId: string): Promise<void> {
    await Promise.all([this.#endAll(serverId), this.#engine.remove(serverId)])
  }

  /** At the limit, the instance that has been unused for the longest time ends. False when all of them are in use. */
  #makeRoom({ id, max_instances }: Server): boolean {
    const instances = [...this.of(id).values()]
    if (instances.length < max_instances) return true
    const [idlest] = instances
      .filter(({ calls }) => calls === 0)
      .toSorted((one, other) => one.usedAt - other.usedAt)
    if (idlest) void this.end(idlest)
    return idlest !== undefined
  }

  async #turnOf(
    server: Server,
    owner: InstanceOwner,
    planOf: (server: Server) => Plan,
    { timeoutMs, signal, onWaiting, admit }: Turn,
  ): Promise<Instance> {
    const queue = this.#waiting.get(server.id) ?? []
    if (queue.length >= MAX_WAITING) throw allBusy(server)
    this.#waiting.set(server.id, queue)
    const deadline = performance.now() + timeoutMs
    const saying = setInterval(onWaiting, SAY_EVERY_MS)
    let wake = () => {}
    const entry = () => wake()
    queue.push(entry)
    try {
      onWaiting()
      for (;;) {
        const isNext = queue[0] === entry
        const opened = this.#open(server, owner, planOf, isNext)
        if (opened) return opened
        const left = deadline - performance.now()
        const changed = new Promise<void>((resolve) => {
          wake = resolve
        })
        if (left <= 0 || (await within(changed, left, signal)) === 'late') throw allBusy(server)
        admit()
      }
    } finally {
      clearInterval(saying)
      queue.splice(queue.indexOf(entry), 1)
      if (queue.length === 0) this.#waiting.delete(server.id)
      else this.#next(server.id)
    }
  }

  /** Lets the waiting requests of a server look whether it is their turn. */
  #next(serverId: string): void {
    for (const look of [...(this.#waiting.get(serverId) ?? [])]) look()
  }

  /** An instance that has ended is not started again, unless a request already waits for that. */
  #endIfOver(instance: Instance): void {
    if (instance.calls === 0 && ENDED.includes(this.#engine.statusOf(instance.id))) void this.end(instance)
  }

  async #endAll(serverId: string): Promise<void> {
    this.#next(serverId)
    await Promise.all([...this.of(serverId).values()].map((instance) => this.end(instance)))
  }

  /** Resolves when its processes have ended. */
  async end(instance: Instance): Promise<void> {
    const { id, serverId, owner } = instance
    if (!this.#byId.delete(id)) return
    const owners = new Map(this.of(serverId))
    owners.delete(owner.id)
    if (owners.size > 0) this.#byServer.set(serverId, owners)
    else this.#byServer.delete(serverId)
    this.#onChange(serverId)
    this.#next(serverId)
    await this.#engine.remove(id)
  }
}

const allBusy = ({ name, max_instances }: Server): AppError =>
  new AppError('limit_reached', `All ${max_instances} instances of '${name}' are busy`, {
    hint: 'Raise max_instances of the server, or call it again later',
  })

export function sumOf(all: readonly (Resources | null)[]): Resources | null {
  let sum: Resources | null = null
  for (const each of all) sum = added(sum, each)
  return sum
}

function added(one: Resources | null, other: Resources | null): Resources | null {
  if (!one || !other) return one ?? other
  return {
    cpu_pct: Math.round((one.cpu_pct + other.cpu_pct) * 10) / 10,
    rss_bytes: one.rss_bytes + other.rss_bytes,
    processes: one.processes + other.processes,
  }
}
