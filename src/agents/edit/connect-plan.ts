import { AppError, invalidField } from '../../kernel/errors.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { GATEWAY_ENTRY, gatewayEntry, readGatewayEntry } from '../catalogue/gateway-entry.ts'
import type { Definition, RegisteredServer } from '../catalogue/server-definition.ts'
import { keepsNamesIn, type OwnershipStore } from '../files/ownership-store.ts'
import type { Entry } from '../read/read-entries.ts'
import type { DesiredEntry } from './desired-entry.ts'
import { type CurrentConfig, type Plan, planSet } from './entry-plan.ts'
import { choiceAfter, type GatewayOffers, gatewayChange, type Offer } from './gateway-change.ts'
import type { GatewayKeys } from './gateway-keys.ts'
import {
  type EntryServers,
  type OfferedEntry,
  offeredEntries,
  planReplace,
  takeOver,
  usedEntries,
  warnOfDoubled,
} from './take-over.ts'

export interface ConnectDeps extends Omit<EntryServers, 'registered'> {
  readonly ownership: Pick<OwnershipStore, 'all'>
  readonly gateway: GatewayKeys
  readonly offers: GatewayOffers
  /** The agents that can use a server. */
  readonly usersOf: (serverId: string) => readonly string[]
}

interface Connection {
  readonly registered: readonly RegisteredServer[]
  /** The servers that the request names. */
  readonly asked: 'all' | readonly string[] | undefined
  readonly isTakeOver: boolean
  /** An entry for each server, under its old name, in place of one for all. */
  readonly keepsNames: boolean
  readonly replace: boolean
  readonly isBridge: boolean
}

/** How the entries of a file lead to the gateway, and what its agent can use before and after. */
export function planConnect(
  deps: ConnectDeps,
  { registered, asked, isTakeOver, keepsNames, replace, isBridge }: Connection,
  target: ConfigTarget,
  current: CurrentConfig,
  key: string,
): Plan {
  const { offers } = deps
  const { type } = target.agent
  if (!keepsNames) refuseForeignEntry(target, current)
  refuseOtherWay(target, current, keepsNames)
  const entryFor = (name: string, serverId: string | null): DesiredEntry =>
    leadingEntry(deps, { name, serverId, key, isBridge })
  const all = offers.withChoice(type, null)
  const known = new Set(registered.map(({ id }) => id))
  const chosen = offers.chosenFor(type)?.filter((id) => known.has(id)) ?? null
  // An entry that leads to the gateway opens only what was chosen for the agent.
  const isOffered = ({ entry, server_id }: OfferedEntry) =>
    all.has(server_id) &&
    !offers.isStopped(server_id) &&
    (!isLink(entry) || chosen === null || chosen.includes(server_id))
  const found = offeredEntries(target, current, { ...deps, registered })
  const own = found.filter(isOffered)
  const stay = found.flatMap(({ entry, server_id }) => {
    const held = registered.find(({ id }) => id === server_id)?.held
    return held ? [`The entry '${entry.name}' stays. ${held.message}`] : []
  })
  const isOne = followsGateway(deps, type, current)
  const before = { isConnected: isOne || keepsNamesIn(current.record), chosen }
  const choice = choiceAfter(asked, isTakeOver, before, own)
  const after = offers.withChoice(type, choice)
  const offered = own.filter(({ server_id }) => after.has(server_id))
  const entries = own.map(({ entry }) => entry)
  const others = usedEntries(current).filter((entry) => !entries.includes(entry))
  const facts = {
    secretOf: deps.secretOf,
    usersOf: deps.usersOf,
    agentType: type,
    isBridge,
    registered,
    choice,
    all,
    before: isOne ? offers.withChoice(type, chosen) : new Map(),
    own,
    others: others.map(({ name }) => name),
  }
  if (keepsNames) {
    const here = offered.filter(({ scope }) => scope === target.config.scope)
    const leading = current.entries.filter(
      (entry) => isLink(entry) && Object.hasOwn(current.owned, entry.name) && !entries.includes(entry),
    )
    const links = [
      ...here.map(({ entry, server_id }) => ({ entry, by: entryFor(entry.name, server_id) })),
      ...leading.map((entry) => ({ entry, by: entryFor(entry.name, serverOf(entry)) })),
    ]
    const reached = new Set(links.map(({ by }) => by.server_id))
    const seen: Offer = new Map([...after].filter(([id]) => reached.has(id)))
    const plan = planReplace(target, current, links)
    return {
      ...plan,
      warnings: [...plan.warnings, ...stay],
      gateway: gatewayChange({ ...facts, after: seen, replaced: here, keepsNames }),
    }
  }
  const plan = planSet(target, current, [entryFor(GATEWAY_ENTRY, null)], { replace })
  const planned = isTakeOver
    ? takeOver(target, plan, current, offered)
    : warnOfDoubled(target, plan, offered, (id) => (after.get(id) ?? []).map(({ tool }) => tool))
  const replaced = isTakeOver ? offered : []
  const warnings = [...planned.warnings, ...stay]
  return { ...planned, warnings, gateway: gatewayChange({ ...facts, after, replaced, keepsNames }) }
}

/** An entry that leads to all servers of the gateway, or to one. */
export function leadingEntry(
  { gateway }: Pick<ConnectDeps, 'gateway'>,
  to: {
    readonly name: string
    readonly serverId: string | null
    readonly key: string
    readonly isBridge: boolean
  },
): DesiredEntry {
  const { name, serverId, key, isBridge } = to
  const definition = () => gatewayEntry(gateway, { key, serverId, bridge: isBridge })
  return { name, server_id: serverId, definition, enabled: undefined }
}

const serverOf = ({ definition }: Entry): string | null => readGatewayEntry(definition)?.serverId ?? null

/** It leads to one server at the gateway. */
const isLink = (entry: Entry): boolean => serverOf(entry) !== null

/** One of its files has the entry through which it sees the servers that were chosen for it. */
function followsGateway({ ownership }: ConnectDeps, type: string, { entries }: CurrentConfig): boolean {
  return (
    entries.some(({ name, definition }) => name === GATEWAY_ENTRY && isGatewayOfAll(definition)) ||
    ownership
      .all()
      .some((record) => record.agent_type === type && Object.hasOwn(record.entries, GATEWAY_ENTRY))
  )
}

const isGatewayOfAll = (definition: Definition | null): boolean =>
  readGatewayEntry(definition)?.serverId === null

/** What was parked comes back in between, so that nothing of the one way is left in the other. */
function refuseOtherWay({ agent, config }: ConfigTarget, current: CurrentConfig, keepsNames: boolean): void {
  const isOther = keepsNames
    ? current.entries.some(({ name, definition }) => name === GATEWAY_ENTRY && isGatewayOfAll(definition))
    : keepsNamesIn(current.record)
  if (!isOther) return
  const way = keepsNames ? 'one entry for all servers' : 'an entry for each server'
  throw new AppError('not_supported', `${agent.name} is connected with ${way} in ${config.path}`, {
    hint: `Disconnect ${agent.name} first: its own entries come back. Then connect it the other way`,
  })
}

/** The user has an entry of the same name that leads elsewhere. */
function refuseForeignEntry({ agent, config }: ConfigTarget, { entries, owned }: CurrentConfig): void {
  const isForeign = entries.some(
    ({ name, definition }) =>
      name === GATEWAY_ENTRY && !Object.hasOwn(owned, name) && !readGatewayEntry(definition),
  )
  if (!isForeign) return
  throw new AppError(
    'not_supported',
    `${config.path} has an entry '${GATEWAY_ENTRY}' that Toolroom did not write`,
    {
      hint: `Rename this entry of ${agent.name}, because the gateway needs the name`,
    },
  )
}

export function refuseUnknown(ids: readonly string[], registered: readonly RegisteredServer[]): void {
  for (const [index, id] of ids.entries())
    if (!registered.some((server) => server.id === id))
      throw invalidField(`/servers/${index}`, `must be the id of a server: no server has the id '${id}'`)
}
