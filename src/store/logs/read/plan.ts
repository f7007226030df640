import type { Access, Condition, LogQuery } from './query.ts'

/** Read on from line to line, or take ids from lists and look at those lines only. */
export type Plan =
  | { readonly kind: 'scan' }
  | { readonly kind: 'lists'; readonly accesses: readonly Access[]; readonly text: boolean }

/** What is known about the lines before any of them is read. */
interface Guesses {
  /** How many there are at most. */
  readonly all: number
  /** How many each access leads to, in the order of the query. */
  readonly accesses: readonly number[]
  /** How many have the rarest trigram; null where there is no text index. */
  readonly text: number | null
  /** Which share of the newest lines meets all conditions. */
  readonly hits: number
}

/** So few lines that looking at each of them is quicker than going through a second list. */
const FEW = 2000
/** Going on in a list costs about an eighth of looking at a line; in the lists of three trigrams, a third. */
const LIST_GAIN = 8
const TEXT_GAIN = 3
/** Looking at a line that a list names costs about eight times as much as reading on to the next line. */
const SCAN_GAIN = 8
/** With so many hits a list would name most of the lines anyway. */
export const MANY_HITS = 1 / 10

/** SQLite's planner has no figures about a log that changes all the time, so the choice is ours. */
export function choosePlan(query: LogQuery, guesses: Guesses): Plan {
  const lists = query.accesses.map((access, index) => {
    const single = access.lists.length === 1
    return { access, rows: guesses.accesses[index] ?? 0, single, gain: LIST_GAIN }
  })
  const text =
    guesses.text === null ? [] : [{ access: null, rows: guesses.text, single: true, gain: TEXT_GAIN }]
  const [first, ...others] = [...lists, ...text].sort((a, b) => a.rows - b.rows)
  if (!first) return { kind: 'scan' }

  // Lists in the same order can be met like the two halves of a zip. Several lists merged cannot.
  const worthIt = first.single && first.rows > FEW
  const meeting = others.filter(({ single, rows, gain }) => worthIt && single && rows <= first.rows * gain)
  const chosen = [first, ...meeting]
  const accesses = chosen.flatMap(({ access }) => access ?? [])
  const usesText = chosen.some(({ access }) => access === null)
  const looksAtLines = openConditions(query, accesses).length > 0
  // Several trigrams together are far rarer than the rarest of them, so for text its number says little.
  const scanIsQuicker = !usesText && first.rows * SCAN_GAIN > guesses.all
  if (looksAtLines && (scanIsQuicker || guesses.hits > MANY_HITS)) return { kind: 'scan' }
  return { kind: 'lists', accesses, text: usesText }
}

/** What the lists leave to be asked of each line. The text index gives candidates only, so a search always stays. */
export function openConditions(query: LogQuery, accesses: readonly Access[]): Condition[] {
  return query.conditions.filter(({ on }) => !accesses.some(({ covers }) => covers.includes(on)))
}
