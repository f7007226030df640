import { type Change, compare } from '../../kernel/list-diff.ts'

export interface Word {
  readonly op: Change['kind']
  readonly text: string
}

/** Characters of unchanged text that are shown beside a change. */
const NEAR = 60
const LONGEST_RUN = 900
const LONGEST = 2000
/** Characters that are compared. */
const COMPARED = 8000
const MOST_WORDS = 1000

/**
 * The word diff of two texts, in at most 2,000 characters. An ellipsis marks text that is left out, and invisible
 * characters are escaped. If more than `most` words differ, they are shown as one replacement.
 */
export function wordDiff(before: string, after: string, most = MOST_WORDS): Word[] {
  if (before === after) return []
  const [old, now] = narrowed(before, after).map(visible) as [string, string]
  // A text that contained the escape and now contains the character itself looks the same on both sides.
  const changes =
    old === now
      ? [replaced('removed', old), replaced('added', now)]
      : compare(wordsOf(old), wordsOf(now), most)
  const runs = joined(changes)
  return bounded(runs.map((run, index) => shortened(run, index === 0, index === runs.length - 1)))
}

const wordsOf = (text: string): string[] =>
  text.match(/\s+|[\p{L}\p{M}\p{N}_]+|[^\s\p{L}\p{M}\p{N}_]/gu) ?? []

/** Escapes as `\u{200B}` what has no width, changes the writing direction, or only looks like a space. */
export const visible = (text: string): string =>
  text.replace(
    /(?![\t\n ])[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u{2800}]/gu,
    (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`,
  )

const replaced = (kind: Change['kind'], text: string): Change => ({ kind, text })

/** The part that differs, with some context: a text may have millions of characters. */
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

/** Joins adjacent words of one kind. */
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

/** Like `slice`, but never splits a surrogate pair. */
function slice(text: string, from: number, to: number): string {
  const isTorn = (at: number) => /^[\uDC00-\uDFFF]$/.test(text[at] ?? '')
  return text.slice(isTorn(from) ? from - 1 : from, isTorn(to) ? to - 1 : to)
}
