import type { CallRecord, CallStatus } from '../../observe/calls/call-store.ts'

/**
 * Calls are stored in blocks, column by column, because a row and its index entries for each call would cost more CPU time
 * than the rest of its recording, and a filter reads only the columns that it compares.
 */
export interface Block {
  readonly rows: number
  readonly first_id: number
  readonly last_id: number
  readonly min_at: number
  readonly max_at: number
  readonly max_ms: number
  /** JSON: the names in the columns, which contain their positions. The first one is null. */
  readonly names: string
  readonly filters: Uint8Array
  readonly keys: Uint8Array
  /** The error messages in lower case, one on each line. Null when no call of the block has failed. */
  readonly folded: string | null
}

/** A block that is not stored yet. */
export interface NewBlock extends Block {
  readonly details: readonly Uint8Array[]
}

/** The calls of a full block. Positions of names have 16 bits. */
export const BLOCK_ROWS = 8192
/** Details are read for a few calls of a block only, so they are stored in smaller parts. */
export const DETAIL_ROWS = 128

export const STATUSES: readonly CallStatus[] = ['ok', 'error', 'timeout', 'cancelled']

/** What filters compare. */
export const FILTERS = {
  duration_ms: Float32Array,
  server_id: Uint16Array,
  tool: Uint16Array,
  agent_type: Uint16Array,
  session_id: Uint16Array,
  error_code: Uint16Array,
  status: Uint8Array,
} as const
export type Filters = Views<typeof FILTERS>

/** Of a call that did not reach a server. It is less than every duration that is asked for. */
export const NO_DURATION = -1
const durationOf = (ms: number | undefined): number | null => (ms === undefined || ms < 0 ? null : ms)

const NAMED = ['server_id', 'tool', 'agent_type', 'session_id', 'error_code'] as const

export const KEYS = { call_id: Float64Array, started_at: Float64Array } as const
export type Keys = Views<typeof KEYS>

/** What only a result needs. The request ids and the error messages follow. */
export const DETAILS = {
  queue_ms: Float32Array,
  start_ms: Float32Array,
  server_ms: Float32Array,
  request_bytes: Uint32Array,
  response_bytes: Uint32Array,
} as const

export const filtersOf = (bytes: Uint8Array, rows: number): Filters => viewsOf(FILTERS, bytes, rows)
export const keysOf = (bytes: Uint8Array, rows: number): Keys => viewsOf(KEYS, bytes, rows)

type Parts = Pick<Block, 'rows' | 'names' | 'filters' | 'keys' | 'folded'>

/** One block with the calls of several. Their details stay as they are. */
export function mergeBlocks(blocks: readonly Parts[]): Block {
  const rows = blocks.reduce((sum, block) => sum + block.rows, 0)
  const filters = new Uint8Array(sizeOf(FILTERS, rows))
  const keys = new Uint8Array(sizeOf(KEYS, rows))
  const [filter, key] = [viewsOf(FILTERS, filters, rows), viewsOf(KEYS, keys, rows)]
  const names = new Names()
  let at = 0
  for (const block of blocks) {
    const [from, keysFrom] = [filtersOf(block.filters, block.rows), keysOf(block.keys, block.rows)]
    const positions = namesOf(block.names).map((name) => names.position(name))
    for (const column of NAMED)
      filter[column].set(
        from[column].map((name) => positions[name] ?? 0),
        at,
      )
    filter.duration_ms.set(from.duration_ms, at)
    filter.status.set(from.status, at)
    key.call_id.set(keysFrom.call_id, at)
    key.started_at.set(keysFrom.started_at, at)
    at += block.rows
  }
  const folded = blocks.map((block) => block.folded ?? '').join('') || null
  const block = { rows, names: names.json(), filters, keys, folded }
  return { ...limitsOf(block), ...block }
}

export function limitsOf({ keys, filters, rows }: Pick<Block, 'keys' | 'filters' | 'rows'>) {
  const { call_id, started_at } = keysOf(keys, rows)
  const { duration_ms } = filtersOf(filters, rows)
  let [first_id, last_id, min_at, max_at, max_ms] = [Infinity, 0, Infinity, 0, 0]
  for (let row = 0; row < rows; row += 1) {
    const [id, at, ms] = [call_id[row] ?? 0, started_at[row] ?? 0, duration_ms[row] ?? 0]
    if (id < first_id) first_id = id
    if (id > last_id) last_id = id
    if (at < min_at) min_at = at
    if (at > max_at) max_at = at
    if (ms > max_ms) max_ms = ms
  }
  return { first_id, last_id, min_at, max_at, max_ms }
}

/** The columns of a block in memory. */
export interface BlockColumns {
  readonly names: readonly (string | null)[]
  readonly filters: Filters
  readonly keys: Keys
}

type Detail = { readonly [K in keyof typeof DETAILS]: number } & Pick<
  CallRecord,
  'request_id' | 'error_message'
>
/** What the columns of a block say about a call. */
export type CallHead = Omit<CallRecord, keyof Detail>

export function headAt({ names, filters, keys }: BlockColumns, row: number): CallHead {
  const name = (column: Uint16Array) => names[column[row] ?? 0] ?? null
  return {
    call_id: keys.call_id[row] ?? 0,
    started_at: keys.started_at[row] ?? 0,
    duration_ms: durationOf(filters.duration_ms[row]),
    server_id: name(filters.server_id),
    tool: name(filters.tool) ?? '',
    agent_type: name(filters.agent_type),
    session_id: name(filters.session_id),
    error_code: name(filters.error_code),
    status: STATUSES[filters.status[row] ?? 0] ?? 'error',
  }
}

/** Reads the details of single calls. */
export class DetailReader {
  readonly #columns: Views<typeof DETAILS>
  readonly #texts: TextList
  readonly #rows: number

  constructor(bytes: Uint8Array, rows: number) {
    this.#columns = viewsOf(DETAILS, bytes, rows)
    this.#texts = new TextList(bytes.subarray(sizeOf(DETAILS, rows)), 2 * rows)
    this.#rows = rows
  }

  at(row: number): Detail {
    const { queue_ms, start_ms, server_ms, request_bytes, response_bytes } = this.#columns
    return {
      queue_ms: queue_ms[row] ?? 0,
      start_ms: start_ms[row] ?? 0,
      server_ms: server_ms[row] ?? 0,
      request_bytes: request_bytes[row] ?? 0,
      response_bytes: response_bytes[row] ?? 0,
      request_id: this.#texts.at(row),
      error_message: this.#texts.at(this.#rows + row),
    }
  }
}

/** Columns of numbers, one after another in the same bytes. The widest ones are first, so that all are aligned. */
type Layout = Readonly<Record<string, new (buffer: ArrayBuffer, offset: number, length: number) => unknown>>
export type Views<L extends Layout> = { readonly [K in keyof L]: InstanceType<L[K]> }

/** The bytes of a block do not fit together. */
export class DamagedBlock extends Error {}

const widthOf = (View: unknown): number => (View as { readonly BYTES_PER_ELEMENT: number }).BYTES_PER_ELEMENT

export function sizeOf(layout: Layout, rows: number): number {
  return Object.values(layout).reduce((sum, View) => sum + widthOf(View) * rows, 0)
}

export function viewsOf<L extends Layout>(layout: L, bytes: Uint8Array, rows: number): Views<L> {
  if (bytes.length < sizeOf(layout, rows)) throw new DamagedBlock('a block is too short')
  const aligned = bytes.byteOffset % 8 === 0 ? bytes : bytes.slice()
  let offset = aligned.byteOffset
  const views = Object.entries(layout).map(([name, View]) => {
    const view = new View(aligned.buffer as ArrayBuffer, offset, rows)
    offset += widthOf(View) * rows
    return [name, view]
  })
  return Object.fromEntries(views)
}

/** The names of a block. Columns contain their positions. */
export class Names {
  readonly #positions = new Map<string | null, number>([[null, 0]])

  position(name: string | null): number {
    const known = this.#positions.get(name)
    if (known !== undefined) return known
    this.#positions.set(name, this.#positions.size)
    return this.#positions.size - 1
  }

  json(): string {
    return JSON.stringify([...this.#positions.keys()])
  }
}

export function namesOf(json: string): readonly (string | null)[] {
  const names: unknown = JSON.parse(json)
  if (!Array.isArray(names)) throw new DamagedBlock('the names of a block cannot be read')
  return names as (string | null)[]
}

const ENDS = { end: Uint32Array } as const

/** Reads single texts: where each one ends, then the texts. */
class TextList {
  readonly #texts: Buffer
  readonly #ends: Uint32Array

  constructor(bytes: Uint8Array, count: number) {
    this.#ends = viewsOf(ENDS, bytes, count).end
    this.#texts = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).subarray(sizeOf(ENDS, count))
  }

  /** Null for an empty text. */
  at(index: number): string | null {
    const [start, end] = [this.#ends[index - 1] ?? 0, this.#ends[index] ?? 0]
    return end > start ? this.#texts.toString('utf8', start, end) : null
  }
}
