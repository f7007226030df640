import { maskArgs, maskUrl, maskValues } from '../../kernel/secrets/secrets.ts'
import type { AgentSummary, Drift, EntryView } from '../agents.schema.ts'
import type { Agent } from '../catalogue/catalogue.schema.ts'
import type { Definition } from '../catalogue/definition.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import type { Registered } from '../edit/desired-entry.ts'
import type { FileRecord, Owned } from '../edit/ownership.ts'
import { hashOf } from '../formats/json-value.ts'
import type { Entry, PlaceState } from './read-entries.ts'
import { registeredAs } from './server-identity.ts'

/** One file, with what we remember of it. */
export interface Seen {
  readonly state: PlaceState
  readonly record: FileRecord | undefined
}

export interface Found {
  readonly installed: boolean
  readonly by: string | null
}

export function summaryOf(agent: Agent, { installed, by }: Found, seen: readonly Seen[]): AgentSummary {
  const entries = seen.flatMap(({ state }) => state.entries)
  return {
    agent_type: agent.type,
    name: agent.name,
    installed,
    detected_by: by,
    scopes: seen.map(({ state }) => scopeView(state)),
    server_count: entries.length,
    managed_count: seen.reduce((sum, each) => sum + managedIn(each).length, 0),
    drift: seen.flatMap(driftOf),
    reload_hint: agent.reload,
  }
}

function scopeView({ place, content, entries, parseError, problem, writable }: PlaceState) {
  const { scope, path, format, note, ambiguous } = place
  const several = ambiguous.length > 0 ? `Several files could be meant: ${ambiguous.join(', ')}` : null
  return {
    scope,
    path,
    format,
    exists: content !== undefined || parseError !== null || problem !== null,
    writable,
    revision: content?.revision ?? null,
    server_count: entries.length,
    parse_error: parseError,
    problem: problem ?? several,
    note,
  }
}

const managedIn = ({ state, record }: Seen): Entry[] =>
  state.entries.filter(({ name }) => ownedAs(record, name) !== undefined)

const ownedAs = (record: FileRecord | undefined, name: string): Owned | undefined =>
  record && Object.hasOwn(record.entries, name) ? record.entries[name] : undefined

/** What others did to entries of ours. Of a file that cannot be read nothing is said. */
export function driftOf({ state, record }: Seen): Drift {
  if (!record || state.parseError || state.problem) return []
  return Object.entries(record.entries).flatMap(([name, { hash, parked }]): Drift => {
    const there = state.entries.find((entry) => entry.name === name)
    if (!there) return parked === null ? [{ scope: record.scope, name, verdict: 'entry_removed' }] : []
    return hashOf(there.value) === hash ? [] : [{ scope: record.scope, name, verdict: 'external_edit' }]
  })
}

export interface EntryFacts {
  readonly agent: Agent
  readonly registered: readonly Registered[]
  readonly lineOf: (state: PlaceState, entry: Entry) => number | null
}

/** Everything in the file, and what we keep for it because it is switched off. */
export function entryViews({ state, record }: Seen, { agent, registered, lineOf }: EntryFacts): EntryView[] {
  const scope = state.place.scope
  const link = (name: string, definition: Definition | null) => {
    const owned = ownedAs(record, name)?.server_id
    const known = registered.find(({ id }) => id === owned) ?? registeredAs(definition, registered)
    return { managed: ownedAs(record, name) !== undefined, linked_server_id: known?.id ?? null, scope }
  }
  const there = state.entries.map((entry): EntryView => {
    const { name, definition, enabled, problem } = entry
    return {
      name,
      ...shown(definition),
      enabled,
      parked: false,
      ...link(name, definition),
      line: lineOf(state, entry),
      problem,
    }
  })
  const parked = Object.entries(record?.entries ?? {}).flatMap(([name, owned]): EntryView[] => {
    if (owned.parked === null || state.entries.some((entry) => entry.name === name)) return []
    const { definition, problem } = readEntry(agent, name, owned.parked)
    return [
      {
        name,
        ...shown(definition),
        enabled: false,
        parked: true,
        ...link(name, definition),
        line: null,
        problem,
      },
    ]
  })
  return [...there, ...parked]
}

function shown(
  definition: Definition | null,
): Pick<EntryView, 'type' | 'command' | 'args' | 'env' | 'cwd' | 'url' | 'headers'> {
  if (!definition) return { type: null }
  if (definition.type !== 'stdio') {
    const { type, url, headers } = definition
    return { type, url: maskUrl(url), headers: maskValues(headers) }
  }
  const { type, command, args, env, cwd } = definition
  const [program = '', ...rest] = maskArgs([command, ...args])
  return { type, command: program, args: rest, env: maskValues(env), cwd }
}
