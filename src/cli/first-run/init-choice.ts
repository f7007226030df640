import type { AgentSummary } from '../agents/find-agent.ts'
import { agentsIn, agentsOf } from '../agents/find-agent.ts'
import type { Context } from '../run/command-context.ts'
import { findNamed } from '../run/find-named.ts'
import type { Api } from '../run/service-client.ts'
import { allowedBy } from '../servers/allow.ts'
import { type Choice, chosenItems, type ImportItem, importable } from './init-steps.ts'

/** `--import github,slack`: undefined means all. */
export function itemsIn(
  items: readonly ImportItem[],
  list: string | undefined,
): readonly ImportItem[] | undefined {
  if (list === undefined) return undefined
  if (list === 'all') return items
  if (list === 'none') return []
  const named = items.map((item) => ({ id: item.name, name: item.name, item }))
  return wordsOf(list).map((word) => findNamed(named, word, 'server').item)
}

/** `--connect cursor,codex` */
export const agentTypesIn = (agents: readonly AgentSummary[], list: string | undefined): readonly string[] =>
  list === undefined || list === 'none' ? [] : agentsIn(agents, list).map(({ agent_type }) => agent_type)

/** What the flags say. What they do not say is not done, except that all servers are imported. */
export async function choiceOfFlags(api: Api, context: Context): Promise<Choice> {
  const { given } = context
  const list = given.flag('import')
  const isListed = list !== undefined && list !== 'none'
  const items = itemsIn(isListed ? await importable(api) : [], list)
  return {
    items,
    allow: await allowedBy(context, await chosenItems(api, { items })),
    moveSecrets: given.is('move-secrets'),
    agents: agentTypesIn(await agentsOf(api), given.flag('connect')),
    keepNames: given.is('keep-names'),
    atLogin: given.is('at-login'),
  }
}

export const wordsOf = (list: string): string[] => list.split(/[\s,]+/).filter((word) => word !== '')
