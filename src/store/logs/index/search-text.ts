import type { Value } from '../../sqlite/sqlite.ts'

/** A search term as a condition on `message`, with the terms to look up in the text index. */
interface SearchText extends IndexTerms {
  readonly sql: string
  readonly params: readonly Value[]
}

/** What every matching line must contain. */
export interface IndexTerms {
  /** Spread evenly over the search term, including its ends. Empty for a term of less than three letters. */
  readonly trigrams: readonly Trigram[]
  /** A shorter term in lower case: a matching line contains a trigram with this prefix. Null when the index cannot be used. */
  readonly prefix: string | null
}

export interface Trigram {
  readonly at: number
  readonly text: string
  /** The index of the word that contains its middle letter; a gap between two words counts as a word. */
  readonly word: number
}

/** Each trigram lookup takes about 0.1 ms. */
const MAX_TRIGRAMS = 16

/**
 * Ignores the case of ASCII, Latin, Greek and Cyrillic letters, where both cases are one character; all other
 * characters must be equal. SQLite's LIKE folds only ASCII. For other letters it is a fast first filter with `_` in
 * their place, and GLOB with `[üÜ]` decides.
 */
export function searchText(term: string): SearchText {
  const letters = [...storable(term)]
  const terms = { trigrams: spread(trigramsOf(letters), MAX_TRIGRAMS), prefix: prefixOf(letters) }
  const like = { sql: "message LIKE ? ESCAPE '\\'", params: [`%${letters.map(likeLetter).join('')}%`] }
  if (!letters.some((letter) => otherCases(letter).length > 0)) return { ...like, ...terms }
  const glob = `*${letters.map(globLetter).join('')}*`
  return { sql: `${like.sql} AND message GLOB ?`, params: [...like.params, glob], ...terms }
}

/** The form in which text is stored and searched: SQLite ends a text at NUL, and UTF-8 has no unpaired surrogates. */
export function storable(text: string): string {
  if (text.isWellFormed() && !text.includes('\0')) return text
  return text.toWellFormed().replaceAll('\0', '\u2400')
}

function likeLetter(letter: string): string {
  if (otherCases(letter).length > 0) return '_'
  return /[%_\\]/.test(letter) ? `\\${letter}` : letter
}

function globLetter(letter: string): string {
  if (/[*?[]/.test(letter)) return `[${letter}]`
  if (/[a-z]/i.test(letter)) return `[${letter.toLowerCase()}${letter.toUpperCase()}]`
  const others = otherCases(letter)
  return others.length > 0 ? `[${letter}${others.join('')}]` : letter
}

/**
 * Letters that the text index folds exactly as JavaScript does, so that it never misses a line that the condition
 * accepts. A test checks all of them.
 */
const FOLDED = /^[\u00c0-\u017f\u0370-\u037e\u0380-\u03f2\u03f4-\u0527]$/u

function otherCases(letter: string): string[] {
  if (!FOLDED.test(letter)) return []
  const cases = [letter.toLowerCase(), letter.toUpperCase()]
  return [...new Set(cases)].filter((other) => other !== letter && FOLDED.test(other))
}

function trigramsOf(letters: readonly string[]): Trigram[] {
  const found = new Map<string, Trigram>()
  let word = 0
  for (let at = 0; at + 3 <= letters.length; at++) {
    if (isInWord(letters[at]) !== isInWord(letters[at + 1])) word += 1
    const text = letters.slice(at, at + 3).join('')
    if (!found.has(text)) found.set(text, { at, text, word })
  }
  return [...found.values()]
}

const isInWord = (letter = '') => /[\p{L}\p{N}]/u.test(letter)

/** Null unless every letter is folded the same way by the index and by JavaScript. */
function prefixOf(letters: readonly string[]): string | null {
  const foldsAlike = (letter: string) => letter < '\u0080' || letter.toLowerCase() === letter.toUpperCase()
  return letters.length > 0 && letters.length < 3 && letters.every(foldsAlike)
    ? letters.join('').toLowerCase()
    : null
}

function spread<T>(items: readonly T[], max: number): T[] {
  if (items.length <= max) return [...items]
  const step = (items.length - 1) / (max - 1)
  return Array.from({ length: max }, (_, index) => items[Math.round(index * step)]).filter(
    (item) => item !== undefined,
  )
}
