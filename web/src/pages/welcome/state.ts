import { useMemo } from 'react'
import { useFoundAgents } from '../../data/agents.ts'
import type { Agent } from '../../data/api.ts'
import { flag, list, oneOf, searchState, useSearchState } from '../../url/search-state.ts'

export const STEPS = ['1', '2', '3', '4', '5'] as const

/** All choices are in the address, so a reload continues where it was. */
const search = searchState({
  step: oneOf(STEPS, '1'),
  /** Agents and servers that were unticked. */
  noAgents: list(),
  noServers: list(),
  /** Servers of projects that were ticked, although their agent has not approved them. */
  alsoServers: list(),
  move: flag(),
  try: flag(),
  mode: oneOf(['watch', 'gateway'], 'watch'),
  connect: list(),
  /** Agents whose files were written. */
  wrote: list(),
  undone: flag(),
})

export interface FoundAgent {
  readonly agent: Agent
  readonly scope: Agent['scopes'][number] | undefined
  readonly isBroken: boolean
}

export function useWelcome() {
  const [state, set] = useSearchState(search)
  const { data, error } = useFoundAgents()
  const found = useMemo(
    () =>
      data
        ?.map((agent): FoundAgent => {
          const scope = agent.scopes.find(({ exists }) => exists) ?? agent.scopes[0]
          return { agent, scope, isBroken: agent.scopes.some(({ parse_error }) => parse_error !== null) }
        })
        .toSorted((a, b) => rank(a) - rank(b)),
    [data],
  )
  /** Those that the user left ticked. */
  const used = found
    ?.filter(({ agent, isBroken }) => !isBroken && agent.server_count > 0)
    .map(({ agent }) => agent.agent_type)
    .filter((type) => !state.noAgents.includes(type))
  return {
    state,
    set,
    found,
    used,
    error,
    go: (step: (typeof STEPS)[number]) => set({ step }, { push: true }),
  }
}
export type Welcome = ReturnType<typeof useWelcome>

const rank = ({ agent, isBroken }: FoundAgent): number => (isBroken ? 1000 : 0) - agent.server_count

export const without = (names: readonly string[], name: string, isIn: boolean): string[] =>
  isIn ? names.filter((each) => each !== name) : [...names.filter((each) => each !== name), name]
