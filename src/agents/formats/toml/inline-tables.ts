import { deletion, insertion, type Splice } from '../text.ts'
import type { InlineTable, Pair } from './model.ts'

/** Edits inside `{ … }`. TOML 1.0 allows no comments, line ends or trailing comma there. */

export function addInlinePair(inline: InlineTable, pair: string): Splice {
  const last = inline.pairs.at(-1)
  if (last === undefined) return { start: inline.start + 1, end: inline.end - 1, text: ` ${pair} ` }
  return insertion(last.value.end, `, ${pair}`)
}

export function removeInlinePairs(inline: InlineTable, removed: readonly Pair[]): Splice[] {
  const isRemoved = new Set(removed)
  const kept = inline.pairs.findIndex((pair) => !isRemoved.has(pair))
  const firstKept = inline.pairs[kept]
  if (firstKept === undefined) return [deletion(inline.start + 1, inline.end - 1)]
  const splices: Splice[] = []
  const first = inline.pairs[0]
  if (first !== undefined && kept > 0) splices.push(deletion(first.start, firstKept.start))
  for (const [index, pair] of inline.pairs.entries()) {
    const before = inline.pairs[index - 1]
    if (index < kept || before === undefined || !isRemoved.has(pair)) continue
    splices.push(deletion(before.value.end, pair.value.end))
  }
  return splices
}
