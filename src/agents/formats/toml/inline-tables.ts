import type { Splice } from './lines.ts'
import type { InlineTable, Pair } from './model.ts'

/** Edits inside `{ ... }`, which TOML 1.0 keeps free of comments, line ends and a last comma. */

export function addInlinePair(inline: InlineTable, pair: string): Splice {
  const last = inline.pairs.at(-1)
  if (last === undefined) return { start: inline.start + 1, end: inline.end - 1, text: ` ${pair} ` }
  return { start: last.value.end, end: last.value.end, text: `, ${pair}` }
}

export function removeInlinePairs(inline: InlineTable, removed: readonly Pair[]): Splice[] {
  const isRemoved = new Set(removed)
  const kept = inline.pairs.findIndex((pair) => !isRemoved.has(pair))
  const firstKept = inline.pairs[kept]
  if (firstKept === undefined) return [{ start: inline.start + 1, end: inline.end - 1, text: '' }]
  const splices: Splice[] = []
  const first = inline.pairs[0]
  if (first !== undefined && kept > 0) splices.push({ start: first.start, end: firstKept.start, text: '' })
  for (const [index, pair] of inline.pairs.entries()) {
    const before = inline.pairs[index - 1]
    if (index < kept || before === undefined || !isRemoved.has(pair)) continue
    splices.push({ start: before.value.end, end: pair.value.end, text: '' })
  }
  return splices
}
