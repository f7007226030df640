import { AppError } from '../../kernel/errors.ts'
import { slugOf } from '../../kernel/wire.ts'
import type { Definition } from './snippet-definition.ts'
import { readEntry } from './snippet-entry.ts'
import { noServer, shown, snippetError } from './snippet-error.ts'
import { findServers, type Named } from './snippet-find.ts'
import { deriveName, fitName, nextName } from './snippet-name.ts'
import { readText } from './snippet-text.ts'

/** One server as a snippet names it, in our own words. */
export interface SnippetEntry {
  /** As written in the snippet, unless a note says that it was changed. */
  readonly name: string
  readonly definition: Definition
  /** Sentences for the person: placeholders left in, fields left out, names changed. They never hold a value. */
  readonly notes: readonly string[]
}

/** A server that the snippet names and that cannot be taken over. The reason says what to do. */
export interface RefusedEntry {
  readonly name: string
  readonly reason: string
}

export interface Snippet {
  readonly entries: readonly SnippetEntry[]
  readonly refused: readonly RefusedEntry[]
}

const MAX_ENTRIES = 500
/** As keys of a plain object these three reach what every object inherits. */
const FORBIDDEN_NAMES = new Set(['__proto__', 'constructor', 'prototype'])

/** What people paste from a README: JSON, TOML, command lines, links, with prose and fences around them. */
export function parseSnippet(text: string): Snippet {
  const { found, failed } = readText(text)
  const { entries, refused } = takeOver(found)
  if (entries.length + refused.length === 0) throw failed[0]?.error ?? noServer()
  const unread = failed.map(({ line, error }) => ({ name: `Block at line ${line}`, reason: error.message }))
  return { entries, refused: [...refused, ...unread] }
}

/** The same for JSON that is parsed already. */
export function readSnippet(value: unknown): Snippet {
  const snippet = takeOver(findServers(value))
  if (snippet.entries.length + snippet.refused.length === 0) throw noServer()
  return snippet
}

function takeOver(found: readonly Named[]): Snippet {
  if (found.length > MAX_ENTRIES) {
    const message = `The snippet names more than ${MAX_ENTRIES} servers`
    throw snippetError(message, 'Paste it in parts')
  }
  const entries: SnippetEntry[] = []
  const refused: RefusedEntry[] = []
  const taken = new Map<string, Set<string>>()
  for (const named of found) {
    const result = entryOf(named)
    if ('reason' in result) refused.push(result)
    else addOnce(result, entries, taken)
  }
  return { entries, refused }
}

function entryOf({ name, value, refuse, notes = [] }: Named): SnippetEntry | RefusedEntry {
  const label = name === undefined ? 'Server without a name' : shown(name)
  if (name !== undefined && FORBIDDEN_NAMES.has(name)) {
    return { name: label, reason: 'This name cannot be used; rename the server in the snippet' }
  }
  if (refuse !== undefined) return { name: label, reason: refuse }
  try {
    const entry = readEntry(value)
    const fitting = fitName(name ?? '') || deriveName(entry.definition)
    const changed = name !== undefined && fitting !== name
    const renamed = changed ? [`The name '${label}' does not fit and became '${fitting}'`] : []
    return { name: fitting, definition: entry.definition, notes: [...renamed, ...notes, ...entry.notes] }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { name: label, reason: error.message } // one entry that cannot be read is a finding about that entry
  }
}

/** A README often shows the same server once per agent: an equal one is dropped, another one gets a new name. */
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
  const name = nextName(entry.name, (candidate) => taken.has(slugOf(candidate)))
  taken.set(slugOf(name), new Set([definition]))
  const note = `The snippet has more than one server called '${entry.name}'; this one became '${name}'`
  entries.push({ ...entry, name, notes: [note, ...entry.notes] })
}
