import type { Access, Condition, LogQuery } from './log-query.ts'

/** Read on from line to line, or take ids from lists and look at those lines only. */
export type Plan =
  | { readonly kind: 'scan' }
  | { readonly kind: 'lists'; readonly accesses: readonly Access[]; readonly text: boolean }

/** A guess of how many lines each access leads to, in the order of the query; `text` is null without a text index. */
export interface Guesses {
  readonly all: number
  readonly accesses: readonly number[]
  readonly text: number | null
}

/** So few lines that looking at each of them is quicker than going through a second list. */
const FEW = 2000
/** Going on in a list costs about an eighth of looking at a line that it names. */
const LIST_GAIN = 8
/** Looking at a line that a list names costs about eight times as much as reading on to the next line. */
const SCAN_GAIN = 8

/** SQLite's planner has no figures about a log that changes all the time, so the choice is ours. */
export function choosePlan(query: LogQuery, guesses: Guesses): Plan {
  const lists = query.accesses.map((access, index) => {
    return { access, rows: guesses.accesses[index] ?? 0, single: access.lists.length === 1 }
  })
  const text = guesses.text === null ? [] : [{ access: null, rows: guesses.text, single: true }]
  const [first, ...others] = [...lists, ...text].sort((a, b) => a.rows - b.rows)
  if (!first) return { kind: 'scan' }

  // Lists in the same order can be met like the two halves of a zip. Several lists merged cannot.
  const worthIt = first.single && first.rows > FEW
  const meeting = others.filter(({ single, rows }) => worthIt && single && rows <= first.rows * LIST_GAIN)
  const chosen = [first, ...meeting]
  const accesses = chosen.flatMap(({ access }) => access ?? [])
  const usesText = chosen.some(({ access }) => access === null)
  const looksAtLines = openConditions(query, accesses).length > 0
  if (looksAtLines && first.rows * SCAN_GAIN > guesses.all) return { kind: 'scan' }
  return { kind: 'lists', accesses, text: usesText }
}

/** What the lists leave to be asked of each line. The text index gives candidates only, so a search always stays. */
export function openConditions(query: LogQuery, accesses: readonly Access[]): Condition[] {
  return query.conditions.filter(({ on }) => !accesses.some(({ covers }) => covers.includes(on)))
}
