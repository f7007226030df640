import type { Connection } from './connection.ts'
import { choosePlan, openConditions, type Plan } from './log-plan.ts'
import type { Access, LogQuery } from './log-query.ts'
import { type Found, listSql, type Order, type Sql, type Stretch, scanSql } from './log-sql.ts'
import type { IdRange } from './spans.ts'
import type { Segment, TextIndex } from './text-index.ts'

/** How many ids of a list are looked at in one step. */
const LIST_STEP = 2048
/** How many ids a scan covers in one step: as many as take about 8 ms, for lines may be short or long. */
const SCAN_STEP = { least: 512, first: 8192, most: 65_536, ms: 8 }
/** How many entries of a list are looked at to guess its length. */
const SAMPLE = 500

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
  readonly #match: string | null
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
    this.#ranges = order === 'asc' ? left.reverse() : left
    const all = left.reduce((ids, { first, last }) => ids + last - first + 1, 0)
    const accesses = query.accesses.map((access) => this.#guess(access, all))
    const text = left.length > 0 ? index.rarest(query.trigrams) : null
    this.#match = text?.match ?? null
    const plain = choosePlan(query, { all, accesses, text: null })
    const indexed = text ? choosePlan(query, { all, accesses, text: text.share * all }) : plain
    this.#plans = { indexed, plain }
  }

  /** The next ids that the query selects, perhaps none; undefined at the end. */
  step(): number[] | undefined {
    const range = this.#ranges.at(-1)
    if (!range) return undefined
    if (this.#match === null) return this.#follow(this.#plans.plain, range, null)
    const at = this.#order === 'asc' ? range.first : range.last
    const segment = this.#index.segmentAt(at, this.#order)
    const part = clip(range, segment)
    if (!segment.part) return this.#follow(this.#plans.plain, part, null)
    try {
      return this.#follow(this.#plans.indexed, part, segment)
    } catch (error) {
      this.#index.dropDamaged(segment.part, error)
      return []
    }
  }

  #follow(plan: Plan, { first, last }: IdRange, segment: Segment | null): number[] {
    const stretch = { first, last, order: this.#order, limit: LIST_STEP }
    if (plan.kind === 'scan') return this.#scan(stretch)
    const text =
      plan.text && segment?.part && this.#match ? { table: `text_${segment.part.no}`, match: this.#match } : null
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

  /** The newest entries of a list stand for all of it. */
  #guess({ index, where, lists }: Access, all: number): number {
    const range = this.#ranges.at(this.#order === 'asc' ? 0 : -1)
    if (!range) return 0
    const rows = lists.map((values) => {
      const newest = `SELECT id FROM logs INDEXED BY ${index} WHERE ${where} AND id <= ? ORDER BY id DESC LIMIT ${SAMPLE}`
      const sql = `SELECT count(*) AS found, min(id) AS lowest FROM (${newest})`
      const sample = this.#connection.row<{ found: number; lowest: number | null }>(sql, ...values, range.last)
      if (!sample || sample.found < SAMPLE || sample.lowest === null) return sample?.found ?? 0
      return Math.min(all, (SAMPLE * all) / (range.last - sample.lowest + 1))
    })
    return rows.reduce((sum, count) => sum + count, 0)
  }
}

function clip({ first, last }: IdRange, segment: Segment): IdRange {
  return { first: Math.max(first, segment.first), last: Math.min(last, segment.last) }
}
