import type { Page, PageRequest, ResolvedFilter } from '../../../observe/logs/log-store.ts'
import type { Format, LogLine } from '../../../observe/logs/logs.schema.ts'
import type { Connection } from '../../sqlite/connection.ts'
import type { TextIndex } from '../index/text-index.ts'
import { idsBetween, lowestId } from '../index/time-spans.ts'
import { LINE_COLUMNS } from '../log-schema.ts'
import { readLines, sizeOf } from './line-reader.ts'
import { type LogQuery, logQuery } from './log-query.ts'
import { Walk } from './matching-line-walk.ts'
import type { Order } from './query-sql.ts'

export interface ReadContext {
  readonly connection: Connection
  readonly index: TextIndex
  /** The highest id at the start. Lines written later are not read. */
  readonly upTo: number
  /** Yields to other calls between two steps. */
  readonly pause: () => Promise<void>
}

/** Totals above this are reported as unknown. */
const MAX_COUNTED = 10_000
/** A page ends early when its lines exceed this size. */
const PAGE_BYTES = 4 * 1024 * 1024
const CHUNK_BYTES = 192 * 1024

export async function readPage(context: ReadContext, request: PageRequest): Promise<Page> {
  const { filter, order, limit, after, counts = true } = request
  const query = logQuery(filter)
  const walk = startWalk(context, filter, query, order, after)
  const ids = await collect(context, walk, limit + 1)
  const items: LogLine[] = []
  let bytes = 0
  let last: number | undefined
  for (const line of readLines(context.connection, ids.slice(0, limit), order)) {
    items.push(line)
    bytes += sizeOf(line)
    last = line.id
    if (bytes > PAGE_BYTES) break
  }
  const cut = bytes > PAGE_BYTES ? last : ids[limit - 1]
  const hasMore = ids.length > limit || (bytes > PAGE_BYTES && last !== ids.at(-1))
  const next = hasMore ? (cut ?? null) : null
  if (!counts) return { items, total: null, next }
  const counted = after === null ? walk : startWalk(context, filter, query, 'desc', null)
  const already = after === null ? ids.length : 0
  const total = already + (await collect(context, counted, MAX_COUNTED + 1 - already)).length
  return { items, total: total > MAX_COUNTED ? null : total, next }
}

export interface ChunkRequest {
  readonly filter: ResolvedFilter
  readonly order: Order
  readonly format: Format
  readonly after: number | null
  /** Null for the first chunk; then the value of the first chunk. */
  readonly upTo: number | null
}

export interface Chunk {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly next: number | null
  readonly upTo: number
}

/** The next part of a download. No state is kept between two chunks, so an abandoned download costs nothing. */
export async function readChunk(context: ReadContext, request: ChunkRequest): Promise<Chunk> {
  const { filter, order, format, after } = request
  const upTo = request.upTo ?? context.upTo
  const { head, line } = FORMATTERS[format]
  const walk = startWalk({ ...context, upTo }, filter, logQuery(filter), order, after)
  let text = after === null ? head : ''
  for (let ids = walk.step(); ids; ids = walk.step()) {
    for (const found of readLines(context.connection, ids, order)) {
      text += line(found)
      if (text.length >= CHUNK_BYTES) return { bytes: encoder.encode(text), next: found.id, upTo }
    }
    await context.pause()
  }
  return { bytes: encoder.encode(text), next: null, upTo }
}
const encoder = new TextEncoder()

export function startWalk(
  { connection, index, upTo }: ReadContext,
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

async function collect({ pause }: ReadContext, walk: Walk, max: number): Promise<number[]> {
  const ids: number[] = []
  while (ids.length < max) {
    const found = walk.step(max - ids.length)
    if (!found) break
    ids.push(...found)
    await pause()
  }
  return ids
}

/** A download format: its header, and each line including the line end. */
interface Formatter {
  readonly head: string
  readonly line: (line: LogLine) => string
}

export const FORMATTERS: Readonly<Record<Format, Formatter>> = {
  ndjson: { head: '', line: (line) => `${JSON.stringify(line)}\n` },
  text: { head: '', line: textLine },
  csv: { head: `${LINE_COLUMNS.join(',')}\r\n`, line: csvLine },
}

function textLine({ ts, level, source, server_id, message }: LogLine): string {
  const from = server_id === null ? source : `${source}/${server_id}`
  return `${ts} ${level.toUpperCase().padEnd(5)} ${escaped(from)} ${escaped(message)}\n`
}

/**
 * Escapes characters that could move the cursor, change terminal colours, break the line or reverse the text
 * direction. A backslash is not escaped: this format is for reading, ndjson is exact.
 */
function escaped(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const short = SHORT.get(character)
    if (short) return short
    const code = character.charCodeAt(0)
    return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`
  })
}
const UNSAFE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const SHORT = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])
const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0')

function csvLine(line: LogLine): string {
  const cells = LINE_COLUMNS.map((column) => {
    const value = line[column]
    if (value === null) return ''
    return cell(typeof value === 'object' ? JSON.stringify(value) : String(value))
  })
  return `${cells.join(',')}\r\n`
}

/** RFC 4180. An apostrophe in front keeps spreadsheets from running a cell as a formula. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
