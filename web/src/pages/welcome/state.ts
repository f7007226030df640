import { useMemo } from 'react'
import { useFoundAgents } from '../../data/agents.ts'
import type { Agent, Schemas } from '../../data/api.ts'
import { useScan } from '../../data/first-run/first-run.ts'
import { flag, list, number, oneOf, type Param, searchState, useSearchState } from '../../url/search-state.ts'

export const STEPS = ['1', '2', '3', '4', '5'] as const

/** All choices are in the address, so a reload continues where it was. */
const search = searchState({
  step: oneOf(STEPS, '1'),
  /** Agents and servers that were unticked. */
  noAgents: list(),
  noServers: list(),
  /** Servers that were ticked, although their agent has not approved them, or has them switched off. */
  alsoServers: list(),
  copy: flag(),
  mode: oneOf(['watch', 'gateway'], 'watch'),
  /** Undefined: the agents whose servers were chosen. */
  connect: chosen(),
  /** How many servers were registered. */
  imported: number(),
  /** Agents whose files were written. */
  wrote: list(),
  undone: flag(),
})

/** A list that is empty by choice is a comma. */
function chosen(): Param<readonly string[] | undefined> {
  const write = (values: readonly string[] | undefined) =>
    values === undefined ? '' : values.join(',') || ','
  return { fallback: undefined, read: (given) => given.split(',').filter(Boolean), write }
}

export interface FoundAgent {
  readonly agent: Agent
  readonly scope: Agent['scopes'][number] | undefined
  readonly isBroken: boolean
  /** Entries of servers in all its files, also those of projects. */
  readonly entries: number
  /** Those of projects among them. */
  readonly projects: Schemas['AgentScan']['agents'][number]['projects']
}

export function useWelcome() {
  const [state, set] = useSearchState(search)
  const { data, error } = useFoundAgents()
  const { data: scan, isLoading } = useScan()
  const found = useMemo(
    () =>
      // With the counts at once: agents that change their places would list their servers anew.
      (isLoading ? undefined : data)
        ?.map((agent): FoundAgent => {
          const scope = agent.scopes.find(({ exists }) => exists) ?? agent.scopes[0]
          const isBroken = agent.scopes.some(({ parse_error }) => parse_error !== null)
          const scanned = scan?.agents.find(({ agent_type }) => agent_type === agent.agent_type)
          const entries = scanned?.entries ?? agent.server_count
          return { agent, scope, isBroken, entries, projects: scanned?.projects ?? [] }
        })
        .toSorted((a, b) => rank(a) - rank(b)),
    [data, scan, isLoading],
  )
  /** Those that the user left ticked. */
  const used = found
    ?.filter(({ isBroken, entries }) => !isBroken && entries > 0)
    .map(({ agent }) => agent.agent_type)
    .filter((type) => !state.noAgents.includes(type))
  return {
    state,
    set,
    found,
    used,
    scan,
    /** Those that will be connected. */
    connect:
      state.connect ??
      found
        ?.filter(({ agent, scope }) => scope?.writable === true && used?.includes(agent.agent_type))
        .map(({ agent }) => agent.agent_type) ??
      [],
    error,
    go: (step: (typeof STEPS)[number]) => set({ step }, { push: true }),
  }
}
export type Welcome = ReturnType<typeof useWelcome>

const rank = ({ entries, isBroken }: FoundAgent): number => (isBroken ? 1000 : 0) - entries

export const without = (names: readonly string[], name: string, isIn: boolean): string[] =>
  isIn ? names.filter((each) => each !== name) : [...names.filter((each) => each !== name), name]
