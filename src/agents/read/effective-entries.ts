import type { EffectiveEntry } from '../agents.schema.ts'
import type { Agent } from '../catalogue/catalogue.schema.ts'
import { type EntryFacts, entryViews, type KnownFile } from './agent-view.ts'

/** The entries that the agent uses: where several have the same name, the one from the strongest scope. */
export function effectiveEntries(
  agent: Agent,
  files: readonly KnownFile[],
  facts: EntryFacts,
): EffectiveEntry[] {
  const rank = (scope: string) => {
    const at = agent.precedence.indexOf(scope)
    return at === -1 ? agent.precedence.length : at
  }
  const all = [...files]
    .sort((a, b) => rank(a.state.place.scope) - rank(b.state.place.scope))
    .flatMap((file) =>
      entryViews(file, facts).map((entry) => ({ ...entry, path: file.state.place.path, shadows: [] })),
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
