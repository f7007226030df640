import type { Agent } from '../../../agents/catalogue/agent-record.ts'
import { formsOf } from '../../../agents/catalogue/agent-reference-syntax.ts'
import { isMap, type Json, type JsonMap, valueAt } from '../../../agents/catalogue/json-value.ts'
import type { Definition } from '../../../agents/catalogue/server-definition.ts'
import type { Entry } from '../../../agents/read/read-entries.ts'
import { inputDefaults, withForwarded } from '../../translate/forwarded-variables.ts'
import { importNotes, translateDefinition } from '../../translate/translate-definition-references.ts'
import type { Surroundings } from '../../translate/translate-references.ts'

/** The file in which an entry was found. */
interface EntryFile {
  readonly agent: Agent
  /** The parsed file. */
  readonly root: Json | undefined
  /** Null for a file of the user. */
  readonly project: string | null
}

/** An entry as Toolroom would register it, or why it cannot. */
export interface ImportedEntry {
  readonly definition: Definition | null
  readonly enabled: boolean
  readonly notes: readonly string[]
  readonly problem: string | null
  /** Fields that were not imported, although they may change what the server does. */
  readonly lost: readonly string[]
}

/** Everything in the entry is kept, translated, or named in a note. */
export function importEntry(
  entry: Entry,
  file: EntryFile,
  { home, isOwnSetting }: Surroundings,
): ImportedEntry {
  const enabled = entry.enabled ?? true
  const { definition } = entry
  if (!definition) {
    const problem = entry.problem ?? 'The entry has neither a command nor a URL'
    return { definition, enabled, notes: [], problem, lost: [] }
  }
  const { agent, root, project } = file
  const inputs = inputDefaults(valueAt(root, ['inputs']))
  const translated = translateDefinition(inProject(definition, project), (field) => ({
    forms: formsOf(agent, field),
    home,
    project: project ?? undefined,
    inputs,
    isOwnSetting,
  }))
  const value = isMap(entry.value) ? entry.value : {}
  const { definition: complete, fields } = withForwarded(translated.definition, value)
  const dropped = droppedFields(agent, complete.type, value).filter((field) => !fields.includes(field))
  const notes = [
    ...(entry.problem === null ? [] : [entry.problem]),
    ...translated.notes,
    ...importNotes(complete),
    ...(dropped.length > 0 ? [`Fields without a counterpart are not imported: ${dropped.join(', ')}`] : []),
    ...(enabled ? [] : [`It is disabled in ${agent.name}, and stays off`]),
    ...(complete.type === 'stdio' && project !== null && complete.cwd === project
      ? [`It works in the folder of its project, so cwd is ${project}`]
      : []),
  ]
  const lost = dropped.filter((field) => !HARMLESS.test(field))
  return { definition: complete, enabled, notes, problem: translated.problem ?? null, lost }
}

const PACKAGE_RUNNER = /(?:^|[\\/])(?:npx|pnpx|bunx|uvx|dnx)(?:\.exe|\.cmd)?$/
const CONTAINER = /(?:^|[\\/])(?:docker|podman)(?:\.exe)?$/
const DOTTED = /^\.{1,2}(?:[\\/]|$)/
/** `src/docs`, but not `@scope/package`, a URL or an absolute path. */
const RELATIVE = /^(?!@)[^-/\\:][^/\\:]*[\\/]/

/** An agent starts the servers of a project in its folder. That matters unless a package runs without relative paths. */
function inProject(definition: Definition, project: string | null): Definition {
  if (definition.type !== 'stdio' || definition.cwd !== null || project === null) return definition
  const { command, args, env } = definition
  const texts = [...args, ...Object.values(env)]
  const isDotted = texts.some((text) => DOTTED.test(text))
  const isFree =
    (CONTAINER.test(command) && !isDotted) ||
    (PACKAGE_RUNNER.test(command) && !isDotted && !texts.some((text) => RELATIVE.test(text)))
  return isFree ? definition : { ...definition, cwd: project }
}

/** Fields that only concern the agent: how long it waits, what it shows, and whom it asks. */
const HARMLESS =
  /timeout|^(?:description|displayName|title|icon|gallery|version|trust|autoApprove|alwaysAllow|notes?|comment)$/i

/** Fields that say what the definition says anyway. */
const IMPLIED = ['name', 'type', 'source', 'enabled', 'disabled']

/** The fields of an entry that are neither part of the definition nor implied by it. */
function droppedFields(agent: Agent, type: Definition['type'], value: JsonMap): string[] {
  const { disabled, nested, typeField } = agent
  const known = new Set<string | undefined>([...IMPLIED, typeField ?? undefined, nested?.field])
  const like = agent[type] ?? agent.http ?? agent.stdio
  for (const field of Object.keys(like.entry)) known.add(field)
  for (const names of Object.values(like.aliases)) for (const name of names) known.add(name)
  if (disabled.kind === 'entry-flag')
    for (const flag of [disabled, ...disabled.elsewhere]) known.add(flag.field)
  const empty = (field: string) => {
    const given = value[field]
    return given === null || (Array.isArray(given) && given.length === 0)
  }
  return Object.keys(value).filter((field) => !known.has(field) && !empty(field))
}
