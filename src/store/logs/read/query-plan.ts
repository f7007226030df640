import type { Access, Condition, LogQuery } from './log-query.ts'

/** Scan all lines, or read ids from index lists and check only those lines. */
export type Plan =
  | { readonly kind: 'scan' }
  | { readonly kind: 'lists'; readonly accesses: readonly Access[]; readonly text: boolean }

/** Estimates made before any line is read. */
interface Estimates {
  /** Upper limit for the number of lines. */
  readonly all: number
  /** Number of lines for each access of the query. */
  readonly accesses: readonly number[]
  /** Number of lines with the rarest trigram; null without a text index. */
  readonly text: number | null
  /** Share of the newest lines that meets all conditions. */
  readonly hits: number
}

/** Checking up to this many lines is faster than reading a second list. */
const FEW_ROWS = 2000
/** Reading a list entry costs about an eighth of checking a line; in three trigram lists, about a third. */
const LIST_GAIN = 8
const TEXT_GAIN = 3
/** Checking a line by id costs about eight times as much as scanning to the next line. */
const SCAN_GAIN = 8
/** Above this share of hits, a list would contain most of the lines anyway. */
export const MANY_HITS = 1 / 10

/** SQLite's planner has no statistics about a log that changes all the time. */
export function choosePlan(query: LogQuery, estimates: Estimates): Plan {
  const lists = query.accesses.map((access, index) => {
    const single = access.lists.length === 1
    return { access, rows: estimates.accesses[index] ?? 0, single, gain: LIST_GAIN }
  })
  const text =
    estimates.text === null ? [] : [{ access: null, rows: estimates.text, single: true, gain: TEXT_GAIN }]
  const [first, ...others] = [...lists, ...text].sort((a, b) => a.rows - b.rows)
  if (!first) return { kind: 'scan' }

  // Two sorted lists can be intersected in one pass; a list merged from several cannot.
  const worthIt = first.single && first.rows > FEW_ROWS
  const intersected = others.filter(
    ({ single, rows, gain }) => worthIt && single && rows <= first.rows * gain,
  )
  const chosen = [first, ...intersected]
  const accesses = chosen.flatMap(({ access }) => access ?? [])
  const usesText = chosen.some(({ access }) => access === null)
  const looksAtLines = openConditions(query, accesses).length > 0
  // Several trigrams together are far rarer than the rarest of them, so the estimate for text is too high.
  const scanIsQuicker = !usesText && first.rows * SCAN_GAIN > estimates.all
  if (looksAtLines && (scanIsQuicker || estimates.hits > MANY_HITS)) return { kind: 'scan' }
  return { kind: 'lists', accesses, text: usesText }
}

/** Conditions that the lists do not cover. A search always remains, because the text index returns only candidates. */
export function openConditions(query: LogQuery, accesses: readonly Access[]): Condition[] {
  return query.conditions.filter(({ on }) => !accesses.some(({ covers }) => covers.includes(on)))
}
