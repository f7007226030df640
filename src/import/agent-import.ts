import type { Agents } from '../agents/agents.service.ts'
import type { Definition, RegisteredServer } from '../agents/catalogue/server-definition.ts'
import { differences, registeredAs } from '../agents/read/server-identity.ts'
import { AppError } from '../kernel/errors.ts'
import { type Caller, slugOf } from '../kernel/rest-parts.ts'
import {
  type AgentImportInput,
  type AgentImportItem,
  type AgentImportReport,
  type AgentScan,
  factsOf,
  NO_FACTS,
  shownDefinition,
} from './import.schema.ts'
import { apply, applyOrThrow, type RegisterDeps, register } from './import-apply.ts'
import { plan, type Reasons } from './import-plan.ts'
import {
  type Candidate,
  candidatesIn,
  type RefusedEntry,
  unusedName,
  type Variant,
} from './read/agent-file/agent-candidates.ts'
import { isNamed } from './stdio-and-http-servers.ts'
import type { Definition as OwnDefinition } from './translate/translate-definition-references.ts'
import type { Surroundings } from './translate/translate-references.ts'

interface Deps extends RegisterDeps, Surroundings {
  /** The files that can be imported. */
  readonly files: Agents['importable']
  readonly registered: () => Promise<readonly RegisteredServer[]>
}

const SAME_SERVER: Reasons = {
  same: null,
  other: 'The server is registered with other settings, which stay unchanged',
}
const SAME_NAME: Reasons = { same: null, other: 'Another server has this name; rename one of them' }

/** Registers servers from agents' entries. Starts nothing, and changes a registered server only with `update`. */
export function createAgentImport(deps: Deps) {
  const { registered, kinds } = deps

  async function importOne(
    candidate: Candidate,
    input: AgentImportInput,
    taken: Set<string>,
    by: Caller,
  ): Promise<AgentImportItem> {
    const name = unusedName(candidate, taken)
    const found = { name, definition: ownDefinition(candidate.definition), enabled: candidate.enabled }
    const servers = await registered()
    const same = registeredAs(candidate.definition, servers, candidate.folder ?? undefined)
    const server = servers.find(same ? ({ id }) => id === same.id : isNamed(name))
    const isSame = same !== undefined && differences(same.definition, candidate.definition).length === 0
    const problem = kinds.problem(name, found.definition)
    const planned = plan(
      server
        ? { existing: { id: server.id, isSame, problem: problem ?? whyFixed(server, candidate.definition) } }
        : { problem },
      input.update ?? false,
      same ? SAME_SERVER : SAME_NAME,
    )
    if (planned.outcome === 'created') taken.add(slugOf(name))
    // An update that fails ends the import, and takes no options.
    const [carryOut, options] = planned.outcome === 'updated' ? [applyOrThrow, {}] : [apply, input]
    const done = await carryOut(planned, input.dry_run, () => register(found, planned.id, options, deps, by))
    const { outcome, id, reason, notes } = done
    const isRegistered = outcome === 'unchanged' || (outcome === 'exists' && same !== undefined)
    return {
      name,
      type: candidate.definition.type,
      outcome: isRegistered ? 'registered' : outcome,
      server_id: id,
      found_in: candidate.found_in,
      variants: candidate.variants.map(shownVariant),
      reason,
      ...factsOf(candidate.definition, candidate.enabled),
      notes: [...candidate.notes, ...notes],
    }
  }

  return {
    async run(input: AgentImportInput, by: Caller): Promise<AgentImportReport> {
      const files = deps.files(input.agents, input.project_path)
      const { candidates, refused } = candidatesIn(files, input.names, deps)
      const items: AgentImportItem[] = []
      const taken = new Set<string>()
      for (const candidate of candidates) items.push(await importOne(candidate, input, taken, by))
      items.push(...refused.map(refusedItem))
      return { dry_run: input.dry_run ?? false, items, total: items.length }
    },

    async scan(): Promise<AgentScan> {
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
}
export type AgentImport = ReturnType<typeof createAgentImport>

/** Why the server cannot get this definition, or undefined. */
function whyFixed({ package: from, definition: before }: RegisteredServer, { type }: Definition) {
  if (from) return 'The server runs an installed package, which an entry cannot replace'
  const isOther = !(before instanceof AppError) && (before.type === 'stdio') !== (type === 'stdio')
  return isOther ? 'The server is of another kind; add the entry under another name' : undefined
}

/** The definition of an agent as Toolroom registers it. */
function ownDefinition(definition: Definition): OwnDefinition {
  if (definition.type === 'stdio') {
    const { command, args, env, cwd } = definition
    return { type: 'stdio', command, args: [...args], env: { ...env }, ...(cwd !== null && { cwd }) }
  }
  const { type, url, headers } = definition
  return { type: 'http', url, headers: { ...headers }, transport: type === 'sse' ? 'sse' : 'auto' }
}

const shownVariant = ({ source, definition, differs }: Variant): AgentImportItem['variants'][number] => ({
  ...source,
  type: definition.type,
  ...shownDefinition(definition),
  differs: [...differs],
})

const refusedItem = ({ source, definition, reason }: RefusedEntry): AgentImportItem => ({
  name: source.name,
  type: definition?.type ?? null,
  outcome: 'refused',
  server_id: null,
  found_in: [source],
  variants: [],
  reason,
  ...(definition ? factsOf(definition, true) : NO_FACTS),
  notes: [],
})
