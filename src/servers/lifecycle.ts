import { AppError } from '../kernel/errors.ts'
import type { AuditEntry } from '../kernel/facts.ts'
import type { StartOutcome } from '../kernel/server-state.ts'
import type { ToolList } from '../kernel/tool-fields.ts'
import type { Turns } from '../kernel/turns.ts'
import type { Caller } from '../kernel/wire.ts'
import { within } from '../kernel/within.ts'
import type { Catalogues } from '../upstreams/catalogues.ts'
import { toolListOf } from '../upstreams/tool-view.ts'
import type { Engine } from './engine.ts'
import type { DesiredState } from './live.schema.ts'
import type { Server } from './servers.schema.ts'
import { notRunning, startError } from './start-errors.ts'
import type { WishStore } from './wishes.ts'

interface Deps {
  readonly engine: Engine
  readonly wishes: WishStore
  readonly catalogues: Catalogues
  readonly turns: Turns
  readonly packages: { readonly isInstalled: (name: string) => boolean }
  readonly gatewayNames: (id: string) => ReadonlyMap<string, string>
  readonly list: () => Promise<Server[]>
  readonly get: (key: string) => Promise<Server>
  readonly desiredOf: (server: Server) => DesiredState
}

/** Who runs, by the wish of persons. */
export function createLifecycle(deps: Deps) {
  const { engine, wishes, catalogues, turns, packages, list, get, desiredOf } = deps

  /** The wish is kept first: a start that is not remembered would be undone by the next one of Toolroom. */
  async function begin(key: string, how: 'start' | 'restart', by: Caller) {
    const { id } = await get(key)
    return turns.take(id, async () => {
      const server = await get(id)
      if (server.package !== null && !packages.isInstalled(server.package)) throw notInstalled(server)
      const asked = wishes.desired(id)
      if (asked !== 'running' || how === 'restart')
        await wishes.setDesired(id, 'running', audit(`server_${how}ed`, server, by))
      return { server, outcome: engine[how](id) } // in a box, or the turn would last as long as the start
    })
  }

  async function settled(server: Server, outcome: Promise<StartOutcome>, waitS: number) {
    const result = await within(outcome, waitS * 1000)
    if (result === 'late') return { server, running: engine.life(server.id).state.status === 'running' }
    if (!result.ok) throw startError(server.name, result.error, engine.life(server.id))
    return { server, running: true }
  }

  return {
    /** Waits so many seconds until it runs. */
    async start(key: string, waitS: number, by: Caller) {
      const { server, outcome } = await begin(key, 'start', by)
      return settled(server, outcome, waitS)
    },

    async restart(key: string, waitS: number, by: Caller) {
      const { server, outcome } = await begin(key, 'restart', by)
      return settled(server, outcome, waitS)
    },

    /** Settles when nothing of it is left. The process goes first: a full disk must not keep it running. */
    async stop(key: string, by: Caller): Promise<Server> {
      const { id } = await get(key)
      const { server, stopped } = await turns.take(id, async () => {
        const server = await get(id)
        const stopped = engine.stop(id)
        if (desiredOf(server) !== 'stopped' || wishes.desired(id) === undefined)
          await wishes.setDesired(id, 'stopped', audit('server_stopped', server, by))
        return { server, stopped }
      })
      await stopped
      return server
    },

    /** At the start of Toolroom: everybody who starts with it, unless a person has stopped it. */
    async startEager(): Promise<void> {
      const eager = (await list()).filter(
        (each) => each.start_mode === 'eager' && desiredOf(each) === 'running',
      )
      await Promise.all(eager.map(({ id }) => engine.start(id)))
    },

    async tools(key: string): Promise<ToolList> {
      const server = await get(key)
      const life = engine.life(server.id)
      const catalogue = catalogues.of(server.id)
      if (!catalogue) throw notRunning(server.name, life)
      const source = life.state.status === 'running' ? 'live' : 'cache'
      return toolListOf(catalogue, source, {
        settings: server,
        names: deps.gatewayNames(server.id),
        held: catalogues.held(server.id),
      })
    },
  }
}

const notInstalled = (server: Server): AppError =>
  new AppError(
    'package_not_found',
    `'${server.name}' runs from the package '${server.package}', which is not installed`,
    {
      hint: 'Install the package again, or delete the server',
    },
  )

function audit(action: string, { id, name }: Server, by: Caller): AuditEntry {
  return { action, subject: id, ...by, detail: { name } }
}
