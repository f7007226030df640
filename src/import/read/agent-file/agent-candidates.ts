import { basename } from 'node:path'
import { readGatewayEntry } from '../../../agents/catalogue/gateway-entry.ts'
import type { Definition } from '../../../agents/catalogue/server-definition.ts'
import type { AgentFiles } from '../../../agents/read/agent-projects.ts'
import { differences, variantOf } from '../../../agents/read/server-identity.ts'
import { slugOf } from '../../../kernel/rest-parts.ts'
import { npxPackage } from '../../../servers/shared/definition/npx-package.ts'
import { fitName, nameOfPackage } from '../../../servers/shared/definition/server-name.ts'
import type { Surroundings } from '../../translate/translate-references.ts'
import { type ImportedEntry, importEntry } from './import-agent-entry.ts'

/** An entry of an agent's file. */
export interface Source {
  readonly agent_type: string
  readonly scope: string
  /** The folder of the project that it belongs to. */
  readonly project: string | null
  readonly name: string
}

/** Another definition of the same name. */
export interface Variant {
  readonly source: Source
  readonly definition: Definition
  readonly differs: readonly string[]
}

/** One server, with all entries that define it. */
export interface Candidate {
  readonly name: string
  readonly definition: Definition
  readonly found_in: Source[]
  readonly variants: Variant[]
  readonly notes: Set<string>
  enabled: boolean
  /** At least one agent uses it, or would without asking. */
  approved: boolean
}

export interface RefusedEntry {
  readonly source: Source
  readonly definition: Definition | null
  readonly reason: string
}

/** The servers in agents' files. Entries with the same values are one candidate; others of its name are its variants. */
export function candidatesIn(
  agents: readonly AgentFiles[],
  names: readonly string[] | undefined,
  around: Surroundings,
): { readonly candidates: readonly Candidate[]; readonly refused: readonly RefusedEntry[] } {
  const byIdentity = new Map<string, Candidate>()
  const refused: RefusedEntry[] = []
  for (const { agent, files } of agents) {
    for (const { state, project, approved } of files) {
      for (const entry of state.entries) {
        if (names && !names.includes(entry.name)) continue
        if (readGatewayEntry(entry.definition)) continue // it leads to Toolroom itself
        const source = { agent_type: agent.type, scope: state.config.scope, project, name: entry.name }
        const imported = importEntry(entry, { agent, root: state.root, project }, around)
        const { definition, problem } = imported
        if (definition === null || problem !== null)
          refused.push({ source, definition, reason: problem ?? 'The entry defines no server' })
        else {
          const isApproved = approved === null || approved === 'all' || approved.includes(entry.name)
          merge(byIdentity, source, definition, imported, agent, isApproved)
        }
      }
    }
  }
  const candidates = [...byIdentity.values()]
  listNamesakes(candidates)
  return { candidates, refused }
}

function merge(
  all: Map<string, Candidate>,
  source: Source,
  definition: Definition,
  { enabled, notes }: ImportedEntry,
  agent: AgentFiles['agent'],
  approved: boolean,
): void {
  const variant = variantOf(definition)
  const known = all.get(variant)
  if (!known) {
    const { name } = source
    const found = { found_in: [source], variants: [], notes: new Set(notes) }
    all.set(variant, { name, definition, enabled, approved, ...found })
    return
  }
  known.found_in.push(source)
  for (const note of notes) if (!known.notes.has(note)) known.notes.add(`${agent.name}: ${note}`)
  if (enabled !== known.enabled)
    known.notes.add('It is disabled in some of these places and enabled in others, so it is enabled here')
  known.enabled ||= enabled
  known.approved ||= approved
}

/** Different servers with the same name list each other. */
function listNamesakes(candidates: readonly Candidate[]): void {
  const byName = new Map<string, Candidate[]>()
  for (const candidate of candidates) {
    const slug = slugOf(candidate.name)
    byName.set(slug, [...(byName.get(slug) ?? []), candidate])
  }
  for (const namesakes of byName.values())
    for (const one of namesakes)
      for (const other of namesakes) {
        const [source] = other.found_in
        if (one !== other && source)
          one.variants.push({
            source,
            definition: other.definition,
            differs: differences(one.definition, other.definition),
          })
      }
}

const MAX_NAME = 64

/**
 * A valid name that is not taken in this import. The second server of a name gets its project or its agent as a suffix,
 * then a number.
 */
export function unusedName({ name, definition, found_in }: Candidate, taken: ReadonlySet<string>): string {
  const plain = fitName(name) || nameOfPackage(npxPackage(definition)?.name ?? 'server')
  const [source] = found_in
  const origin = source?.project ? basename(source.project) : (source?.agent_type ?? 'other')
  const suffix = origin.replace(/[^\w.-]+/g, '-').slice(0, 20)
  const numbered = (number: number) => (number === 1 ? suffix : `${suffix}-${number}`)
  for (let number = 0; ; number += 1) {
    const end = number === 0 ? '' : `-${numbered(number)}`
    const candidate = plain.slice(0, MAX_NAME - end.length) + end
    if (!taken.has(slugOf(candidate))) return candidate
  }
}
