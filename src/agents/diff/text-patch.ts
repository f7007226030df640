import { compare } from '../../kernel/list-diff.ts'
import { revisionOf, type Splice, spliced } from '../formats/text-edits.ts'

/** One position at which two texts differ. The lines around it are for finding it in a third text. */
interface Hunk {
  /** The offset in the first text. */
  readonly at: number
  readonly above: readonly string[]
  readonly old: string
  readonly next: string
  readonly below: readonly string[]
}

/** Leads from one text to another, also after the first one was changed elsewhere. */
export interface Patch {
  /** The revision of the first text. */
  readonly from: string
  readonly hunks: readonly Hunk[]
}

const CONTEXT = 3

export function patchOf(from: string, to: string): Patch {
  const hunks: { at: number; line: number; old: string; next: string }[] = []
  let [at, line] = [0, 0]
  let isOpen = false
  for (const { kind, text } of compare(linesOf(from), linesOf(to))) {
    if (kind === 'same') isOpen = false
    else if (!isOpen) hunks.push({ at, line, old: '', next: '' })
    const hunk = hunks.at(-1)
    if (kind !== 'same' && hunk) {
      isOpen = true
      if (kind === 'removed') hunk.old += text
      else hunk.next += text
    }
    if (kind === 'added') continue
    at += text.length
    line += 1
  }
  const lines = linesOf(from)
  return {
    from: revisionOf(Buffer.from(from)),
    hunks: hunks.map(({ line: first, ...hunk }) => {
      const end = first + linesOf(hunk.old).length
      const above = lines.slice(Math.max(0, first - CONTEXT), first)
      return { ...hunk, above, below: lines.slice(end, end + CONTEXT) }
    }),
  }
}

/** Whether the patch was made for exactly this text. */
export const isFor = ({ from }: Patch, text: string): boolean => revisionOf(Buffer.from(text)) === from

/** Undefined if a position cannot be found, or could be one of several. */
export function applyPatch(text: string, patch: Patch): string | undefined {
  const isExact = isFor(patch, text)
  const splices: Splice[] = []
  for (const hunk of patch.hunks) {
    const start = isExact ? hunk.at : offsetOf(text, hunk)
    if (start === undefined || start < (splices.at(-1)?.end ?? 0)) return undefined
    splices.push({ start, end: start + hunk.old.length, text: hunk.next })
  }
  return spliced(text, splices)
}

/** With fewer and fewer lines around it, because these may have been changed. */
function offsetOf(text: string, { above, old, below }: Hunk): number | undefined {
  for (let context = CONTEXT; context >= 0; context -= 1) {
    const lead = (context === 0 ? [] : above.slice(-context)).join('')
    const wanted = lead + old + below.slice(0, context).join('')
    const found = wanted === '' ? -1 : text.indexOf(wanted)
    if (found !== -1 && text.indexOf(wanted, found + 1) === -1) return found + lead.length
  }
  return undefined
}

/** With their line ends. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []
