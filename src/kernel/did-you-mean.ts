import { AppError } from './errors.ts'

const MAX_CHARS = 64
const MAX_NAMES = 1000
const MOST_EDITS = 3

/** Says which name was probably meant; `otherwise` is the hint if none is close. */
export function unknownName(
  message: string,
  given: string,
  names: Iterable<string>,
  otherwise?: string,
): AppError {
  return notFound(message, didYouMean(given, names) ?? otherwise)
}

export const notFound = (message: string, hint: string | undefined): AppError =>
  new AppError('not_found', message, hint === undefined ? {} : { hint })

/** `Did you mean 'github'?`, or undefined if no name is close. */
export function didYouMean(given: string, names: Iterable<string>): string | undefined {
  const name = nearest(given, names)
  return name === undefined ? undefined : `Did you mean '${name}'?`
}

/**
 * The name that was probably meant: with the fewest edits, ignoring case, else the only one that begins with the given
 * text. The work is limited, whatever the input.
 */
export function nearest(given: string, names: Iterable<string>): string | undefined {
  if (given === '' || given.length > MAX_CHARS) return undefined
  const text = given.toLowerCase()
  const near: { name: string; edits: number }[] = []
  const begun: string[] = []
  let count = 0
  for (const name of names) {
    count += 1
    if (count > MAX_NAMES) break
    const known = name.toLowerCase()
    const edits = editsBetween(text, known, Math.floor(Math.min(text.length, known.length) / 3))
    if (edits !== undefined) near.push({ name, edits })
    if (text.length >= 2 && known.startsWith(text)) begun.push(name)
  }
  const [best] = near.sort((a, b) => a.edits - b.edits)
  return best?.name ?? (begun.length === 1 ? begun[0] : undefined)
}

/**
 * The Damerau–Levenshtein distance (insert, delete, replace, swap neighbours), or undefined if it is more than
 * `allowed`, at most 3. Computes only the cells near the diagonal.
 */
export function editsBetween(a: string, b: string, allowed: number): number | undefined {
  const most = Math.min(allowed, MOST_EDITS)
  if (Math.abs(a.length - b.length) > most) return undefined
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const next: number[] = i <= most ? [i] : []
    let least = next[0] ?? FAR
    for (let j = Math.max(1, i - most); j <= Math.min(b.length, i + most); j += 1) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let edits = Math.min(at(row, j) + 1, at(next, j - 1) + 1, at(row, j - 1) + same)
      if (i > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, at(before, j - 2) + 1)
      next[j] = edits
      least = Math.min(least, edits)
    }
    if (least > most) return undefined
    before = row
    row = next
  }
  const edits = at(row, b.length)
  return edits <= most ? edits : undefined
}

const FAR = Number.POSITIVE_INFINITY
const at = (row: readonly number[], index: number) => row[index] ?? FAR
