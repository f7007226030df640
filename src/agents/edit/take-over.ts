import { AppError } from '../../kernel/errors.ts'
import type { Reference } from '../../kernel/secrets/references.ts'
import type { ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { fileAt, PROJECT } from '../catalogue/agent-catalogue.ts'
import type { Agent } from '../catalogue/agent-record.ts'
import { GATEWAY_ENTRY, readGatewayEntry } from '../catalogue/gateway-entry.ts'
import {
  hashOf,
  isMap,
  isSame,
  type Json,
  type Path,
  valueAt,
  withoutEmpty,
  withValue,
} from '../catalogue/json-value.ts'
import type { Definition, RegisteredServer } from '../catalogue/server-definition.ts'
import { applyPatch, isFor, patchOf } from '../diff/text-patch.ts'
import type { TakenEntry, TakenOver } from '../files/ownership-store.ts'
import { applyOperations, formatOf, type Operation } from '../formats/apply-operations.ts'
import { CannotEdit } from '../formats/format.ts'
import { type Entry, entriesUnder } from '../read/read-entries.ts'
import { lacksValue, registeredVariant, type SecretOf } from '../read/server-identity.ts'
import type { DesiredEntry } from './desired-entry.ts'
import { type CurrentConfig, Draft, type Plan } from './entry-plan.ts'

/** Adds to a plan that these entries leave the file until the gateway entry does. */
export function takeOver(
  { config }: ConfigTarget,
  plan: Plan,
  { owned }: CurrentConfig,
  offered: readonly OfferedEntry[],
): Plan {
  const gone = new Set(plan.removed)
  const taken = offered
    .filter(({ entry, scope }) => scope !== config.scope || !gone.has(entry.name))
    .map(({ entry: { name, path, value }, scope, server_id }): TakenEntry => {
      const isOurs = scope === config.scope && Object.hasOwn(owned, name)
      return { name, scope, server_id, path, value, owned: (isOurs ? owned[name] : null) ?? null }
    })
  const ours = new Set(taken.flatMap((entry) => (entry.owned ? [entry.name] : [])))
  return {
    ...plan,
    gatewayOperations: [...plan.gatewayOperations, ...taken.map(({ path }) => ({ path, value: undefined }))],
    entries: Object.fromEntries(Object.entries(plan.entries).filter(([name]) => !ours.has(name))),
    taken: [...plan.taken.filter((before) => !taken.some(({ path }) => isAt(path, before.path))), ...taken],
    takenNow: taken.map(({ name }) => name),
  }
}

/** An entry of the agent, and the one that takes its place. */
interface Replacement {
  readonly entry: Entry
  readonly by: DesiredEntry
}

/** Each entry leads to one server at the gateway, under its old name. Those that do so already get the new key. */
export function planReplace(
  target: ConfigTarget,
  current: CurrentConfig,
  replacements: readonly Replacement[],
): Plan {
  const draft = new Draft(target, current)
  const isNew = ({ entry }: Replacement) => !readGatewayEntry(entry.definition)
  for (const { entry, by } of replacements.filter(isNew)) draft.take(entry, by.server_id ?? entry.name)
  for (const { entry, by } of replacements) draft.lead(entry, by)
  return { ...draft.plan, takenNow: replacements.filter(isNew).map(({ entry }) => entry.name) }
}

/** Adds to a plan which tools the agent gets twice, because its own entries stay. */
export function warnOfDoubled(
  { agent }: ConfigTarget,
  plan: Plan,
  offered: readonly OfferedEntry[],
  toolsOf: (serverId: string) => readonly string[],
): Plan {
  const doubled = offered.map(({ entry: { name }, server_id }) => {
    return { name, server_id, tools: toolsOf(server_id) }
  })
  const warnings = doubled.map(
    ({ name, tools }) =>
      `${agent.name} gets ${tools.length === 0 ? 'the' : tools.length} tools of '${name}' twice: from its own entry and from the gateway. Send "take_over": true to park the entry`,
  )
  return { ...plan, doubled, warnings: [...plan.warnings, ...warnings] }
}

/** A text, and what is remembered to edit it. */
interface Original {
  readonly text: string
  readonly trace: string | null
  readonly madeFile: boolean
}

/**
 * The file after the change, but without the gateway entry and with the entries that it replaces; undefined if its bytes
 * are not known, because another program has changed that part.
 */
export function originalAfter(
  target: ConfigTarget,
  current: CurrentConfig,
  operations: readonly Operation[],
): Original | undefined {
  const text = current.content?.text ?? ''
  const taken = current.record?.taken_over
  const before = taken ? withTaken(target, current, text, taken) : withoutGateway(target, current, text)
  if (!before) return undefined
  const edited = edit(target, before.text, operations, before.trace)
  return edited && { ...edited, madeFile: before.madeFile }
}

export function takenOver({ taken }: Plan, text: string, original: Original | undefined): TakenOver {
  const { trace, madeFile: made_file } = original ?? { trace: null, madeFile: false }
  return { entries: taken, patch: original ? patchOf(text, original.text) : null, trace, made_file }
}

function withoutGateway(
  target: ConfigTarget,
  { entries, record }: CurrentConfig,
  text: string,
): Original | undefined {
  const removal = gatewayIn(entries).map(({ path }) => ({ path, value: undefined }))
  const edited = edit(target, text, removal, record?.trace ?? null)
  return edited && { ...edited, madeFile: record?.made_file ?? false }
}

function withTaken(
  target: ConfigTarget,
  current: CurrentConfig,
  text: string,
  { entries, patch, trace, made_file }: TakenOver,
): Original | undefined {
  const isBack = ({ path, replaced }: TakenEntry) => !replaced && valueAt(current.root, path) !== undefined
  if (!patch || entries.some(isBack)) return undefined
  const original = applyPatch(text, patch)
  if (original === undefined) return undefined
  if (!isFor(patch, text) && !isIntended(target, current, original, entries)) return undefined
  return { text: original, trace, madeFile: made_file }
}

/** Whether only the gateway entry and these entries differ, by both parsers. */
function isIntended(
  { config }: ConfigTarget,
  { root, entries }: CurrentConfig,
  text: string,
  taken: readonly TakenEntry[],
): boolean {
  const [gateway] = gatewayIn(entries)
  const relevant = (json: Json | undefined) =>
    gateway ? withoutEmpty(json, gateway.path.slice(0, -1)) : json
  const without = gateway ? withValue(root, gateway.path, undefined) : root
  const intended = taken.reduce((json, { path, value }) => withValue(json, path, value), without)
  const format = formatOf(config.format, config.dialect)
  try {
    const readings = [format.read(text), format.readAgain(text)]
    return readings.every((json) => isSame(relevant(json), relevant(intended)))
  } catch (error) {
    if (error instanceof CannotEdit) return false
    throw error
  }
}

/** Undefined if the text cannot be edited: then its bytes are not known. */
function edit(
  { config: { path, format, dialect } }: ConfigTarget,
  text: string,
  operations: readonly Operation[],
  trace: string | null,
): { readonly text: string; readonly trace: string | null } | undefined {
  try {
    const edited = applyOperations(formatOf(format, dialect), path, text, operations, trace ?? undefined)
    return { text: edited.text, trace: edited.trace ?? null }
  } catch (error) {
    if (error instanceof AppError && error.code === 'config_unparsable') return undefined
    throw error
  }
}

const isAt = (one: Path, other: Path): boolean => JSON.stringify(one) === JSON.stringify(other)

const gatewayIn = (entries: readonly Entry[]): Entry[] => entries.filter(({ name }) => name === GATEWAY_ENTRY)

/** An entry of the agent's own whose server it reaches through the gateway, too. */
export interface OfferedEntry {
  readonly entry: Entry
  readonly scope: string
  readonly server_id: string
}

/** How an entry is compared with registered servers. */
export interface EntryServers {
  readonly registered: readonly RegisteredServer[]
  readonly secretOf: SecretOf
  /** Toolroom has a value for it. */
  readonly isSet: (reference: Reference) => boolean
  /** An entry as an import would register it; null if it cannot. */
  readonly asImported: (
    entry: Entry,
    file: { readonly agent: Agent; readonly root: Json | undefined; readonly project: string | null },
  ) => Definition | null
}

/**
 * The entries whose servers are registered with the same values. Those that the agent has disabled are left out, because
 * it does not use them; and those of single projects, unless it has the server everywhere.
 */
export function offeredEntries(
  target: ConfigTarget,
  current: CurrentConfig,
  { registered, secretOf, isSet, asImported }: EntryServers,
): OfferedEntry[] {
  const { agent, config, project = null } = target
  const serverOf = (entry: Entry, its: string | null) => {
    const imported = asImported(entry, { agent, root: current.root, project: its })
    const found = registeredVariant(imported, registered, secretOf)
    // The agent has a secret or a variable that Toolroom does not have yet.
    return found && lacksValue(found.definition, isSet) ? undefined : found?.id
  }
  const own = usedEntries(current).flatMap((entry): OfferedEntry[] => {
    const owned = Object.hasOwn(current.owned, entry.name) ? current.owned[entry.name] : undefined
    const isOurs = owned !== undefined && !owned.accepted && hashOf(entry.value) === owned.hash
    const id = (isOurs ? owned.server_id : null) ?? serverOf(entry, project)
    return id === undefined ? [] : [{ entry, scope: config.scope, server_id: id }]
  })
  const everywhere = new Set(own.map(({ server_id }) => server_id))
  const ofProjects = projectEntries(target, current).flatMap(({ entry, scope, project: its }) => {
    const id = entry.enabled === false ? undefined : serverOf(entry, its)
    return id !== undefined && everywhere.has(id) ? [{ entry, scope, server_id: id }] : []
  })
  return [...own, ...ofProjects]
}

/** The entries of a file that its agent uses, beside the one that leads to the gateway. */
export const usedEntries = ({ entries }: CurrentConfig): Entry[] =>
  entries.filter(({ name, enabled }) => enabled !== false && name !== GATEWAY_ENTRY)

interface ProjectEntry {
  readonly entry: Entry
  readonly scope: string
  readonly project: string
}

/** Entries for single projects that the agent keeps in the user's file. */
function projectEntries(target: ConfigTarget, { root }: CurrentConfig): ProjectEntry[] {
  const { agent, config, platform } = target
  if (config.scope !== 'user') return []
  return agent.scopes.flatMap(({ scope, keyPath, ...file }) => {
    const at = keyPath?.indexOf(PROJECT) ?? -1
    if (!keyPath || at === -1 || fileAt(file, platform, undefined)?.path !== config.path) return []
    const projects = valueAt(root, keyPath.slice(0, at))
    return Object.keys(isMap(projects) ? projects : {}).flatMap((project) => {
      const path = keyPath.map((name) => (name === PROJECT ? project : name))
      return entriesUnder(agent, { ...config, scope, keyPath: path }, root).map((entry) => ({
        entry,
        scope,
        project,
      }))
    })
  })
}
