import type { Connection } from '../../sqlite/connection.ts'
import type { IdRange } from '../index/spans.ts'
import type { Part, TextIndex } from '../index/text-index.ts'
import { type TextLookup, textLookup } from '../index/text-lookup.ts'
import { choosePlan, MANY_HITS, openConditions, type Plan } from './plan.ts'
import type { LogQuery } from './query.ts'
import { sample } from './selectivity.ts'
import { type Found, listSql, type Order, type Sql, type Stretch, scanSql, type TextList } from './sql.ts'

/** How many ids of a list are looked at in one step. */
const LIST_STEP = 2048
/** How many ids a scan covers in one step: as many as take about 8 ms, for lines may be short or long. */
const SCAN_STEP = { least: 512, first: 2048, most: 65_536, ms: 8 }

/**
 * Goes over the lines that a query selects, in the order of their ids, one short step at a time, so that other
 * work can be done in between. Lines may come and go meanwhile.
 */
export class Walk {
  readonly #connection: Connection
  readonly #index: TextIndex
  readonly #query: LogQuery
  readonly #order: Order
  /** What is left to go, the next at the end. */
  readonly #ranges: IdRange[]
  readonly #lookup: TextLookup | null
  /** Where the text index knows the lines, and where it does not. */
  readonly #plans: { readonly indexed: Plan; readonly plain: Plan }
  #scanIds = SCAN_STEP.first

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
    const usesText = query.clue !== null && textHits <= MANY_HITS
    this.#lookup = usesText ? textLookup(connection, index, query.clue, textHits) : null
    const plain = choosePlan(query, { all, accesses, text: null, hits })
    const text = this.#lookup && this.#lookup.share * all
    this.#plans = { indexed: choosePlan(query, { all, accesses, text, hits }), plain }
    this.#ranges = order === 'asc' ? left.reverse() : left
  }

  /** The next ids that the query selects, perhaps none; undefined at the end. */
  step(): number[] | undefined {
    const range = this.#ranges.at(-1)
    if (!range) return undefined
    if (!this.#lookup) return this.#follow(this.#plans.plain, range)
    const at = this.#order === 'asc' ? range.first : range.last
    const segment = this.#index.segmentAt(at, this.#order)
    const ids = { first: Math.max(range.first, segment.first), last: Math.min(range.last, segment.last) }
    if (!segment.part) return this.#follow(this.#plans.plain, ids)
    try {
      return this.#followText(this.#lookup, segment.part, ids)
    } catch (error) {
      this.#index.dropDamaged(segment.part, error)
      return []
    }
  }

  #followText(lookup: TextLookup, part: Part, ids: IdRange): number[] {
    const plan = this.#plans.indexed
    if (plan.kind === 'scan' || !plan.text) return this.#follow(plan, ids)
    const match = lookup.match(part)
    if (match === undefined) return this.#follow(this.#plans.plain, ids)
    if (match !== null) return this.#follow(plan, ids, { table: `text_${part.no}`, match })
    this.#leaveBehind(this.#order === 'asc' ? ids.last : ids.first)
    return []
  }

  #follow(plan: Plan, { first, last }: IdRange, text: TextList | null = null): number[] {
    const stretch = { first, last, order: this.#order, limit: LIST_STEP }
    if (plan.kind === 'scan') return this.#scan(stretch)
    const open = openConditions(this.#query, plan.accesses)
    return this.#look(listSql(plan.accesses, text, open, stretch), stretch)
  }

  #scan({ first, last, order, limit }: Stretch): number[] {
    const ids = this.#scanIds
    const window =
      order === 'asc'
        ? { first, last: Math.min(last, first + ids - 1) }
        : { first: Math.max(first, last - ids + 1), last }
    const stretch = { ...window, order, limit }
    const startedAt = performance.now()
    const found = this.#look(scanSql(this.#query.conditions, stretch), stretch)
    const ms = performance.now() - startedAt
    if (ms > SCAN_STEP.ms * 2) this.#scanIds = Math.max(SCAN_STEP.least, ids / 2)
    else if (ms < SCAN_STEP.ms / 2) this.#scanIds = Math.min(SCAN_STEP.most, ids * 2)
    return found
  }

  #look({ sql, params }: Sql, { first, last, order, limit }: Stretch): number[] {
    const found = this.#connection.row<Found>(sql, ...params)
    const end = order === 'asc' ? last : first
    const reached = order === 'asc' ? found?.highest : found?.lowest
    this.#leaveBehind(found?.looked === limit ? (reached ?? end) : end)
    const ids = JSON.parse(found?.ids ?? '[]') as number[]
    return ids.sort(order === 'asc' ? (a, b) => a - b : (a, b) => b - a)
  }

  #leaveBehind(id: number): void {
    const range = this.#ranges.pop()
    if (!range) return
    const left = this.#order === 'asc' ? { ...range, first: id + 1 } : { ...range, last: id - 1 }
    if (left.first <= left.last) this.#ranges.push(left)
  }
}
