import type { Agents } from '../agents/agents.service.ts'
import { readGatewayEntry } from '../agents/catalogue/gateway-entry.ts'
import type { Definition, RegisteredServer } from '../agents/catalogue/server-definition.ts'
import {
  comparedValues,
  registeredAs,
  registeredVariant,
  type SecretOf,
} from '../agents/read/server-identity.ts'
import { AppError, invalidField } from '../kernel/errors.ts'
import { type Caller, slugOf } from '../kernel/rest-parts.ts'
import { outgoingIn, outgoingText } from '../servers/shared/definition/outgoing.ts'
import {
  type AgentImportInput,
  type AgentImportItem,
  type AgentImportReport,
  type AgentScan,
  type EntryTrial,
  type EntryTrialInput,
  factsOf,
  NO_FACTS,
  type Source,
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
import { digestOf, hasChanged, placeOf } from './read/agent-file/seen-entry.ts'
import { isNamed } from './stdio-and-http-servers.ts'
import type { Definition as OwnDefinition } from './translate/translate-definition-references.ts'
import type { Surroundings } from './translate/translate-references.ts'

interface Deps extends RegisterDeps, Surroundings {
  /** The files that can be imported. */
  readonly files: Agents['importable']
  readonly registered: () => Promise<readonly RegisteredServer[]>
  readonly secretOf: SecretOf
}

const KEPT: Reasons = {
  same: null,
  other: 'The server with this name cannot be read, so it stays unchanged',
}

/** What the servers of one import have used so far. */
interface Used {
  /** Names of new servers. */
  readonly names: Set<string>
  /** Registered servers that an entry defines. Another entry does not change them. */
  readonly ids: Set<string>
}

/** Registers servers from agents' entries. Starts nothing, and changes a registered server only with `update`. */
export function createAgentImport(deps: Deps) {
  const { registered, kinds, secretOf } = deps

  /**
   * The registered server that an entry defines, or changes: with `update` the one that has its words or its name.
   * Otherwise other values are another server.
   */
  function registeredFor(
    candidate: Candidate,
    servers: readonly RegisteredServer[],
    used: Used,
    { update = false, server_id }: AgentImportInput,
  ) {
    const same = registeredVariant(candidate.definition, servers, secretOf)
    if (same) return { id: same.id, isSame: true, problem: undefined }
    const name = unusedName(candidate, used.names)
    const free = servers.filter(
      ({ id }) => !used.ids.has(id) && (server_id === undefined || id === server_id),
    )
    const namesake = free.find(isNamed(name))
    const isUnreadable = namesake?.definition instanceof AppError
    if (!update)
      return isUnreadable && namesake ? { id: namesake.id, isSame: false, problem: undefined } : undefined
    const alike = free.filter((server) => registeredAs(candidate.definition, [server]))
    const [found = server_id === undefined ? namesake : free[0], ...others] = alike
    const problem =
      others.length > 0 ? 'Several servers have this command. Name one of them with server_id' : undefined
    return found && { id: found.id, isSame: false, problem }
  }

  async function importOne(
    candidate: Candidate,
    input: AgentImportInput,
    used: Used,
    by: Caller,
  ): Promise<AgentImportItem> {
    const servers = await registered()
    const existing = registeredFor(candidate, servers, used, input)
    const server = servers.find(({ id }) => id === existing?.id)
    const taken = existing ? [] : servers.flatMap((each) => [each.id, slugOf(each.name)])
    const name = unusedName(candidate, new Set([...used.names, ...taken]))
    const { approved } = candidate
    const enabled = candidate.enabled && approved
    const found = { name, definition: ownDefinition(candidate.definition), enabled, approved }
    const problem = kinds.problem(name, found.definition)
    const planned = plan(
      existing && server
        ? {
            existing: {
              ...existing,
              problem: problem ?? existing.problem ?? whyFixed(server, candidate.definition),
            },
          }
        : { problem },
      input.update ?? false,
      KEPT,
    )
    if (planned.outcome === 'created') used.names.add(slugOf(name))
    // An update that fails ends the import, and takes no options.
    const { allow_outgoing = [], dry_run } = input
    const [carryOut, options] =
      planned.outcome === 'updated' ? [applyOrThrow, { allow_outgoing }] : [apply, input]
    const done = await carryOut(planned, dry_run, () => register(found, planned.id, options, deps, by))
    const { outcome, id, reason, notes } = done
    if (outcome === 'unchanged' && !dry_run) await kinds.allow(id, allow_outgoing, by)
    const outgoing =
      (outcome !== 'exists' && (outcome === 'unchanged' || !dry_run) && (await kinds.outgoing(id))) ||
      outgoingIn(found.definition, allow_outgoing)
    return {
      name,
      type: candidate.definition.type,
      outcome: outcome === 'unchanged' ? 'registered' : outcome,
      server_id: id,
      found_in: candidate.found_in,
      variants: candidate.variants.map((variant) => shownVariant(candidate, variant, secretOf)),
      reason,
      approved,
      digest: digestOf(candidate.definition),
      ...factsOf(candidate.definition, enabled, outgoing),
      notes: [...candidate.notes, ...(approved ? [] : [OFF]), ...notes],
    }
  }

  return {
    async run(input: AgentImportInput, by: Caller): Promise<AgentImportReport> {
      const files = deps.files(input.agents, input.project_path)
      const { candidates, refused } = candidatesIn(files, input.names, deps)
      const items: AgentImportItem[] = []
      const servers = await registered()
      if (input.server_id !== undefined && !servers.some(({ id }) => id === input.server_id))
        throw invalidField('/server_id', 'must be the id of a server')
      const defined = candidates.flatMap(
        ({ definition }) => registeredVariant(definition, servers, secretOf)?.id ?? [],
      )
      const used = { names: new Set<string>(), ids: new Set(defined) }
      const chosen = input.entries && new Set(input.entries.map(placeOf))
      const isChosen = (sources: readonly Source[]) =>
        !chosen || sources.some((each) => chosen.has(placeOf(each)))
      for (const candidate of candidates) {
        const isTaken = isChosen(candidate.found_in)
        const [source] = candidate.found_in
        if (source && isTaken && hasChanged(candidate, input.entries)) {
          items.push(refusedItem({ source, definition: candidate.definition, reason: CHANGED }))
          continue
        }
        // The others keep the names that they would get.
        const item = await importOne(candidate, isTaken ? input : { ...input, dry_run: true }, used, by)
        if (!isTaken) continue
        items.push(item)
        if (item.server_id !== null) used.ids.add(item.server_id)
      }
      items.push(...refused.filter(({ source }) => isChosen([source])).map(refusedItem))
      const problems = files.flatMap(({ agent, files: read }) =>
        read.flatMap(({ state: { config, parseError, problem } }) => {
          const message = parseError?.message ?? problem
          return message === null ? [] : [{ agent_type: agent.type, path: config.path, message }]
        }),
      )
      return { dry_run: input.dry_run ?? false, items, problems, total: items.length }
    },

    /** Starts the server of one entry once, as the user has seen it. Nothing is kept. */
    async tryEntry(input: EntryTrialInput): Promise<EntryTrial> {
      const { digest, unapproved = false, allow_outgoing, ...entry } = input
      const { candidates } = candidatesIn(deps.files([entry.agent_type]), undefined, deps)
      const wanted = placeOf(entry)
      const found = candidates.find(({ found_in }) => found_in.some((each) => placeOf(each) === wanted))
      const definition = found && ownDefinition(found.definition)
      const problem = definition
        ? kinds.problem(found.name, definition)
        : 'The file has no such entry any more'
      if (!definition || problem !== undefined)
        throw new AppError('not_found', `'${entry.name}' cannot be tried: ${problem}`, {
          hint: READ_AGAIN,
        })
      if (digest !== undefined && digest !== digestOf(found.definition))
        throw new AppError(
          'config_changed',
          `'${entry.name}' has changed since you read it; nothing was started`,
          {
            hint: READ_AGAIN,
          },
        )
      if (!found.approved && !unapproved)
        throw new AppError(
          'entry_not_approved',
          `'${entry.name}' is only in a file of a repository, and its agent has not been allowed to start it`,
          { hint: 'Look at its command, then send "unapproved": true' },
        )
      const [held] = outgoingIn(definition, allow_outgoing).filter(({ allowed }) => !allowed)
      if (held)
        throw new AppError(
          'outgoing_not_allowed',
          `'${entry.name}' was not started. It would get ${outgoingText(held)}`,
          { hint: 'Look at `outgoing` of the entry. If you trust it, send these items as `allow_outgoing`' },
        )
      return kinds.trial(definition)
    },

    /** The counts that every page and command shows. An entry that leads to Toolroom itself is no server. */
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
          ...entryCounts(files),
          problems: files.flatMap(({ state }) => state.parseError?.message ?? state.problem ?? []),
        }))
      return {
        agents,
        agents_found: agents.filter(({ entries }) => entries > 0).length,
        entries: agents.reduce((sum, { entries }) => sum + entries, 0),
        different_servers: candidates.length,
        not_registered: candidates.filter(({ definition }) => !registeredVariant(definition, known, secretOf))
          .length,
      }
    },
  }
}
export type AgentImport = ReturnType<typeof createAgentImport>

function entryCounts(files: ReturnType<Deps['files']>[number]['files']) {
  const ofProjects = new Map<string, number>()
  let entries = 0
  for (const { state, project } of files) {
    const count = state.entries.filter(({ definition }) => !readGatewayEntry(definition)).length
    entries += count
    if (project !== null && count > 0) ofProjects.set(project, (ofProjects.get(project) ?? 0) + count)
  }
  return { entries, projects: [...ofProjects].map(([project, count]) => ({ project, entries: count })) }
}
const OFF = 'Its agent has not been allowed to start it, so it is off until you start or enable it'
const CHANGED = 'The file has changed since you read it'

const READ_AGAIN = 'Read the files of the agents again'

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

const shownVariant = (
  candidate: Candidate,
  { source, definition, differs }: Variant,
  secretOf: SecretOf,
): AgentImportItem['variants'][number] => ({
  ...source,
  type: definition.type,
  ...shownDefinition(definition),
  differs: [...differs],
  values: comparedValues(candidate.definition, definition, secretOf),
})

const refusedItem = ({ source, definition, reason }: RefusedEntry): AgentImportItem => ({
  name: source.name,
  type: definition?.type ?? null,
  outcome: 'refused',
  server_id: null,
  found_in: [source],
  variants: [],
  reason,
  approved: true,
  digest: definition ? digestOf(definition) : '',
  ...(definition ? factsOf(definition, true) : NO_FACTS),
  notes: [],
})
