import type { ParsedNode } from 'yaml'
import type { Path } from '../../catalogue/json-value.ts'
import type { Trace } from '../format.ts'
import { deletion, insertion, lineStart, nextLine, type Splice } from '../text-edits.ts'
import { parseTrace } from '../verified-format.ts'
import { isAlone, removeFromFlow } from './yaml-flow.ts'
import type { ParsedYaml } from './yaml-parse.ts'
import type { Level } from './yaml-path.ts'
import { afterLine, deleteLines, endOf, endOfLastLine, type Item, isFlow } from './yaml-tree.ts'

interface Removed {
  readonly splices: readonly Splice[]
  /** The removed value, or the container that was created for it and is removed too. */
  readonly target: Level
}

/** Removes the value at the path, and the containers that were created for it if they hold nothing else. */
export function remove(
  { text }: ParsedYaml,
  levels: readonly Level[],
  path: Path,
  before: Before | undefined,
): Removed {
  let depth = path.length - 1
  while (before && depth > before.depth && isAsCreated(text, levels[depth], levels[depth + 1])) depth -= 1
  const above = levels[depth] as Level
  const target = levels[depth + 1] as Level
  const item = target.item as Item
  if (above.items.length > 1) return { target, splices: removeOne(text, above, item) }
  const was = before?.depth === depth ? before : undefined
  if (above.node && isFlow(above.node))
    return { target, splices: emptyFlow(text, above.node, above, item, was) }
  const spelling = was?.was ?? (typeof path[depth] === 'string' ? ' {}' : ' []')
  return { target, splices: emptyBlock(text, above, item, spelling, was) }
}

/** One item in it, and nothing but blanks between its name and that item. */
function isAsCreated(text: string, level: Level | undefined, inner: Level | undefined): boolean {
  if (!level?.node || !inner?.item || level.after === undefined || level.items.length !== 1) return false
  const between = text.slice(level.after, isFlow(level.node) ? level.node.range[0] : inner.item.start)
  if (!/^\s*$/.test(between)) return false
  return !isFlow(level.node) || isAlone(text, level.node, inner.item)
}

function removeOne(text: string, { node, items }: Level, item: Item): Splice[] {
  if (node && isFlow(node)) return removeFromFlow(text, { items }, items.indexOf(item))
  const start = lineStart(text, item.start)
  const end = afterLine(text, item.end)
  if (/^ *$/.test(text.slice(start, item.start))) return [deleteLines(text, start, end)]
  // The item follows a dash on its line, so the next item takes its place there.
  const next = /^ */.exec(text.slice(end, nextLine(text, end)))?.[0].length ?? 0
  return [deletion(item.start, end + next)]
}

function emptyFlow(
  text: string,
  node: ParsedNode,
  { items }: Pick<Level, 'items'>,
  item: Item,
  was: Before | undefined,
): Splice[] {
  if (!isAlone(text, node, item)) return removeFromFlow(text, { items }, 0)
  const spelling = was?.was ?? (text[node.range[0]] === '{' ? '{}' : '[]')
  return [{ start: node.range[0], end: endOf(node), text: spelling }]
}

function emptyBlock(
  text: string,
  above: Level,
  item: Item,
  spelling: string,
  was: Before | undefined,
): Splice[] {
  const start = lineStart(text, item.start)
  const end = afterLine(text, item.end)
  const isTop = above.item === undefined
  if (isTop && (above.after === undefined || !was || was.ownLine)) {
    if (spelling === '') return [deleteLines(text, start, end)]
    const line = was ? spelling : spelling.trim()
    return [{ start, end: endOfLastLine(text, item.end), text: line }]
  }
  if (!/^ *$/.test(text.slice(start, item.start)))
    return [{ start: item.start, end: endOfLastLine(text, item.end), text: spelling.trim() }]
  return [insertion(above.after as number, spelling), deleteLines(text, start, end)]
}

/** The state of the file before the first value was added. */
export interface Before {
  /** How many steps of the path existed. The others were created. */
  readonly depth: number
  /** How the empty value was written, from the end of its name on. Undefined if it was not empty. */
  readonly was: string | undefined
  /** The empty value was at the top of the file, on lines of its own. */
  readonly ownLine?: boolean
}

const EMPTY = /^[ \t]*(?:\{\s*\}|\[\s*\]|~|null|Null|NULL)?[ \t]*$/

export function isEmptySpelling(text: string): boolean {
  return EMPTY.test(text)
}

export function writeTrace(before: Before): Trace {
  return JSON.stringify(before)
}

/** Undefined for a trace that is damaged or from another format. */
export function readTrace(trace: Trace | undefined): Before | undefined {
  const { depth, was, ownLine } = (trace === undefined ? undefined : parseTrace(trace)) ?? {}
  if (!Number.isInteger(depth)) return undefined
  if (was !== undefined && (typeof was !== 'string' || !isEmptySpelling(was))) return undefined
  return { depth: depth as number, was, ownLine: ownLine === true }
}
