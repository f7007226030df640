import { invalidField } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { RegisteredServer } from '../catalogue/definition.ts'
import {
  GATEWAY_ENTRY,
  type GatewayAddress,
  gatewayEntry,
  readGatewayEntry,
} from '../catalogue/gateway-entry.ts'
import { agentOf } from '../files/config-target.ts'
import type { DesiredEntry } from './desired-entry.ts'
import type { ChangeOptions, ChangeReport, PutServers } from './edit.schema.ts'
import type { EditService } from './edit.service.ts'
import { type OfferedTools, offeredEntries, takeOver, warnOfDoubled } from './take-over.ts'

interface Deps {
  readonly gateway: GatewayAddress
  readonly registered: () => Promise<readonly RegisteredServer[]>
  readonly offeredTo: (agentType: string) => OfferedTools
}

interface ConnectOptions extends ChangeOptions {
  readonly bridge?: boolean
  readonly replace?: boolean
  readonly take_over?: boolean
}

/** Writes entries that lead to the gateway, each agent with its own key. */
export function createGatewayConnection(edit: EditService, { gateway, registered, offeredTo }: Deps) {
  async function connect(
    agent: string,
    { bridge = false, replace = false, take_over = false, ...options }: ConnectOptions,
    by: Caller,
  ): Promise<ChangeReport> {
    const { type, http } = agentOf(agent)
    const isBridge = bridge || http === null
    if (isBridge && !options.dry_run) await gateway.program.keep()
    const servers = await registered()
    const offered: Parameters<typeof edit.put>[4]['offered'] = (target, plan, current) => {
      const entries = offeredEntries(target, current, servers, offeredTo(type))
      return take_over ? takeOver(target, plan, current, entries) : warnOfDoubled(target, plan, entries)
    }
    const entry = (key: string): DesiredEntry => ({
      name: GATEWAY_ENTRY,
      server_id: null,
      definition: () => gatewayEntry(gateway, { key, serverId: null, bridge: isBridge }),
      enabled: undefined,
    })
    return edit.put(agent, options, by, (_, key) => [entry(key)], { replace, keyKind: 'connect', offered })
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
    if (bridge && !options.dry_run) await gateway.program.keep()
    const servers = await Promise.all(ids.map(edit.find))
    const named = new Set(servers.map(({ id }) => id))
    const desired: Parameters<typeof edit.put>[3] = (current, key) => {
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
    }
    return edit.put(agent, options, by, desired, { replace, keyKind: 'gateway' })
  }

  return {
    connect,

    disconnect: (agent: string, options: ChangeOptions, by: Caller): Promise<ChangeReport> =>
      edit.remove(agent, [GATEWAY_ENTRY], options, by),

    async set(agent: string, input: PutServers, by: Caller): Promise<ChangeReport> {
      const { servers, server_ids, enable: _, remove, mode, via, ...options } = input
      const replace = mode === 'replace'
      if (via === 'gateway' && servers)
        throw invalidField('/via', 'must be direct for servers; send server_ids instead')
      if (via === 'gateway' && remove) throw invalidField('/remove', 'must not be given with the gateway')
      if (via !== 'gateway') return edit.set(agent, input, by)
      return server_ids
        ? setServers(agent, server_ids, options, replace, by)
        : connect(agent, { ...options, replace }, by)
    },
  }
}
