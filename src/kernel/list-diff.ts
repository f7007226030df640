/** One piece of a diff: a line or a word. */
export interface Change {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

const MOST_COMPARED = 2000

/**
 * The diff of two lists of pieces. Most edits touch a few adjacent pieces, so common ends are cut off first. When more
 * than `most` pieces differ, they are reported as one replacement instead of being compared one by one.
 */
export function compare(before: readonly string[], after: readonly string[], most = MOST_COMPARED): Change[] {
  let head = 0
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1
  let tail = 0
  const rest = Math.min(before.length, after.length) - head
  while (tail < rest && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1
  const same = (text: string): Change => ({ kind: 'same', text })
  return [
    ...before.slice(0, head).map(same),
    ...compareMiddle(before.slice(head, before.length - tail), after.slice(head, after.length - tail), most),
    ...before.slice(before.length - tail).map(same),
  ]
}

function compareMiddle(before: readonly string[], after: readonly string[], most: number): Change[] {
  const removed = before.map((text): Change => ({ kind: 'removed', text }))
  const added = after.map((text): Change => ({ kind: 'added', text }))
  if (before.length === 0 || after.length === 0) return [...removed, ...added]
  if (before.length > most || after.length > most) return [...removed, ...added]
  const common = commonTable(...numbered(before, after))
  const changes: Change[] = []
  let [i, j] = [0, 0]
  while (i < before.length && j < after.length) {
    const text = before[i] ?? ''
    if (text === after[j]) {
      changes.push({ kind: 'same', text })
      i += 1
      j += 1
    } else if ((common[i + 1]?.[j] ?? 0) >= (common[i]?.[j + 1] ?? 0)) changes.push(removed[i++] as Change)
    else changes.push(added[j++] as Change)
  }
  return [...changes, ...removed.slice(i), ...added.slice(j)]
}

/** Equal pieces have equal numbers: each pair is compared, and long pieces with a common beginning compare slowly. */
function numbered(before: readonly string[], after: readonly string[]): [number[], number[]] {
  const numbers = new Map<string, number>()
  const numberOf = (piece: string): number => {
    const known = numbers.get(piece) ?? numbers.size
    numbers.set(piece, known)
    return known
  }
  return [before.map(numberOf), after.map(numberOf)]
}

/** The length of the longest common subsequence from each pair of positions to the ends. */
function commonTable(before: readonly number[], after: readonly number[]): Uint16Array[] {
  const table = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1))
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const [row, next] = [table[i], table[i + 1]]
    if (!row || !next) continue
    for (let j = after.length - 1; j >= 0; j -= 1) {
      row[j] = before[i] === after[j] ? (next[j + 1] ?? 0) + 1 : Math.max(next[j] ?? 0, row[j + 1] ?? 0)
    }
  }
  return table
}
