import type { EffectiveEntry } from '../agents.schema.ts'
import type { Agent } from '../catalogue/catalogue.schema.ts'
import { type EntryFacts, entryViews, type Seen } from './agent-view.ts'

/** What the agent really uses: of entries with the same name the one from its strongest scope. */
export function effectiveOf(agent: Agent, seen: readonly Seen[], facts: EntryFacts): EffectiveEntry[] {
  const strength = (scope: string) => {
    const at = agent.precedence.indexOf(scope)
    return at === -1 ? agent.precedence.length : at
  }
  const all = [...seen]
    .sort((a, b) => strength(a.state.place.scope) - strength(b.state.place.scope))
    .flatMap((each) =>
      entryViews(each, facts).map((entry) => ({ ...entry, path: each.state.place.path, shadows: [] })),
    )
  const winners = new Map<string, EffectiveEntry>()
  for (const entry of all.filter(({ parked }) => !parked)) {
    const winner = winners.get(entry.name)
    if (!winner) winners.set(entry.name, entry)
    else {
      const { scope, path, line } = entry
      winners.set(entry.name, { ...winner, shadows: [...winner.shadows, { scope, path, line }] })
    }
  }
  return [...winners.values()]
}
