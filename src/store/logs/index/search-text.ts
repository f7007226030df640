import type { Value } from '../../sqlite/sqlite.ts'

/** A search term as a condition on `message`, and what to ask the text index for. */
interface SearchText extends TextClue {
  readonly sql: string
  readonly params: readonly Value[]
}

/** What every line with the term must contain. */
export interface TextClue {
  /** Well spread over the term, first and last included; none for a term of less than three letters. */
  readonly trigrams: readonly Trigram[]
  /** A shorter term, folded: one of the trigrams that begin with it. Null when the index cannot help. */
  readonly prefix: string | null
}

export interface Trigram {
  readonly at: number
  readonly text: string
  /** The number of the word that its middle letter belongs to; the gap between two words counts as one. */
  readonly word: number
}

/** How many trigrams of a term are worth a look: each look costs a tenth of a millisecond. */
const MOST_TRIGRAMS = 16

/**
 * Upper and lower case are alike for ASCII, Latin, Greek and Cyrillic letters, one character for one character;
 * everything else must be the same. SQLite's LIKE knows ASCII only. For a term with other letters it still does
 * the first, quick pass, with `_` in their place, and GLOB with `[üÜ]` decides.
 */
export function searchText(term: string): SearchText {
  const letters = [...storable(term)]
  const clue = { trigrams: spread(trigramsOf(letters), MOST_TRIGRAMS), prefix: prefixOf(letters) }
  const like = { sql: "message LIKE ? ESCAPE '\\'", params: [`%${letters.map(likeLetter).join('')}%`] }
  if (!letters.some((letter) => otherCases(letter).length > 0)) return { ...like, ...clue }
  const glob = `*${letters.map(globLetter).join('')}*`
  return { sql: `${like.sql} AND message GLOB ?`, params: [...like.params, glob], ...clue }
}

/** Text as it is stored and searched: SQLite ends a text at NUL, and UTF-8 has no half of a surrogate pair. */
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
  if (isAsciiLetter(letter)) return `[${letter.toLowerCase()}${letter.toUpperCase()}]`
  const others = otherCases(letter)
  return others.length > 0 ? `[${letter}${others.join('')}]` : letter
}

const isAsciiLetter = (letter: string) => /[a-z]/i.test(letter)

/**
 * The alphabets whose letters the text index folds exactly as JavaScript does, so that it never misses a line
 * that the condition would accept; a test goes through all of them.
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

/** Only letters of which it is certain how the index folds them. */
function prefixOf(letters: readonly string[]): string | null {
  const certain = (letter: string) => letter < '\u0080' || letter.toLowerCase() === letter.toUpperCase()
  return letters.length > 0 && letters.length < 3 && letters.every(certain)
    ? letters.join('').toLowerCase()
    : null
}

function spread<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items]
  const step = (items.length - 1) / (most - 1)
  return Array.from({ length: most }, (_, index) => items[Math.round(index * step)]).filter(
    (item) => item !== undefined,
  )
}
