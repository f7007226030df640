import { KeyedQueue } from '../../kernel/async/keyed-queue.ts'
import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import type { ServerState, StartOutcome } from '../../kernel/server-state.ts'
import { within } from '../../kernel/time-limit.ts'
import type { ToolList } from '../../kernel/tool-fields.ts'
import { held, isHeld, notAllowed } from '../shared/definition/outgoing.ts'
import { type RegistryDeps, ServerRegistry } from '../shared/server-registry.ts'
import { toolListOf } from '../shared/tool-view.ts'
import type { Engine, InstancePool } from './instance-pool.ts'
import { placeOf } from './isolation-settings.ts'
import type { DesiredState, Server } from './servers.schema.ts'
import { notRunning, startError, unlisted } from './start-errors.ts'

export interface LifecycleDeps extends RegistryDeps<Server> {
  readonly engine: Engine
  readonly instances: InstancePool
  readonly desiredStates: DesiredStates
  /** The gateway's names of a server's tools, by their own names. */
  readonly gatewayNames: (id: string) => ReadonlyMap<string, string>
}

/** The states that users last requested. They survive a restart of Toolroom. */
export interface DesiredStates {
  /** Undefined until a user has requested one. */
  desired(id: string): DesiredState | undefined
  /** Undefined resets the state. The request to stop is saved even when the disk is full. */
  setDesired(id: string, state: DesiredState | undefined, audit: AuditEntry | null): Promise<void>
  /** Called after the server and its row have been deleted. */
  forget(id: string): void
}

const NOT_STARTING: readonly ServerState['status'][] = ['stopped', 'stopping']

/** Start, stop and restart of STDIO servers, and which of them should run. */
export abstract class ServerLifecycle<D extends LifecycleDeps> extends ServerRegistry<Server, D> {
  /** Serializes the changes of each server. The restarts that follow from them are not awaited. */
  protected readonly turns = new KeyedQueue()

  /** Waits at most `waitS` seconds until the server runs. */
  start(key: string, waitS: number, by: Caller) {
    return this.#begin(key, 'start', waitS, by)
  }

  restart(key: string, waitS: number, by: Caller) {
    return this.#begin(key, 'restart', waitS, by)
  }

  /** Resolves when no process of it is left. The process is stopped before the state is stored, which may fail. */
  async stop(key: string, by: Caller): Promise<Server> {
    const { instances, desiredStates, facts } = this.deps
    const { id } = await this.get(key)
    const { server, stopped } = await this.turns.take(id, async () => {
      const server = await this.get(id)
      const stopped = instances.stop(id)
      const wasStopped = this.desiredOf(server) === 'stopped'
      if (!wasStopped || desiredStates.desired(id) === undefined)
        await desiredStates.setDesired(id, 'stopped', audit('server_stopped', server, by))
      if (!wasStopped) facts.publish('server_desired', { server_id: id })
      return { server, stopped }
    })
    await stopped
    return server
  }

  /** Starts it to see whether it works. One that a person has stopped is not started, and one that was asleep sleeps again. */
  async tryOnce(key: string): Promise<void> {
    const server = await this.get(key)
    if (this.desiredOf(server) === 'running') await this.deps.engine.tryOnce(server.id)
  }

  /** When Toolroom starts: starts eager servers that no person has stopped, and manual ones that a person had started. */
  async startWithToolroom(): Promise<void> {
    const starting = (await this.list()).filter(
      (each) => each.start_mode !== 'on_demand' && this.desiredOf(each) === 'running',
    )
    await Promise.all(starting.map(({ id }) => this.deps.engine.start(id)))
  }

  async tools(key: string): Promise<ToolList> {
    const { engine, catalogues, gatewayNames } = this.deps
    const server = await this.get(key)
    const life = engine.life(server.id)
    const catalogue = catalogues.of(server.id)
    if (!catalogue)
      throw life.client?.listError ? unlisted(server, life.client.listError) : notRunning(server, life)
    const source = life.state.status === 'running' ? 'live' : 'cache'
    const [names, held] = [gatewayNames(server.id), catalogues.held(server.id)]
    return toolListOf(catalogue, source, { settings: server, names, held })
  }

  /** One that may not get what it refers to is off, whatever a user has requested. */
  protected desiredOf(server: Server): DesiredState {
    const { id, start_mode } = server
    if (isHeld(server)) return 'stopped'
    return this.deps.desiredStates.desired(id) ?? (start_mode === 'manual' ? 'stopped' : 'running')
  }

  /** Only a person starts it again. The desired state is not stored when the disk is full, hence the status. */
  protected isStopped(server: Server): boolean {
    return this.desiredOf(server) === 'stopped' && NOT_STARTING.includes(this.deps.engine.statusOf(server.id))
  }

  /**
   * The desired state is stored first: otherwise the next start of Toolroom would undo this one. On a disk where not even
   * that fits, the server starts all the same, as it does for a call.
   */
  async #begin(key: string, how: 'start' | 'restart', waitS: number, by: Caller) {
    const { engine, instances, desiredStates, facts } = this.deps
    const { id } = await this.get(key)
    const { server, outcome } = await this.turns.take(id, async () => {
      const server = await this.get(id)
      const { error } = notAllowed(server)
      if (error) throw held(server, error)
      const wasStopped = this.desiredOf(server) === 'stopped'
      if (desiredStates.desired(id) !== 'running' || how === 'restart')
        await desiredStates
          .setDesired(id, 'running', audit(`server_${how}ed`, server, by))
          .catch(ignoreFullDisk)
      const outcome: Promise<StartOutcome> = how === 'start' ? engine.start(id) : instances.restart(id)
      if (wasStopped) facts.publish('server_desired', { server_id: id })
      return { server, outcome } // in an object, or the turn would wait for the promise
    })
    const result = await within(outcome, waitS * 1000)
    if (result === 'late') return { server, running: engine.statusOf(id) === 'running' }
    if (!result.ok) throw startError(server, result.error, engine.life(id))
    return { server, running: true }
  }
}

function ignoreFullDisk(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== 'disk_full') throw error
}

function audit(action: string, server: Server, by: Caller): AuditEntry {
  const { id, name } = server
  return { action, subject: id, ...by, detail: { name, place: placeOf(server) } }
}
