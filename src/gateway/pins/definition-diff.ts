import { type Change, compare } from '../../kernel/compare.ts'
import { pointer } from '../../kernel/errors.ts'
import { sorted } from '../../kernel/json/sorted.ts'
import type { ToolDiff } from '../../kernel/tool-fields.ts'
import type { Definition } from '../../mcp/protocol/lists.ts'

interface ChangedTool {
  readonly tool: string
  /** The approved definition. */
  readonly before: Definition
  /** The current definition. */
  readonly after: Definition
}

export const MAX_TOOLS = 50
const MAX_FIELDS = 20
/** Of all diffs together, because they are sent in one frame of the live stream and in one log line. */
const MAX_CHARACTERS = 40_000
/** The JSON around each word and field. */
const JSON_OVERHEAD = 30
const MAX_DEPTH = 32
/** Limits the time for a server that changes all its tools ten times a second: later fields compare fewer words. */
const FULLY_COMPARED_FIELDS = 20
const MAX_LATER_WORDS = 150

/** The differences in each field of each tool, word by word, within the limits above. */
export function diffsOf(tools: readonly ChangedTool[]): ToolDiff[] {
  const diffs: ToolDiff[] = []
  let room = MAX_CHARACTERS
  for (const { tool, before, after } of tools.slice(0, MAX_TOOLS)) {
    for (const { field, old, now } of fieldsOf(before, after, '', 0).slice(0, MAX_FIELDS)) {
      const words = wordDiff(old, now, diffs.length < FULLY_COMPARED_FIELDS ? undefined : MAX_LATER_WORDS)
      room -= tool.length + field.length + JSON_OVERHEAD
      for (const { text } of words) room -= text.length + JSON_OVERHEAD
      if (room < 0) return diffs
      diffs.push({ tool, field, words })
    }
  }
  return diffs
}

interface ChangedField {
  readonly field: string
  readonly old: string
  readonly now: string
}

/** The innermost fields that differ. The order of keys makes no difference. */
function fieldsOf(before: unknown, after: unknown, field: string, depth: number): ChangedField[] {
  const keys = depth < MAX_DEPTH ? commonKeys(before, after) : undefined
  if (keys)
    return keys.flatMap((key) =>
      fieldsOf(memberOf(before, key), memberOf(after, key), `${field}/${visible(pointer(key))}`, depth + 1),
    )
  const [old, now] = textsOf(before, after)
  return old === now ? [] : [{ field, old, now }]
}

/** The keys of two objects, or of two arrays of the same length. Undefined for values that are compared as text. */
function commonKeys(before: unknown, after: unknown): string[] | undefined {
  if (typeof before !== 'object' || typeof after !== 'object' || !before || !after) return undefined
  if (Array.isArray(before) !== Array.isArray(after)) return undefined
  if (Array.isArray(before) && before.length !== (after as unknown[]).length) return undefined
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
}

const memberOf = (value: unknown, key: string): unknown =>
  Object.hasOwn(value as object, key) ? (value as Record<string, unknown>)[key] : undefined

/** Two strings unchanged, other values as JSON, a missing value as an empty string. */
function textsOf(before: unknown, after: unknown): [string, string] {
  const areStrings = [before, after].every((value) => typeof value === 'string' || value === undefined)
  const isPlain = areStrings && before !== '' && after !== ''
  const textOf = (value: unknown) =>
    value === undefined ? '' : isPlain ? String(value) : JSON.stringify(sorted(value))
  return [textOf(before), textOf(after)]
}

export interface Word {
  readonly op: Change['kind']
  readonly text: string
}

/** Characters of unchanged text that are shown beside a change. */
const NEAR = 60
const LONGEST_RUN = 900
const LONGEST = 2000
/** Characters that are compared. */
const COMPARED = 8000
const MOST_WORDS = 1000

/**
 * The word diff of two texts, in at most 2,000 characters. An ellipsis marks text that is left out, and invisible
 * characters are escaped. If more than `most` words differ, they are shown as one replacement.
 */
export function wordDiff(before: string, after: string, most = MOST_WORDS): Word[] {
  if (before === after) return []
  const [old, now] = narrowed(before, after).map(visible) as [string, string]
  // A text that contained the escape and now contains the character itself looks the same on both sides.
  const changes =
    old === now
      ? [replaced('removed', old), replaced('added', now)]
      : compare(wordsOf(old), wordsOf(now), most)
  const runs = joined(changes)
  return bounded(runs.map((run, index) => shortened(run, index === 0, index === runs.length - 1)))
}

const wordsOf = (text: string): string[] =>
  text.match(/\s+|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu) ?? []

/** Escapes as `\u{200B}` what has no width, changes the writing direction, or only looks like a space. */
export const visible = (text: string): string =>
  text.replace(
    /(?![\t\n ])[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}]/gu,
    (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`,
  )

const replaced = (kind: Change['kind'], text: string): Change => ({ kind, text })

/** The part that differs, with some context: a text may have millions of characters. */
function narrowed(before: string, after: string): [string, string] {
  let head = 0
  while (head < before.length && before[head] === after[head]) head += 1
  let tail = 0
  const rest = Math.min(before.length, after.length) - head
  while (tail < rest && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1
  const [from, beyond] = [Math.max(0, head - 2 * NEAR), Math.max(0, tail - 2 * NEAR)]
  const part = (text: string) => {
    const end = text.length - beyond
    const middle = slice(text, from, Math.min(end, from + COMPARED))
    return `${from > 0 ? '…' : ''}${middle}${beyond > 0 || end > from + COMPARED ? '…' : ''}`
  }
  return [part(before), part(after)]
}

/** Joins adjacent words of one kind. */
function joined(changes: readonly Change[]): Word[] {
  const runs: { op: Change['kind']; text: string }[] = []
  for (const { kind, text } of changes) {
    const last = runs.at(-1)
    if (last?.op === kind) last.text += text
    else runs.push({ op: kind, text })
  }
  return runs
}

function shortened({ op, text }: Word, isFirst: boolean, isLast: boolean): Word {
  if (op !== 'same') return { op, text: text.length > LONGEST_RUN ? `${slice(text, 0, LONGEST_RUN)}…` : text }
  if (text.length <= 2 * NEAR) return { op, text }
  const head = isFirst ? '' : slice(text, 0, NEAR)
  const tail = isLast ? '' : slice(text, text.length - NEAR, text.length)
  return { op, text: `${head}…${tail}` }
}

function bounded(runs: readonly Word[]): Word[] {
  const kept: Word[] = []
  let room = LONGEST
  for (const { op, text } of runs) {
    if (text.length >= room) {
      kept.push({ op, text: `${slice(text, 0, room - 1)}…` })
      break
    }
    room -= text.length
    kept.push({ op, text })
  }
  return kept
}

/** Like `slice`, but never splits a surrogate pair. */
function slice(text: string, from: number, to: number): string {
  const isTorn = (at: number) => /^[\uDC00-\uDFFF]$/.test(text[at] ?? '')
  return text.slice(isTorn(from) ? from - 1 : from, isTorn(to) ? to - 1 : to)
}
