import { pointer } from '../../kernel/errors.ts'
import { sorted } from '../../kernel/json/sorted-keys.ts'
import type { ToolDiff } from '../../kernel/tool-fields.ts'
import type { Definition } from '../../mcp/protocol/listed-definitions.ts'
import { visible, wordDiff } from './word-diff.ts'

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
