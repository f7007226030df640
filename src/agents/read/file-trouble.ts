import type { Agent } from '../catalogue/catalogue.schema.ts'
import { driftOf, type KnownFile } from './agent-view.ts'

/** Why a file of an agent needs a person. */
export interface FileTrouble {
  readonly agent_type: string
  readonly agent_name: string
  readonly path: string
  /** The names of managed entries that another program has changed or removed. */
  readonly edited: readonly string[]
  /** Null if the file can be read. */
  readonly unreadable: string | null
}

/** Undefined for a file that needs nothing. */
export function troubleOf(agent: Agent, file: KnownFile): FileTrouble | undefined {
  const { place, parseError, problem } = file.state
  const unreadable = parseError?.message ?? problem
  const edited = driftOf(file).map(({ name }) => name)
  if (unreadable === null && edited.length === 0) return undefined
  return { agent_type: agent.type, agent_name: agent.name, path: place.path, edited, unreadable }
}
