import type { Page, PageRequest, ResolvedFilter } from '../../../logs/log-store.ts'
import type { Format, LogLine } from '../../../logs/logs.schema.ts'
import type { Connection } from '../../sqlite/connection.ts'
import { lowestId } from '../index/lines.ts'
import { idsBetween } from '../index/spans.ts'
import type { TextIndex } from '../index/text-index.ts'
import { FORMATTERS } from './format.ts'
import { readLines, sizeOf } from './line-reader.ts'
import { type LogQuery, logQuery } from './query.ts'
import type { Order } from './sql.ts'
import { Walk } from './walk.ts'

export interface Reading {
  readonly connection: Connection
  readonly index: TextIndex
  /** The highest id at the beginning: what is written later does not belong to this reading. */
  readonly upTo: number
  /** Lets other work be done between two steps. */
  readonly pause: () => Promise<void>
}

/** A total is exact up to here. */
const MOST_COUNTED = 10_000
/** A page ends early rather than fill the memory with long lines. */
const PAGE_BYTES = 4 * 1024 * 1024
const PIECE_BYTES = 192 * 1024

export async function readPage(reading: Reading, request: PageRequest): Promise<Page> {
  const { filter, order, limit, after } = request
  const query = logQuery(filter)
  const walk = startWalk(reading, filter, query, order, after)
  const ids = await collect(reading, walk, limit + 1)
  const items: LogLine[] = []
  let bytes = 0
  let last: number | undefined
  for (const line of readLines(reading.connection, ids.slice(0, limit), order)) {
    items.push(line)
    bytes += sizeOf(line)
    last = line.id
    if (bytes > PAGE_BYTES) break
  }
  const cut = bytes > PAGE_BYTES ? last : ids[limit - 1]
  const hasMore = ids.length > limit || (bytes > PAGE_BYTES && last !== ids.at(-1))
  const counted = after === null ? walk : startWalk(reading, filter, query, 'desc', null)
  const already = after === null ? ids.length : 0
  const total = already + (await collect(reading, counted, MOST_COUNTED + 1 - already)).length
  return {
    items,
    total: total > MOST_COUNTED ? null : total,
    next: hasMore ? (cut ?? null) : null,
  }
}

export interface PieceRequest {
  readonly filter: ResolvedFilter
  readonly order: Order
  readonly format: Format
  readonly after: number | null
  /** Null at the beginning; then as the first piece said. */
  readonly upTo: number | null
}

export interface Piece {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly next: number | null
  readonly upTo: number
}

/** The next part of a download. Nothing is kept between two pieces, so a download that is given up costs nothing. */
export async function readPiece(reading: Reading, request: PieceRequest): Promise<Piece> {
  const { filter, order, format, after } = request
  const upTo = request.upTo ?? reading.upTo
  const { head, line } = FORMATTERS[format]
  const walk = startWalk({ ...reading, upTo }, filter, logQuery(filter), order, after)
  let text = after === null ? head : ''
  for (let ids = walk.step(); ids; ids = walk.step()) {
    for (const found of readLines(reading.connection, ids, order)) {
      text += line(found)
      if (text.length >= PIECE_BYTES) return { bytes: encoder.encode(text), next: found.id, upTo }
    }
    await reading.pause()
  }
  return { bytes: encoder.encode(text), next: null, upTo }
}
const encoder = new TextEncoder()

export function startWalk(
  { connection, index, upTo }: Reading,
  filter: ResolvedFilter,
  query: LogQuery,
  order: Order,
  after: number | null,
): Walk {
  const first = lowestId(connection) ?? upTo + 1
  const all = { first, last: upTo }
  if (after !== null && order === 'asc') all.first = Math.max(first, after + 1)
  if (after !== null && order === 'desc') all.last = Math.min(upTo, after - 1)
  return new Walk(connection, index, query, order, idsBetween(connection, filter.since, filter.until, all))
}

async function collect({ pause }: Reading, walk: Walk, most: number): Promise<number[]> {
  const ids: number[] = []
  while (ids.length < most) {
    const found = walk.step()
    if (!found) break
    ids.push(...found)
    await pause()
  }
  return ids
}
