import { itemOf, type Json, type Path, type Step, wrapped } from '../../catalogue/json-value.ts'
import { deletion, eolOf, lineEnd, lineStart, refusal, type Splice } from '../text-edits.ts'
import { addToFlow, startInFlow } from './yaml-flow.ts'
import type { ParsedYaml } from './yaml-parse.ts'
import { isEmpty, type Level } from './yaml-path.ts'
import { type Before, isEmptySpelling } from './yaml-remove.ts'
import { indented, itemLines, pairLines, type Style } from './yaml-render.ts'
import { afterComments, afterLine, columnOf, endOf, indentsIn, insertLines, isFlow } from './yaml-tree.ts'

export interface Added {
  readonly splices: readonly Splice[]
  /** Undefined if only the value itself was added. */
  readonly before: Before | undefined
}

/** Adds the part of the path that does not exist yet, after the last neighbour. */
export function add(parsed: ParsedYaml, levels: readonly Level[], path: Path, value: Json): Added {
  const depth = levels.length - 1
  const level = levels[depth] as Level
  const step = path[depth] as Step
  const inner = wrapped(path.slice(depth + 1), value)
  if (level.isInFlow || (level.node && isFlow(level.node) && !isPlainEmpty(parsed, level))) {
    return inFlow(parsed, level, step, inner, { depth, last: depth === path.length - 1 })
  }
  if (isEmpty(level)) return intoEmpty(parsed, level, step, inner, depth)
  const made = depth < path.length - 1 ? { depth, was: undefined } : undefined
  return { splices: [intoBlock(parsed, levels, step, inner)], before: made }
}

function inFlow(
  { text }: ParsedYaml,
  level: Level,
  step: Step,
  inner: Json,
  at: { depth: number; last: boolean },
): Added {
  if (isEmpty(level)) {
    const { splice, was } = startInFlow(text, level, step, inner)
    return { splices: [splice], before: { depth: at.depth, was } }
  }
  const before = at.last ? undefined : { depth: at.depth, was: undefined }
  return { splices: addToFlow(text, level, step, inner), before }
}

function intoBlock({ text, root }: ParsedYaml, levels: readonly Level[], step: Step, inner: Json): Splice {
  const { items, node, column: above } = levels.at(-1) as Level
  const first = items[0]?.start ?? 0
  const column = columnOf(text, first)
  const last = items.at(-1)
  const end = afterLine(text, last?.end ?? 0)
  // A comment directly below a list that is not indented belongs to the next name.
  const at = afterComments(text, end, Math.max(column, typeof step === 'string' ? 0 : above + 1))
  const style = { unit: 2, list: 2, ...indentsIn(text, root ?? null), ...indentsIn(text, node ?? null) }
  const gap = last?.value && last.after ? gapOf(text, last.after) : 1
  return insertLines(text, at, indented(linesOf(step, inner, style, gap), column))
}

/** The number of spaces after the dashes of a list. */
function gapOf(text: string, after: number): number {
  const gap = /^ {1,7}(?=[^ \r\n#])/.exec(text.slice(after, after + 9))
  return gap ? gap[0].length : 1
}

function linesOf(step: Step, inner: Json, style: Style, gap = 1): string[] {
  return typeof step === 'string' ? pairLines(step, inner, style) : itemLines(itemOf(step, inner), style, gap)
}

/** Into `name:`, `name: ~` or `name: {}`. The old spelling is removed and remembered, and the lines follow below. */
function intoEmpty(parsed: ParsedYaml, level: Level, step: Step, inner: Json, depth: number): Added {
  const { text, root } = parsed
  const style = { unit: 2, list: 2, ...indentsIn(text, root ?? null) }
  const isTop = level.item === undefined
  const by = isTop ? 0 : level.column + (typeof step === 'string' ? style.unit : style.list)
  const lines = indented(linesOf(step, inner, style), by)
  if (isTop && (level.after === undefined || isBelowMarker(text, level)))
    return onOwnLine(parsed, level, lines)
  const after = level.after as number
  const end = level.node ? endOf(level.node) : after
  const was = text.slice(after, end)
  if (!isEmptySpelling(was))
    throw refusal(text, after, 'Move this empty value to the line of its name, or remove it')
  const at = afterComments(text, afterLine(text, end), level.column + 1)
  return {
    splices: [deletion(after, end), insertLines(text, at, lines)],
    before: { depth, was },
  }
}

function isBelowMarker(text: string, { node, after = 0 }: Level): boolean {
  return node !== undefined && text.slice(after, node.range[0]).includes('\n')
}

/** At the top of a file, where the value follows neither a name nor `---`. */
function onOwnLine({ text }: ParsedYaml, { node }: Level, lines: readonly string[]): Added {
  if (!node) {
    const before = { depth: 0, was: '', ownLine: true }
    return { splices: [insertLines(text, afterComments(text, 0, 0), lines)], before }
  }
  const start = lineStart(text, node.range[0])
  const end = lineEnd(text, endOf(node))
  const was = text.slice(start, end)
  if (!isEmptySpelling(was))
    throw refusal(text, node.range[0], 'Move the comment beside this empty value first')
  return {
    splices: [{ start, end, text: lines.join(eolOf(text)) }],
    before: { depth: 0, was, ownLine: true },
  }
}

/** Empty, and no comment inside. */
function isPlainEmpty({ text }: ParsedYaml, level: Level): boolean {
  if (!isEmpty(level)) return false
  return !level.node || !text.slice(level.node.range[0], endOf(level.node)).includes('#')
}
