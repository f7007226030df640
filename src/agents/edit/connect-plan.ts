import { AppError } from '../../kernel/errors.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { GATEWAY_ENTRY, readGatewayEntry } from '../catalogue/gateway-entry.ts'
import type { OwnershipStore } from '../files/ownership-store.ts'
import type { DesiredEntry } from './desired-entry.ts'
import { type CurrentConfig, type Plan, planSet } from './entry-plan.ts'
import { choiceAfter, type GatewayOffers, gatewayChange } from './gateway-change.ts'
import { type EntryServers, offeredEntries, takeOver, usedEntries, warnOfDoubled } from './take-over.ts'

interface Deps extends EntryServers {
  readonly offers: GatewayOffers
  readonly ownership: OwnershipStore
}

interface Options {
  readonly asked: 'all' | readonly string[] | undefined
  readonly take_over: boolean
  /** The managed entries are removed. */
  readonly replace: boolean
}

/** How an agent's file gets the one entry of the gateway, and what the agent sees there afterwards. Pure. */
export function planConnect(
  target: ConfigTarget,
  current: CurrentConfig,
  entry: DesiredEntry,
  deps: Deps,
  { asked, take_over, replace }: Options,
): Plan {
  refuseForeignEntry(target, current)
  const { offers, registered } = deps
  const { type } = target.agent
  const plan = planSet(target, current, [entry], { replace })
  const all = offers.withChoice(type, null)
  const own = offeredEntries(target, current, deps).filter(
    ({ server_id }) => all.has(server_id) && !offers.isStopped(server_id),
  )
  const known = new Set(registered.map(({ id }) => id))
  const chosen = offers.chosenFor(type)?.filter((id) => known.has(id)) ?? null
  const isConnected = followsGateway(type, current, deps.ownership)
  const choice = choiceAfter(asked, take_over, { isConnected, chosen }, own)
  const after = offers.withChoice(type, choice)
  const offered = own.filter(({ server_id }) => after.has(server_id))
  const planned = take_over
    ? takeOver(target, plan, current, offered)
    : warnOfDoubled(target, plan, offered, (id) => (after.get(id) ?? []).map(({ tool }) => tool))
  const entries = own.map((each) => each.entry)
  const others = usedEntries(current).filter((each) => !entries.includes(each))
  return {
    ...planned,
    gateway: gatewayChange({
      registered,
      choice,
      all,
      before: isConnected ? offers.withChoice(type, chosen) : new Map(),
      after,
      own,
      others: others.map(({ name }) => name),
      isTakeOver: take_over,
    }),
  }
}

/** One of the agent's files has the entry through which it sees the servers that were chosen for it. */
const followsGateway = (type: string, { entries }: CurrentConfig, ownership: OwnershipStore): boolean =>
  entries.some(
    ({ name, definition }) => name === GATEWAY_ENTRY && readGatewayEntry(definition)?.serverId === null,
  ) ||
  ownership.all().some((record) => record.agent_type === type && Object.hasOwn(record.entries, GATEWAY_ENTRY))

/** The user has an entry of the same name that leads elsewhere. */
export const hasForeignEntry = ({ entries, owned }: CurrentConfig): boolean =>
  entries.some(
    ({ name, definition }) =>
      name === GATEWAY_ENTRY && !Object.hasOwn(owned, name) && !readGatewayEntry(definition),
  )

function refuseForeignEntry({ agent, config }: ConfigTarget, current: CurrentConfig): void {
  if (!hasForeignEntry(current)) return
  throw new AppError(
    'not_supported',
    `${config.path} has an entry '${GATEWAY_ENTRY}' that Toolroom did not write`,
    { hint: `Rename this entry of ${agent.name}, because the gateway needs the name` },
  )
}
