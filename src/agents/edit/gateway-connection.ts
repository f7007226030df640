import { invalidField } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/wire.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import { agentOf, configTarget } from '../files/config-target.ts'
import { readFileState } from '../read/read-entries.ts'
import type { CurrentConfig } from './change-plan.ts'
import type { DesiredEntry } from './desired-entry.ts'
import type { ChangeOptions, ChangeReport, PutServers } from './edit.schema.ts'
import type { EditDeps, EditService } from './edit.service.ts'
import { type GatewayAddress, gatewayEntry, readGatewayEntry } from './gateway-entry.ts'
import { recordOf } from './ownership.ts'

/** What this room needs of the gateway. */
export interface GatewayKeys extends GatewayAddress {
  readonly make: (
    agentType: string,
    name: string,
    by: Caller,
  ) => Promise<{ readonly id: string; readonly key: string }>
  readonly remove: (id: string, by: Caller) => Promise<void>
  /** The keys that were made for this agent under this name. */
  readonly idsOf: (agentType: string, name: string) => readonly string[]
}

/** The entry through which an agent reaches all servers. */
const ENTRY = 'toolroom'
/** What a key is for. All entries of one kind in one file share one key. */
type Kind = 'connect' | 'gateway'
const nameOf = (kind: Kind, { scope = 'user', project_path }: ChangeOptions): string =>
  project_path === undefined ? `${kind}: ${scope}` : `${kind}: ${scope} of ${project_path}`.slice(0, 100)

/** Writes entries that lead to the gateway, each agent with its own key. */
export function createGatewayConnection(
  edit: EditService,
  { platform, ownership }: Pick<EditDeps, 'platform' | 'ownership'>,
  gateway: GatewayKeys,
) {
  /** Runs dry with a placeholder first, so that a request that is refused never makes a key. */
  async function write(
    kind: Kind,
    agent: string,
    { options, replace, by }: { options: ChangeOptions; replace: boolean; by: Caller },
    desired: (key: string) => (current: CurrentConfig) => readonly DesiredEntry[],
  ): Promise<ChangeReport> {
    const { type } = agentOf(agent)
    const put = (key: string, dry_run: boolean) =>
      edit.put(agent, { ...options, dry_run }, by, desired(key), replace)
    const preview = await put('tk_shown-when-it-is-made', true)
    if (options.dry_run) return preview
    const name = nameOf(kind, options)
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

  /** Removes each key whose last entry is gone. */
  async function removeUnusedKeys(agent: string, options: ChangeOptions, by: Caller): Promise<void> {
    const target = configTarget(agentOf(agent), platform, options)
    const { entries, parseError, problem } = readFileState(target)
    if (options.dry_run || parseError || problem) return
    const owned = recordOf(ownership, target.place.path, target.place.keyPath)?.entries ?? {}
    const parked = Object.entries(owned).flatMap(([name, each]) =>
      each.parked === null ? [] : readEntry(target.agent, name, each.parked).definition,
    )
    const kinds = [...entries.map(({ definition }) => definition), ...parked].map((definition) => {
      const found = readGatewayEntry(definition)
      return found && (found.serverId === null ? 'connect' : 'gateway')
    })
    for (const kind of ['connect', 'gateway'] as const)
      if (!kinds.includes(kind)) await removeKeys(kind, agent, options, by)
  }

  async function removeKeys(kind: Kind, agent: string, options: ChangeOptions, by: Caller): Promise<void> {
    for (const id of gateway.idsOf(agentOf(agent).type, nameOf(kind, options))) await gateway.remove(id, by)
  }

  async function connect(
    agent: string,
    { bridge = false, replace = false, ...options }: ChangeOptions & { bridge?: boolean; replace?: boolean },
    by: Caller,
  ): Promise<ChangeReport> {
    const isBridge = bridge || agentOf(agent).http === null
    return write('connect', agent, { options, replace, by }, (key) => () => [
      {
        name: ENTRY,
        server_id: null,
        definition: () => gatewayEntry(gateway, { key, serverId: null, bridge: isBridge }),
        enabled: undefined,
      },
    ])
  }

  /** One entry for each server. Existing entries get the new key too, because the old key cannot be read back. */
  async function setServers(
    agent: string,
    ids: readonly string[],
    options: ChangeOptions,
    replace: boolean,
    by: Caller,
  ): Promise<ChangeReport> {
    const bridge = agentOf(agent).http === null
    const servers = await Promise.all(ids.map(edit.find))
    const named = new Set(servers.map(({ id }) => id))
    return write('gateway', agent, { options, replace, by }, (key) => (current) => {
      const entry = (name: string, serverId: string, isBridge: boolean): DesiredEntry => ({
        name,
        server_id: serverId,
        definition: () => gatewayEntry(gateway, { key, serverId, bridge: isBridge }),
        enabled: undefined,
      })
      const others = current.entries.flatMap(({ name, definition }) => {
        const existing = Object.hasOwn(current.owned, name) ? readGatewayEntry(definition) : undefined
        if (replace || !existing || existing.serverId === null || named.has(existing.serverId)) return []
        return [entry(name, existing.serverId, existing.bridge)]
      })
      return [...servers.map(({ id }) => entry(id, id, bridge)), ...others]
    })
  }

  return {
    connect,

    async disconnect(agent: string, options: ChangeOptions, by: Caller): Promise<ChangeReport> {
      const report = await edit.remove(agent, [ENTRY], options, by)
      if (!options.dry_run) await removeKeys('connect', agent, options, by)
      return report
    },

    async set(agent: string, input: PutServers, by: Caller): Promise<ChangeReport> {
      const { servers, server_ids, mode, via, ...options } = input
      const replace = mode === 'replace'
      if (via === 'gateway' && servers)
        throw invalidField('/via', 'must be direct for servers; send server_ids instead')
      const change = () => {
        if (via !== 'gateway') return edit.set(agent, input, by)
        return server_ids
          ? setServers(agent, server_ids, options, replace, by)
          : connect(agent, { ...options, replace }, by)
      }
      const report = await change()
      await removeUnusedKeys(agent, options, by)
      return report
    },

    async remove(...[agent, names, options, by]: Parameters<typeof edit.remove>): Promise<ChangeReport> {
      const report = await edit.remove(agent, names, options, by)
      await removeUnusedKeys(agent, options, by)
      return report
    },
  }
}
