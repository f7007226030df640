import { deletion, lineStart, nextLine, type Splice } from '../text-edits.ts'
import { removeInlinePairs, removeItem } from './toml-inline.ts'
import { blockLines, isBlankLine, pairLines } from './toml-lines.ts'
import type { Block, Member, Pair, Target, TomlDoc } from './toml-model.ts'

/** Removes the target: all its lines, wherever they are, or its part of a line. */
export function removal(doc: TomlDoc, target: Target): Splice[] {
  if (target.type === 'item') return removeItem(doc, target.list, target.index)
  const parts: Parts = { blocks: [], pairs: [] }
  collect(target, parts)
  const inline = parts.pairs[0]?.home
  if (inline !== undefined && 'kind' in inline) return removeInlinePairs(inline, parts.pairs)
  return lineCuts(doc, parts)
}

/** Removes only the header and the pairs of this block. Tables below it stay. */
export function removalOfBlock(doc: TomlDoc, block: Block): Splice[] {
  return lineCuts(doc, { blocks: [block], pairs: [] })
}

interface Parts {
  readonly blocks: Block[]
  readonly pairs: Pair[]
}

function collect(member: Member, parts: Parts): void {
  if (member.type === 'pair') {
    parts.pairs.push(member)
    return
  }
  if (member.type === 'tables') {
    for (const item of member.items) collect(item, parts)
    return
  }
  const own = member.how.by === 'block' ? member.how.block : undefined
  if (own !== undefined) parts.blocks.push(own)
  for (const inner of member.members.values()) {
    // The pairs of its own block are removed with the block.
    if (inner.type !== 'pair' || inner.home !== own) collect(inner, parts)
  }
}

interface Cut {
  start: number
  end: number
  readonly isBlock: boolean
}

function lineCuts(doc: TomlDoc, { blocks, pairs }: Parts): Splice[] {
  const { text } = doc
  const cuts: Cut[] = [
    ...blocks.map((block) => ({ ...withBlankAbove(text, blockLines(text, block)), isBlock: true })),
    ...pairs.map((pair) => ({ ...pairLines(text, pair), isBlock: false })),
  ]
  const joined = joinCuts(cuts)
  for (const cut of joined) {
    if (cut.start === 0 && cut.isBlock) takeBlankBelow(text, cut)
  }
  takeBlankBelowTop(doc, new Set(pairs), joined)
  return joined.map(({ start, end }) => deletion(start, end))
}

/** If no pair is left at the top, the empty line between pairs and tables is removed too. */
function takeBlankBelowTop(
  { text, blocks }: TomlDoc,
  removed: ReadonlySet<Pair>,
  cuts: readonly Cut[],
): void {
  const top = blocks[0]?.pairs ?? []
  const last = top.at(-1)
  if (last === undefined || blocks.length === 1 || !top.every((pair) => removed.has(pair))) return
  const { end } = pairLines(text, last)
  const cut = cuts.find((one) => one.end === end)
  if (cut !== undefined) takeBlankBelow(text, cut)
}

/** The empty line above a table separates it and is removed with it. */
function withBlankAbove(text: string, lines: { start: number; end: number }): { start: number; end: number } {
  if (lines.start === 0) return lines
  const above = lineStart(text, lines.start - 1)
  return isBlankLine(text, above) ? { start: above, end: lines.end } : lines
}

/** If nothing is left above, the empty line below is the separator. A file of only empty lines keeps them. */
function takeBlankBelow(text: string, cut: Cut): void {
  if (isBlankLine(text, cut.end) && text.slice(cut.end).trim() !== '') cut.end = nextLine(text, cut.end)
}

function joinCuts(cuts: readonly Cut[]): Cut[] {
  const joined: Cut[] = []
  for (const cut of [...cuts].sort((a, b) => a.start - b.start)) {
    const last = joined.at(-1)
    if (last === undefined || cut.start > last.end) joined.push({ ...cut })
    else
      joined.splice(-1, 1, {
        start: last.start,
        end: Math.max(last.end, cut.end),
        isBlock: last.isBlock || cut.isBlock,
      })
  }
  return joined
}
