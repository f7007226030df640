import { PROTOTYPE_NAMES } from '../../../agents/catalogue/json-value.ts'
import { AppError } from '../../../kernel/errors.ts'
import { slugOf } from '../../../kernel/rest-parts.ts'
import { fitName, namesLike } from '../../../servers/shared/definition/server-name.ts'
import type { Definition } from '../../translate/translate-definition-references.ts'
import { readEntry } from './snippet-entry.ts'
import { noServer, shown, snippetError } from './snippet-error.ts'
import { findServers, type Named } from './snippet-find-servers.ts'
import { deriveName } from './snippet-server-name.ts'
import { readText } from './snippet-text.ts'

/** One server from a snippet. */
export interface SnippetEntry {
  /** As in the snippet, or changed with a note. */
  readonly name: string
  /** Whether the snippet has no usable name. Then another one is as good, if it is taken. */
  readonly isNameless: boolean
  readonly definition: Definition
  /** False: it is disabled in the snippet. */
  readonly enabled: boolean
  /** The defaults of inputs, by id. */
  readonly inputs: ReadonlyMap<string, string>
  /** For the user: placeholders, ignored fields, changed names. Never contain a value. */
  readonly notes: readonly string[]
}

export interface Snippet {
  readonly entries: readonly SnippetEntry[]
  /** Servers that cannot be imported. The reason includes what to do. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[]
}

type Refused = Snippet['refused'][number]

const MAX_ENTRIES = 500

/** Parses text from a README: JSON, TOML, command lines and links, with prose and fences around them. */
export function parseSnippet(text: string): Snippet {
  const { found, failed } = readText(text)
  const { entries, refused } = entriesOf(found)
  if (entries.length + refused.length === 0) throw failed[0]?.error ?? noServer()
  const unread = failed.map(({ line, error }) => ({ name: `Block at line ${line}`, reason: error.message }))
  return { entries, refused: [...refused, ...unread] }
}

/** Reads a snippet that is JSON and has been parsed. */
export function readSnippet(value: unknown): Snippet {
  const snippet = entriesOf(findServers(value))
  if (snippet.entries.length + snippet.refused.length === 0) throw noServer()
  return snippet
}

function entriesOf(found: readonly Named[]): Snippet {
  if (found.length > MAX_ENTRIES) {
    const message = `The snippet contains more than ${MAX_ENTRIES} servers`
    throw snippetError(message, 'Paste it in parts')
  }
  const entries: SnippetEntry[] = []
  const refused: Refused[] = []
  const taken = new Map<string, Set<string>>()
  for (const named of found) {
    const result = entryOf(named)
    if ('reason' in result) refused.push(result)
    else addOnce(result, entries, taken)
  }
  return { entries, refused }
}

function entryOf({ name, value, refuse, notes = [], inputs = NO_INPUTS }: Named): SnippetEntry | Refused {
  const label = name === undefined ? 'Server without a name' : shown(name)
  if (name !== undefined && PROTOTYPE_NAMES.includes(name)) {
    return { name: label, reason: 'This name is not allowed; rename the server in the snippet' }
  }
  if (refuse !== undefined) return { name: label, reason: refuse }
  try {
    const entry = readEntry(value)
    const given = fitName(name ?? '')
    const valid = given || deriveName(entry.definition)
    const changed = name !== undefined && valid !== name
    const renamed = changed ? [`The name '${label}' is not valid and was changed to '${valid}'`] : []
    const { definition, enabled } = entry
    const all = [...renamed, ...notes, ...entry.notes]
    return { name: valid, isNameless: given === '', definition, enabled, inputs, notes: all }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { name: label, reason: error.message } // does not affect the other entries
  }
}

const NO_INPUTS: ReadonlyMap<string, string> = new Map()

/** A README often shows the same server once per agent: duplicates are dropped, different ones get a new name. */
function addOnce(entry: SnippetEntry, entries: SnippetEntry[], taken: Map<string, Set<string>>): void {
  const slug = slugOf(entry.name)
  const definition = JSON.stringify(entry.definition)
  const same = taken.get(slug)
  if (same?.has(definition)) return
  if (same === undefined) {
    taken.set(slug, new Set([definition]))
    entries.push(entry)
    return
  }
  same.add(definition)
  const name = firstFree(entry.name, (candidate) => taken.has(slugOf(candidate)))
  taken.set(slugOf(name), new Set([definition]))
  const note = `The snippet contains several servers called '${entry.name}'; this one was renamed to '${name}'`
  entries.push({ ...entry, name, notes: [note, ...entry.notes] })
}

function firstFree(name: string, isTaken: (candidate: string) => boolean): string {
  for (const candidate of namesLike(name)) if (!isTaken(candidate)) return candidate
  return name
}
