import { AppError } from '../../kernel/errors.ts'
import { type Caller, slugOf } from '../../kernel/wire.ts'
import type { Agent } from '../catalogue/catalogue.schema.ts'
import type { Definition, RegisteredServer } from '../catalogue/definition.ts'
import { readGatewayEntry } from '../edit/gateway-entry.ts'
import type { ImportInput, ImportItem, ImportReport, Scan } from './import.schema.ts'
import type { FileState } from './read-entries.ts'
import { identityOf, isEqual, registeredAs } from './server-identity.ts'

/** All files of one agent. */
export interface AgentFiles {
  readonly agent: Agent
  readonly installed: boolean
  readonly states: readonly FileState[]
}

interface Deps {
  readonly registered: () => Promise<readonly RegisteredServer[]>
  readonly register: (name: string, definition: Definition, by: Caller) => Promise<{ readonly id: string }>
}

type Source = ImportItem['found_in'][number]

/** One server, with all entries that define it. */
interface Candidate {
  readonly name: string
  readonly definition: Definition
  readonly found_in: Source[]
  readonly notes: Set<string>
}

/** Registers servers from agents' entries. Starts nothing and changes no registered server. */
export function createImport({ registered, register }: Deps) {
  return {
    async run(
      files: readonly AgentFiles[],
      { names, dry_run = false }: ImportInput,
      by: Caller,
    ): Promise<ImportReport> {
      const { candidates, refused } = candidatesIn(files, names)
      const items: ImportItem[] = []
      const taken = new Set<string>()
      for (const candidate of candidates) items.push(await importOne(candidate, dry_run, taken, by))
      return { dry_run, items: [...items, ...refused], total: items.length + refused.length }
    },

    async scan(files: readonly AgentFiles[]): Promise<Scan> {
      const { candidates } = candidatesIn(files, undefined)
      const known = await registered()
      const agents = files
        .filter(({ installed, states }) => installed || states.some(({ content }) => content))
        .map(({ agent, installed, states }) => ({
          agent_type: agent.type,
          name: agent.name,
          installed,
          entries: states.reduce((sum, { entries }) => sum + entries.length, 0),
          problems: states.flatMap(({ parseError, problem }) => parseError?.message ?? problem ?? []),
        }))
      return {
        agents,
        agents_found: agents.filter(({ installed }) => installed).length,
        entries: agents.reduce((sum, { entries }) => sum + entries, 0),
        different_servers: candidates.length,
        not_registered: candidates.filter(({ definition }) => !registeredAs(definition, known)).length,
      }
    },
  }

  async function importOne(
    candidate: Candidate,
    dryRun: boolean,
    taken: Set<string>,
    by: Caller,
  ): Promise<ImportItem> {
    const { definition, found_in } = candidate
    const name = freeName(candidate, taken)
    const item = (
      outcome: ImportItem['outcome'],
      server_id: string | null,
      reason: string | null = null,
    ): ImportItem => ({
      name,
      type: definition.type,
      outcome,
      server_id,
      found_in,
      reason,
      notes: [...candidate.notes],
    })
    const servers = await registered()
    const same = registeredAs(definition, servers)
    if (same) {
      const differs = isEqual(same.definition, definition)
        ? null
        : 'The server is registered with other settings, which stay unchanged'
      return item('registered', same.id, differs)
    }
    const sameName = servers.find((server) => server.id === slugOf(name) || server.name === name)
    if (sameName) return item('exists', sameName.id, 'Another server has this name; rename one of them')
    taken.add(slugOf(name))
    if (dryRun) return item('created', null)
    try {
      return item('created', (await register(name, definition, by)).id)
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error
      return item('refused', null, error.message)
    }
  }
}

/** If two different servers have the same name, the second one gets the agent's type as a suffix. */
function freeName({ name, found_in }: Candidate, taken: ReadonlySet<string>): string {
  const plain =
    name
      .replace(/[^\w .-]+/g, '-')
      .replace(/^[^A-Za-z0-9]+/, '')
      .slice(0, 64) || 'server'
  if (!taken.has(slugOf(plain))) return plain
  return `${plain.slice(0, 40)}-${found_in[0]?.agent_type ?? 'other'}`
}

function candidatesIn(files: readonly AgentFiles[], names: readonly string[] | undefined) {
  const byIdentity = new Map<string, Candidate>()
  const refused: ImportItem[] = []
  for (const { agent, states } of files) {
    for (const { place, entries } of states) {
      for (const { name, definition, problem } of entries) {
        if (names && !names.includes(name)) continue
        if (readGatewayEntry(definition)) continue // it leads to Toolroom itself
        const source = { agent_type: agent.type, scope: place.scope, name }
        if (!definition) {
          refused.push({
            name,
            type: null,
            outcome: 'refused',
            server_id: null,
            found_in: [source],
            reason: problem ?? 'The entry has neither a command nor a URL',
            notes: [],
          })
        } else add(byIdentity, agent, source, definition)
      }
    }
  }
  return { candidates: [...byIdentity.values()], refused }
}

function add(all: Map<string, Candidate>, agent: Agent, source: Source, definition: Definition): void {
  const identity = identityOf(definition)
  const known = all.get(identity)
  if (!known) {
    const notes = hasReference(definition)
      ? [
          `The entry contains a reference such as ${agent.interpolation?.syntax[0] ?? '$' + '{NAME}'}. ${agent.name} resolves it, Toolroom does not; set the value`,
        ]
      : []
    all.set(identity, { name: source.name, definition, found_in: [source], notes: new Set(notes) })
    return
  }
  known.found_in.push(source)
  if (!isEqual(known.definition, definition))
    known.notes.add(
      `The settings in ${agent.name} differ from those in ${known.found_in[0]?.agent_type ?? 'the first agent'}`,
    )
}

const REFERENCE = /\$\{[^}]+\}|\{env:[^}]+\}|\{file:[^}]+\}/

function hasReference(definition: Definition): boolean {
  const texts =
    definition.type === 'stdio'
      ? [definition.command, ...definition.args, ...Object.values(definition.env)]
      : [definition.url, ...Object.values(definition.headers)]
  return texts.some((text) => REFERENCE.test(text))
}
