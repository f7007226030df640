import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS, findCommand, subcommandsOf } from '../commands/all-commands.ts'
import { type Command, type Flag, flagsOf, type Kind, type Word } from '../run/command.ts'

const FRESH_MS = 10_000
const NONE: Names = { lists: {}, tools: {} }

/** What can be named, by kind. Tools are by server. */
export interface Names {
  readonly lists: Partial<Record<Kind, readonly string[]>>
  readonly tools: Readonly<Record<string, readonly string[]>>
}

/** What the word that is being typed can become, after these words. */
export function candidates(current: string, before: readonly string[], names: Names): string[] {
  const wanted = current.toLowerCase()
  return [...new Set(possible(current, before, names))].filter((one) => one.toLowerCase().startsWith(wanted))
}

function possible(current: string, before: readonly string[], names: Names): readonly string[] {
  const found = findCommand(before)
  const seconds = before.length === 1 ? subcommandsOf(before[0] ?? '') : []
  if (!found) return before.length === 0 ? COMMANDS.map(({ name }) => name.split(' ')[0] ?? '') : seconds
  const { command, words } = found
  if (words.includes('--')) return []
  const flags = flagsOf(command)
  const open = flagNamed(flags, words.at(-1))
  const given = words.filter(
    (word, at) => !word.startsWith('-') && flagNamed(flags, words[at - 1])?.value === undefined,
  )
  if (open?.kind === 'tool') return valuesOf(open, given, names)
  if (open?.value !== undefined) return inList(current, valuesOf(open, [], names))
  if (current.startsWith('-')) return [...Object.keys(flags), 'help'].map((name) => `--${name}`)
  const word = wordAt(command, given.length)
  return [...seconds, ...(word ? valuesOf(word, given, names) : [])]
}

const wordAt = ({ words = [] }: Command, at: number): Word | undefined =>
  words[at] ?? (words.at(-1)?.many ? words.at(-1) : undefined)

function flagNamed(flags: Readonly<Record<string, Flag>>, text = ''): Flag | undefined {
  if (text.startsWith('--')) return flags[text.slice(2)]
  return Object.values(flags).find(({ short }) => short !== undefined && text === `-${short}`)
}

function valuesOf({ oneOf, kind }: Word | Flag, given: readonly string[], names: Names): readonly string[] {
  if (oneOf) return oneOf
  if (kind === 'tool') return names.tools[given[0] ?? ''] ?? []
  return kind === undefined ? [] : (names.lists[kind] ?? [])
}

/** `cursor,cl` continues with a name after the last comma. */
function inList(current: string, values: readonly string[]): string[] {
  const head = current.slice(0, current.lastIndexOf(',') + 1)
  return values.map((value) => head + value)
}

export const cacheFile = (dataFolder: string): string => join(dataFolder, 'completions.json')

/** The names from the last time that the service was asked. */
export function cachedNames(dataFolder: string): { names: Names; isFresh: boolean } {
  const file = cacheFile(dataFolder)
  try {
    const names = JSON.parse(readFileSync(file, 'utf8')) as Names
    return { names, isFresh: Date.now() - statSync(file).mtimeMs < FRESH_MS }
  } catch {
    return { names: NONE, isFresh: false } // never asked
  }
}
