import type { Connection } from '../../sqlite/connection.ts'
import { type Part, type TextIndex, type TextLookup, textLookup } from '../index/text-index.ts'
import type { IdRange } from '../index/time-spans.ts'
import type { LogQuery } from './log-query.ts'
import { sample } from './log-sample.ts'
import { choosePlan, MANY_HITS, openConditions, type Plan } from './query-plan.ts'
import { type Found, listSql, type Order, type Slice, type Sql, scanSql, type TextList } from './query-sql.ts'

/** How many ids of a list are checked in one step. The first steps are short; every step searches its place in the lists. */
const LIST_STEP = { min: 256, first: 2048, max: 12_288 }
/** How many ids a scan covers in one step, adjusted to about 8 ms because line lengths vary. */
const SCAN_STEP = { min: 512, first: 2048, max: 65_536, ms: 8 }

/**
 * Iterates over the ids of matching lines in short steps, so that other calls run in between. Lines may be added and
 * deleted between steps.
 */
export class Walk {
  readonly #connection: Connection
  readonly #index: TextIndex
  readonly #query: LogQuery
  readonly #order: Order
  /** The remaining ranges; the next one is last. */
  readonly #ranges: IdRange[]
  readonly #lookup: TextLookup | null
  /** Plans for ids inside and outside of the text index. */
  readonly #plans: { readonly indexed: Plan; readonly plain: Plan }
  #scanIds = SCAN_STEP.first
  #listIds = LIST_STEP.first
  /** How many lines all steps with lists have checked so far, and how many of them matched. */
  #checked = 0
  #found = 0

  constructor(
    connection: Connection,
    index: TextIndex,
    query: LogQuery,
    order: Order,
    ranges: readonly IdRange[],
  ) {
    this.#connection = connection
    this.#index = index
    this.#query = query
    this.#order = order
    const selectsNothing = query.accesses.some(({ lists }) => lists.length === 0)
    const left = selectsNothing ? [] : ranges.filter(({ first, last }) => first <= last)
    const all = left.reduce((ids, { first, last }) => ids + last - first + 1, 0)
    const newest = left.at(-1) ?? { first: 1, last: 0 }
    const { accesses, hits, textHits } = sample(connection, query, newest, all)
    const usesText = query.terms !== null && textHits <= MANY_HITS
    this.#lookup = usesText ? textLookup(connection, index, query.terms, textHits) : null
    const plain = choosePlan(query, { all, accesses, text: null, hits })
    const text = this.#lookup && this.#lookup.share * all
    this.#plans = { indexed: choosePlan(query, { all, accesses, text, hits }), plain }
    this.#ranges = order === 'asc' ? left.reverse() : left
  }

  /** The next matching ids, possibly none; undefined at the end. `wanted`: how many the caller still needs. */
  step(wanted = Number.POSITIVE_INFINITY): number[] | undefined {
    const range = this.#ranges.at(-1)
    if (!range) return undefined
    if (!this.#lookup) return this.#run(this.#plans.plain, range, wanted)
    const at = this.#order === 'asc' ? range.first : range.last
    const segment = this.#index.segmentAt(at, this.#order)
    const ids = { first: Math.max(range.first, segment.first), last: Math.min(range.last, segment.last) }
    if (!segment.part) return this.#run(this.#plans.plain, ids, wanted)
    try {
      return this.#runTextPlan(this.#lookup, segment.part, ids, wanted)
    } catch (error) {
      this.#index.dropDamaged(segment.part, error)
      return []
    }
  }

  /** The next `ids` ids, if every line has to be scanned anyway: the caller scans them. Undefined otherwise, and at the end. */
  takeScan(ids: number): IdRange | undefined {
    const range = this.#ranges.at(-1)
    if (!range || this.#lookup || this.#plans.plain.kind !== 'scan') return undefined
    const window = this.#windowIn(range, ids)
    this.#advanceTo(this.#order === 'asc' ? window.last : window.first)
    return window
  }

  #windowIn({ first, last }: IdRange, ids: number): IdRange {
    return this.#order === 'asc'
      ? { first, last: Math.min(last, first + ids - 1) }
      : { first: Math.max(first, last - ids + 1), last }
  }

  #runTextPlan(lookup: TextLookup, part: Part, ids: IdRange, wanted: number): number[] {
    const plan = this.#plans.indexed
    if (plan.kind === 'scan' || !plan.text) return this.#run(plan, ids, wanted)
    const match = lookup.match(part)
    if (match === undefined) return this.#run(this.#plans.plain, ids, wanted)
    if (match !== null) return this.#run(plan, ids, wanted, { table: `text_${part.no}`, match })
    this.#advanceTo(this.#order === 'asc' ? ids.last : ids.first)
    return []
  }

  #run(plan: Plan, ids: IdRange, wanted: number, text: TextList | null = null): number[] {
    const slice = { ...ids, order: this.#order, limit: LIST_STEP.first }
    if (plan.kind === 'scan') return this.#scan(slice)
    slice.limit = this.#listLimit(wanted)
    this.#listIds = Math.min(LIST_STEP.max, this.#listIds * 2)
    const open = openConditions(this.#query, plan.accesses)
    return this.#select(listSql(plan.accesses, text, open, slice), slice)
  }

  /** No more ids than will probably contain what is wanted. */
  #listLimit(wanted: number): number {
    const needed = Math.ceil((wanted * this.#checked * 1.05) / this.#found) || this.#listIds
    return Math.min(this.#listIds, Math.max(LIST_STEP.min, needed))
  }

  #scan({ first, last, order, limit }: Slice): number[] {
    const ids = this.#scanIds
    const slice = { ...this.#windowIn({ first, last }, ids), order, limit }
    const startedAt = performance.now()
    const found = this.#select(scanSql(this.#query.conditions, slice), slice)
    const ms = performance.now() - startedAt
    if (ms > SCAN_STEP.ms * 2) this.#scanIds = Math.max(SCAN_STEP.min, ids / 2)
    else if (ms < SCAN_STEP.ms / 2) this.#scanIds = Math.min(SCAN_STEP.max, ids * 2)
    return found
  }

  #select({ sql, params }: Sql, { first, last, order, limit }: Slice): number[] {
    const found = this.#connection.row<Found>(sql, ...params)
    const end = order === 'asc' ? last : first
    const reached = order === 'asc' ? found?.highest : found?.lowest
    this.#advanceTo(found?.checked === limit ? (reached ?? end) : end)
    const ids = JSON.parse(found?.ids ?? '[]') as number[]
    this.#checked += found?.checked ?? 0
    this.#found += ids.length
    return ids.sort(order === 'asc' ? (a, b) => a - b : (a, b) => b - a)
  }

  #advanceTo(id: number): void {
    const range = this.#ranges.pop()
    if (!range) return
    const left = this.#order === 'asc' ? { ...range, first: id + 1 } : { ...range, last: id - 1 }
    if (left.first <= left.last) this.#ranges.push(left)
  }
}
