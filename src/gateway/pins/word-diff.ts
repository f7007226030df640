import { type Change, compare } from '../../kernel/compare.ts'

export interface Word {
  readonly op: Change['kind']
  readonly text: string
}

/** Of a text that stayed the same, so much is shown beside what changed. */
const NEAR = 60
const LONGEST_RUN = 900
const LONGEST = 2000
/** Of a text that changed from here to there, so much is compared at all. */
const COMPARED = 8000
const MOST_WORDS = 1000
const WORD = /\s+|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu

/**
 * Which words went and which came, in at most 2,000 characters. What is left out is an ellipsis, what cannot be seen is
 * written out. Beyond `most` words, what differs is shown as replaced as a whole.
 */
export function wordDiff(before: string, after: string, most = MOST_WORDS): Word[] {
  if (before === after) return []
  const [old, now] = narrowed(before, after).map(visible) as [string, string]
  // Who writes out what cannot be seen, and then puts the thing itself there, shows the same twice.
  const changes =
    old === now
      ? [replaced('removed', old), replaced('added', now)]
      : compare(old.match(WORD) ?? [], now.match(WORD) ?? [], most)
  const runs = joined(changes)
  return bounded(runs.map((run, index) => shortened(run, index === 0, index === runs.length - 1)))
}

/** As `\u{200B}`: what has no width, turns the direction of writing, or looks like a space and is none. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`)
const UNSEEN = /(?![\t\n ])[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}]/gu

const replaced = (kind: Change['kind'], text: string): Change => ({ kind, text })

/** Where both differ, with a little around it: a text may have millions of characters. */
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

/** Words of one kind in a row are one run. */
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

/** Signs that take two places are not torn apart. */
function slice(text: string, from: number, to: number): string {
  const isTorn = (at: number) => /^[\uDC00-\uDFFF]$/.test(text[at] ?? '')
  return text.slice(isTorn(from) ? from - 1 : from, isTorn(to) ? to - 1 : to)
}
