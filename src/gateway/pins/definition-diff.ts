import { pointer } from '../../kernel/errors.ts'
import type { ToolDiff } from '../../kernel/tool-fields.ts'
import type { Definition } from '../../protocol/lists.ts'
import { sorted } from '../../upstreams/definition-hash.ts'
import { visible, wordDiff } from './word-diff.ts'

/** A tool as it was approved, and as it is offered now. */
interface ChangedTool {
  readonly tool: string
  readonly before: Definition
  readonly after: Definition
}

export const MOST_TOOLS = 50
const MOST_FIELDS = 20
/** All together: it travels as one frame of the live stream, and in one line of the log. */
const MOST_CHARACTERS = 40_000
/** What JSON puts around a word. */
const AROUND = 30
const DEEPEST = 32
/** Comparing word by word takes time, and a server can change all its tools ten times a second. */
const WORD_BY_WORD = 20
const FEW_WORDS = 150

/** What is another in each field of each tool, word by word, as much as a person can read. */
export function diffsOf(tools: readonly ChangedTool[]): ToolDiff[] {
  const diffs: ToolDiff[] = []
  let room = MOST_CHARACTERS
  for (const { tool, before, after } of tools.slice(0, MOST_TOOLS)) {
    for (const { field, old, now } of fieldsOf(before, after, '', 0).slice(0, MOST_FIELDS)) {
      const words = wordDiff(old, now, diffs.length < WORD_BY_WORD ? undefined : FEW_WORDS)
      room -= words.reduce((sum, { text }) => sum + text.length + AROUND, tool.length + field.length + AROUND)
      if (room < 0) return diffs
      diffs.push({ tool, field, words })
    }
  }
  return diffs
}

interface Field {
  readonly field: string
  readonly old: string
  readonly now: string
}

/** The innermost places that differ. The order of keys is none of them. */
function fieldsOf(before: unknown, after: unknown, field: string, depth: number): Field[] {
  const steps = depth < DEEPEST ? stepsInto(before, after) : undefined
  if (steps)
    return steps.flatMap((step) =>
      fieldsOf(at(before, step), at(after, step), `${field}/${visible(pointer(step))}`, depth + 1),
    )
  const [old, now] = textsOf(before, after)
  return old === now ? [] : [{ field, old, now }]
}

/** Undefined when the two are to be compared as texts. */
function stepsInto(before: unknown, after: unknown): string[] | undefined {
  if (typeof before !== 'object' || typeof after !== 'object' || !before || !after) return undefined
  if (Array.isArray(before) !== Array.isArray(after)) return undefined
  if (Array.isArray(before) && before.length !== (after as unknown[]).length) return undefined
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
}

const at = (value: unknown, step: string): unknown =>
  Object.hasOwn(value as object, step) ? (value as Record<string, unknown>)[step] : undefined

/** Texts as they are, everything else as JSON, and what is not there as nothing. */
function textsOf(before: unknown, after: unknown): [string, string] {
  const areTexts = [before, after].every((value) => typeof value === 'string' || value === undefined)
  const isPlain = areTexts && before !== '' && after !== ''
  const textOf = (value: unknown) =>
    value === undefined ? '' : isPlain ? String(value) : JSON.stringify(sorted(value))
  return [textOf(before), textOf(after)]
}
