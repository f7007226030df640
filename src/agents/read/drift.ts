import { memo } from '../../kernel/memo.ts'
import type { Agent } from '../catalogue/agent-record.ts'
import { hashOf } from '../catalogue/json-value.ts'
import type { FileRecord } from '../files/ownership-store.ts'
import type { Drift } from './agents.schema.ts'
import type { Entry, SeenFile } from './read-entries.ts'

/** The state of one file and our record of it. */
export interface KnownFile {
  readonly state: SeenFile
  readonly record: FileRecord | undefined
}

interface Compared extends Pick<KnownFile, 'record'> {
  readonly state: Pick<SeenFile, 'entries' | 'parseError' | 'problem'>
}

/** Managed entries that another program changed or removed. Empty for a file that cannot be read. */
export function driftOf({ state, record }: Compared): Drift {
  if (!record || state.parseError || state.problem) return []
  return Object.entries(record.entries).flatMap(([name, { hash, parked }]): Drift => {
    const entry = state.entries.find((each) => each.name === name)
    if (!entry) return parked === null ? [{ scope: record.scope, name, verdict: 'entry_removed' }] : []
    return entryHash(entry) === hash ? [] : [{ scope: record.scope, name, verdict: 'external_edit' }]
  })
}

/** Entries stay the same objects until their file changes. */
const entryHash = memo(({ value }: Entry): string => hashOf(value))

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
  const { config, parseError, problem } = file.state
  const unreadable = parseError?.message ?? problem
  const edited = driftOf(file).map(({ name }) => name)
  if (unreadable === null && edited.length === 0) return undefined
  return { agent_type: agent.type, agent_name: agent.name, path: config.path, edited, unreadable }
}
