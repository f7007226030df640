import type { ParsedNode } from 'yaml'
import type { Json, Path } from '../format.ts'
import { isAlone, removeFromFlow } from './flow-collections.ts'
import { behindLine, deleteLines, lineEnd, lineStart, nextLine, type Splice } from './lines.ts'
import type { Parsed } from './parse.ts'
import type { Level } from './path.ts'
import { type Before, meaningOf } from './trace.ts'
import { endOf, type Item, isFlow } from './tree.ts'

export interface Removed {
  readonly splices: readonly Splice[]
  /** What is taken out: the path or, when more had been made, a shorter one. */
  readonly path: Path
  /** What stays where the last thing was taken out; undefined when that is a map or list without it. */
  readonly emptied: Json | undefined
}

/** Takes out what the path leads to; and with it what was made for it, when nobody has put anything there since. */
export function remove(
  { text }: Parsed,
  levels: readonly Level[],
  path: Path,
  before: Before | undefined,
): Removed {
  let depth = path.length - 1
  while (before && depth > before.depth && isAsMade(text, levels[depth], levels[depth + 1])) depth -= 1
  const above = levels[depth] as Level
  const item = levels[depth + 1]?.item as Item
  const taken = { path: path.slice(0, depth + 1), emptied: undefined }
  if (above.items.length > 1) return { ...taken, splices: removeOne(text, above, item) }
  const was = before?.depth === depth ? before : undefined
  if (above.node && isFlow(above.node)) return { ...taken, ...emptyFlow(text, above.node, above, item, was) }
  const spelling = was?.was ?? (typeof path[depth] === 'string' ? ' {}' : ' []')
  const emptied = meaningOf(spelling)
  return { ...taken, emptied, splices: emptyBlock(text, above, item, spelling, was) }
}

/** One thing in it, and between its name and that thing only what we write ourselves. */
function isAsMade(text: string, level: Level | undefined, inner: Level | undefined): boolean {
  if (!level?.node || !inner?.item || level.after === undefined || level.items.length !== 1) return false
  const between = text.slice(level.after, isFlow(level.node) ? level.node.range[0] : inner.item.start)
  if (!/^\s*$/.test(between)) return false
  return !isFlow(level.node) || isAlone(text, level.node, inner.item)
}

function removeOne(text: string, { node, items }: Level, item: Item): Splice[] {
  if (node && isFlow(node)) return removeFromFlow(text, { items }, items.indexOf(item))
  const from = lineStart(text, item.start)
  const end = behindLine(text, item.end)
  if (/^ *$/.test(text.slice(from, item.start))) return [deleteLines(text, from, end)]
  // It stands behind a dash, so that the next one has to take its place there.
  const next = /^ */.exec(text.slice(end, nextLine(text, end)))?.[0].length ?? 0
  return [{ from: item.start, to: end + next, text: '' }]
}

function emptyFlow(
  text: string,
  node: ParsedNode,
  { items }: Pick<Level, 'items'>,
  item: Item,
  was: Before | undefined,
): Pick<Removed, 'splices' | 'emptied'> {
  if (!isAlone(text, node, item)) {
    return { splices: removeFromFlow(text, { items }, 0), emptied: undefined }
  }
  const spelling = was?.was ?? (text[node.range[0]] === '{' ? '{}' : '[]')
  const splices = [{ from: node.range[0], to: endOf(node), text: spelling }]
  return { splices, emptied: meaningOf(spelling) }
}

function emptyBlock(
  text: string,
  above: Level,
  item: Item,
  spelling: string,
  was: Before | undefined,
): Splice[] {
  const from = lineStart(text, item.start)
  const end = behindLine(text, item.end)
  const isTop = above.item === undefined
  if (isTop && (above.after === undefined || !was || was.ownLine)) {
    if (spelling === '') return [deleteLines(text, from, end)]
    const line = was ? spelling : spelling.trim()
    return [{ from, to: endsWithLine(text, item.end), text: line }]
  }
  if (!/^ *$/.test(text.slice(from, item.start))) {
    return [{ from: item.start, to: endsWithLine(text, item.end), text: spelling.trim() }]
  }
  const after = above.after as number
  return [{ from: after, to: after, text: spelling }, deleteLines(text, from, end)]
}

/** The end of its last line without the line end. */
function endsWithLine(text: string, end: number): number {
  if (text[end - 1] !== '\n') return lineEnd(text, end)
  return end - (text[end - 2] === '\r' ? 2 : 1)
}
