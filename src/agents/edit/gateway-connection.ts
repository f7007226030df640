import { invalidField } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/wire.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import { agentOf, whereOf } from '../files/config-target.ts'
import { readPlace } from '../read/read-entries.ts'
import type { Now } from './change-plan.ts'
import type { Wanted } from './desired-entry.ts'
import type { ChangeReport, How, PutServers } from './edit.schema.ts'
import type { createEditing, EditingDeps } from './edit.service.ts'
import { gatewayEntry, readGatewayEntry, type Ways } from './gateway-entry.ts'
import { recordOf } from './ownership.ts'

/** What connecting needs of the gateway. */
export interface GatewayKeys extends Ways {
  readonly make: (
    agentType: string,
    name: string,
    by: Caller,
  ) => Promise<{ readonly id: string; readonly key: string }>
  readonly remove: (id: string, by: Caller) => Promise<void>
  /** Of those that were made for this agent under this name. */
  readonly idsOf: (agentType: string, name: string) => readonly string[]
}

/** The one entry through which an agent sees every server. */
const ENTRY = 'toolroom'
/** Of a key: what it was made for. All entries of one kind in one file share one. */
type Kind = 'connect' | 'gateway'
const nameOf = (kind: Kind, { scope = 'user', project_path }: How): string =>
  project_path === undefined ? `${kind}: ${scope}` : `${kind}: ${scope} of ${project_path}`.slice(0, 100)

/** Entries that lead to the gateway, with a key of the agent's own, instead of to each server. */
export function createConnecting(
  editing: ReturnType<typeof createEditing>,
  { platform, ownership }: Pick<EditingDeps, 'platform' | 'ownership'>,
  gateway: GatewayKeys,
) {
  /** Tried first with a key that opens nothing: whatever can be refused is refused before there is a real one. */
  async function write(
    kind: Kind,
    agent: string,
    { how, replace, by }: { how: How; replace: boolean; by: Caller },
    wanted: (key: string) => (now: Now) => readonly Wanted[],
  ): Promise<ChangeReport> {
    const { type } = agentOf(agent)
    const put = (key: string, dry_run: boolean) =>
      editing.put(agent, { ...how, dry_run }, by, wanted(key), replace)
    const dry = await put('tk_shown-when-it-is-made', true)
    if (how.dry_run) return dry
    const name = nameOf(kind, how)
    const before = gateway.idsOf(type, name)
    const made = await gateway.make(type, name, by)
    try {
      const report = await put(made.key, false)
      for (const id of before) await gateway.remove(id, by)
      return report
    } catch (error) {
      await gateway.remove(made.id, by)
      throw error
    }
  }

  /** A key whose last entry is gone opens nothing any more. */
  async function tidy(agent: string, how: How, by: Caller): Promise<void> {
    const { type } = agentOf(agent)
    const where = whereOf(agentOf(agent), platform, how)
    const { entries, parseError, problem } = readPlace(where)
    if (how.dry_run || parseError || problem) return
    const owned = recordOf(ownership, where.place.path, where.place.keyPath)?.entries ?? {}
    const parked = Object.entries(owned).flatMap(([name, each]) =>
      each.parked === null ? [] : readEntry(where.agent, name, each.parked).definition,
    )
    const kinds = [...entries.map(({ definition }) => definition), ...parked].map((definition) => {
      const found = readGatewayEntry(definition)
      return found && (found.serverId === null ? 'connect' : 'gateway')
    })
    for (const kind of ['connect', 'gateway'] as const)
      if (!kinds.includes(kind))
        for (const id of gateway.idsOf(type, nameOf(kind, how))) await gateway.remove(id, by)
  }

  async function connect(
    agent: string,
    { bridge = false, replace = false, ...how }: How & { bridge?: boolean; replace?: boolean },
    by: Caller,
  ): Promise<ChangeReport> {
    const isBridge = bridge || agentOf(agent).http === null
    return write('connect', agent, { how, replace, by }, (key) => () => [
      {
        name: ENTRY,
        server_id: null,
        definition: () => gatewayEntry(gateway, { key, serverId: null, bridge: isBridge }),
        enabled: undefined,
      },
    ])
  }

  /** One entry for each server. Those that are there already get the new key too: the old one cannot be read again. */
  async function setServers(agent: string, ids: readonly string[], how: How, replace: boolean, by: Caller) {
    const bridge = agentOf(agent).http === null
    const found = await Promise.all(ids.map(editing.find))
    const named = new Set(found.map(({ id }) => id))
    return write('gateway', agent, { how, replace, by }, (key) => (now) => {
      const entry = (name: string, serverId: string, isBridge: boolean): Wanted => ({
        name,
        server_id: serverId,
        definition: () => gatewayEntry(gateway, { key, serverId, bridge: isBridge }),
        enabled: undefined,
      })
      const others = now.entries.flatMap(({ name, definition }) => {
        const there = Object.hasOwn(now.owned, name) ? readGatewayEntry(definition) : undefined
        if (replace || !there || there.serverId === null || named.has(there.serverId)) return []
        return [entry(name, there.serverId, there.bridge)]
      })
      return [...found.map(({ id }) => entry(id, id, bridge)), ...others]
    })
  }

  return {
    connect,

    async disconnect(agent: string, how: How, by: Caller): Promise<ChangeReport> {
      const { type } = agentOf(agent)
      const report = await editing.remove(agent, [ENTRY], how, by)
      if (!how.dry_run)
        for (const id of gateway.idsOf(type, nameOf('connect', how))) await gateway.remove(id, by)
      return report
    },

    async set(agent: string, input: PutServers, by: Caller): Promise<ChangeReport> {
      const { servers, server_ids, mode, via, ...how } = input
      const replace = mode === 'replace'
      if (via === 'gateway' && servers)
        throw invalidField('/via', 'must be direct for entries of your own; name server_ids')
      const change = () => {
        if (via !== 'gateway') return editing.set(agent, input, by)
        return server_ids
          ? setServers(agent, server_ids, how, replace, by)
          : connect(agent, { ...how, replace }, by)
      }
      const report = await change()
      await tidy(agent, how, by)
      return report
    },

    async remove(...[agent, names, how, by]: Parameters<typeof editing.remove>): Promise<ChangeReport> {
      const report = await editing.remove(agent, names, how, by)
      await tidy(agent, how, by)
      return report
    },
  }
}
