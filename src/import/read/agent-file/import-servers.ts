import type { Agents } from '../../../agents/agents.service.ts'
import type { Definition, RegisteredServer } from '../../../agents/catalogue/definition.ts'
import { differences, registeredAs } from '../../../agents/read/server-identity.ts'
import { AppError } from '../../../kernel/errors.ts'
import { type Caller, slugOf } from '../../../kernel/wire.ts'
import type { AddOptions } from '../../import-target.ts'
import { applyOptions, type OptionDeps } from '../../options/apply-options.ts'
import { factsOf, NO_FACTS } from '../../options/import-fields.ts'
import { type Candidate, candidatesIn, freeName, type RefusedEntry } from './candidates.ts'
import type { ImportInput, ImportItem, ImportReport, Scan } from './import.schema.ts'

export interface ImportDeps extends OptionDeps {
  /** The files that can be imported. */
  readonly files: Agents['importable']
  readonly home: string
  readonly registered: () => Promise<readonly RegisteredServer[]>
  readonly register: (
    name: string,
    definition: Definition & { readonly package?: string },
    options: AddOptions,
    by: Caller,
  ) => Promise<{ readonly id: string }>
  /** Gives a registered server of the same kind another definition. */
  readonly redefine: (id: string, definition: Definition, by: Caller) => Promise<unknown>
  /** Why a server cannot be registered, or undefined. */
  readonly problemOf: (name: string, definition: Definition) => string | undefined
}

/** Registers servers from agents' entries. Starts nothing, and changes a registered server only with `update`. */
export function createAgentImport(deps: ImportDeps) {
  const { registered, register } = deps
  return {
    async run(input: ImportInput, by: Caller): Promise<ImportReport> {
      const files = deps.files(input.agents, input.project_path)
      const { candidates, refused } = candidatesIn(files, input.names, deps)
      const items: ImportItem[] = []
      const taken = new Set<string>()
      for (const candidate of candidates) items.push(await importOne(candidate, input, taken, by))
      items.push(...refused.map(refusedItem))
      return { dry_run: input.dry_run ?? false, items, total: items.length }
    },

    async scan(): Promise<Scan> {
      const files = deps.files(undefined)
      const { candidates } = candidatesIn(files, undefined, deps)
      const known = await registered()
      const agents = files
        .filter((each) => each.installed || each.files.some(({ state }) => state.content))
        .map(({ agent, installed, files }) => ({
          agent_type: agent.type,
          name: agent.name,
          installed,
          entries: files.reduce((sum, { state }) => sum + state.entries.length, 0),
          problems: files.flatMap(({ state }) => state.parseError?.message ?? state.problem ?? []),
        }))
      return {
        agents,
        agents_found: agents.filter(({ installed }) => installed).length,
        entries: agents.reduce((sum, { entries }) => sum + entries, 0),
        different_servers: candidates.length,
        not_registered: candidates.filter(
          ({ definition, folder }) => !registeredAs(definition, known, folder ?? undefined),
        ).length,
      }
    },
  }

  async function importOne(
    candidate: Candidate,
    input: ImportInput,
    taken: Set<string>,
    by: Caller,
  ): Promise<ImportItem> {
    const { definition, found_in, variants, enabled } = candidate
    const name = freeName(candidate, taken)
    const item = (
      outcome: ImportItem['outcome'],
      server_id: string | null,
      reason: string | null = null,
      notes: readonly string[] = [],
    ): ImportItem => ({
      name,
      type: definition.type,
      outcome,
      server_id,
      found_in,
      variants,
      reason,
      ...factsOf(definition, enabled),
      notes: [...candidate.notes, ...notes],
    })
    const servers = await registered()
    async function redefined(id: string): Promise<ImportItem> {
      const problem = deps.problemOf(name, definition) ?? whyFixed(servers, id, definition)
      if (problem !== undefined) return item('refused', id, problem)
      if (!input.dry_run) await deps.redefine(id, definition, by)
      return item('updated', id)
    }
    const same = registeredAs(definition, servers, candidate.folder ?? undefined)
    if (same) {
      const isEqual = differences(same.definition, definition).length === 0
      if (input.update && !isEqual) return redefined(same.id)
      const differs = isEqual ? null : 'The server is registered with other settings, which stay unchanged'
      return item('registered', same.id, differs)
    }
    const sameName = servers.find((server) => server.id === slugOf(name) || server.name === name)
    if (sameName && input.update) return redefined(sameName.id)
    if (sameName) return item('exists', sameName.id, 'Another server has this name; rename one of them')
    const problem = deps.problemOf(name, definition)
    if (problem !== undefined) return item('refused', null, problem)
    taken.add(slugOf(name))
    if (input.dry_run) return item('created', null)
    try {
      const applied = await applyOptions(slugOf(name), definition, input, deps, by)
      const options = { start_mode: input.start_mode, enabled }
      const { id } = await register(name, applied.definition, options, by)
      return item('created', id, null, applied.notes)
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error
      return item('refused', null, error.message)
    }
  }
}

export type AgentImport = ReturnType<typeof createAgentImport>

/** Why the server cannot get this definition, or undefined. */
function whyFixed(
  servers: readonly RegisteredServer[],
  id: string,
  { type }: Definition,
): string | undefined {
  const server = servers.find((each) => each.id === id)
  if (server?.package) return 'The server runs an installed package, which an entry cannot replace'
  const before = server?.definition
  const isOther = before && !(before instanceof AppError) && (before.type === 'stdio') !== (type === 'stdio')
  return isOther ? 'The server is of another kind; add the entry under another name' : undefined
}

function refusedItem({ source, definition, reason }: RefusedEntry): ImportItem {
  return {
    name: source.name,
    type: definition?.type ?? null,
    outcome: 'refused',
    server_id: null,
    found_in: [source],
    variants: [],
    reason,
    ...(definition ? factsOf(definition, true) : NO_FACTS),
    notes: [],
  }
}
