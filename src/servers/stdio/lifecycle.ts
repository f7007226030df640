import type { Turns } from '../../kernel/async/turns.ts'
import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus } from '../../kernel/facts.ts'
import type { StartOutcome } from '../../kernel/server-state.ts'
import type { ToolList } from '../../kernel/tool-fields.ts'
import type { Caller } from '../../kernel/wire.ts'
import { within } from '../../kernel/within.ts'
import type { Catalogues } from '../shared/catalogues.ts'
import { toolListOf } from '../shared/tool-view.ts'
import type { DesiredStates } from './desired-states.ts'
import type { Engine } from './engine.ts'
import { placeOf } from './isolation.ts'
import type { DesiredState } from './live.schema.ts'
import type { Server } from './servers.schema.ts'
import { notRunning, startError, unlisted } from './start-errors.ts'

interface Deps {
  readonly engine: Engine
  readonly desiredStates: DesiredStates
  readonly catalogues: Catalogues
  readonly turns: Turns
  readonly facts: FactBus
  readonly gatewayNames: (id: string) => ReadonlyMap<string, string>
  readonly list: () => Promise<Server[]>
  readonly get: (key: string) => Promise<Server>
  readonly desiredOf: (server: Server) => DesiredState
}

/** Start, stop and restart of servers, and which of them should run. */
export function createLifecycle(deps: Deps) {
  const { engine, desiredStates, catalogues, turns, facts, list, get, desiredOf } = deps

  /**
   * The desired state is stored first: otherwise the next start of Toolroom would undo this one. On a disk where not even
   * that fits, the server starts all the same, as it does for a call.
   */
  async function begin(key: string, how: 'start' | 'restart', by: Caller) {
    const { id } = await get(key)
    return turns.take(id, async () => {
      const server = await get(id)
      const wasStopped = desiredOf(server) === 'stopped'
      if (desiredStates.desired(id) !== 'running' || how === 'restart')
        await desiredStates
          .setDesired(id, 'running', audit(`server_${how}ed`, server, by))
          .catch(ignoreFullDisk)
      const outcome = engine[how](id)
      if (wasStopped) facts.publish('server_desired', { server_id: id })
      return { server, outcome } // in an object, or the turn would wait for the promise
    })
  }

  async function settled(server: Server, outcome: Promise<StartOutcome>, waitS: number) {
    const result = await within(outcome, waitS * 1000)
    if (result === 'late') return { server, running: engine.life(server.id).state.status === 'running' }
    if (!result.ok) throw startError(server, result.error, engine.life(server.id))
    return { server, running: true }
  }

  return {
    /** Waits at most `waitS` seconds until the server runs. */
    async start(key: string, waitS: number, by: Caller) {
      const { server, outcome } = await begin(key, 'start', by)
      return settled(server, outcome, waitS)
    },

    async restart(key: string, waitS: number, by: Caller) {
      const { server, outcome } = await begin(key, 'restart', by)
      return settled(server, outcome, waitS)
    },

    /** Resolves when no process of it is left. The process is stopped before the state is stored, which may fail. */
    async stop(key: string, by: Caller): Promise<Server> {
      const { id } = await get(key)
      const { server, stopped } = await turns.take(id, async () => {
        const server = await get(id)
        const stopped = engine.stop(id)
        const wasStopped = desiredOf(server) === 'stopped'
        if (!wasStopped || desiredStates.desired(id) === undefined)
          await desiredStates.setDesired(id, 'stopped', audit('server_stopped', server, by))
        if (!wasStopped) facts.publish('server_desired', { server_id: id })
        return { server, stopped }
      })
      await stopped
      return server
    },

    /** When Toolroom starts: starts eager servers that no person has stopped, and manual ones that a person had started. */
    async startWithToolroom(): Promise<void> {
      const starting = (await list()).filter(
        (each) => each.start_mode !== 'on_demand' && desiredOf(each) === 'running',
      )
      await Promise.all(starting.map(({ id }) => engine.start(id)))
    },

    async tools(key: string): Promise<ToolList> {
      const server = await get(key)
      const life = engine.life(server.id)
      const catalogue = catalogues.of(server.id)
      if (!catalogue)
        throw life.client?.listError ? unlisted(server, life.client.listError) : notRunning(server, life)
      const source = life.state.status === 'running' ? 'live' : 'cache'
      return toolListOf(catalogue, source, {
        settings: server,
        names: deps.gatewayNames(server.id),
        held: catalogues.held(server.id),
      })
    },
  }
}

function ignoreFullDisk(error: unknown): void {
  if (!(error instanceof AppError) || error.code !== 'disk_full') throw error
}

function audit(action: string, server: Server, by: Caller): AuditEntry {
  const { id, name } = server
  return { action, subject: id, ...by, detail: { name, place: placeOf(server) } }
}
