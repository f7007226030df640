import { Sketch } from './quantile-sketch.ts'
import { ByteReader, ByteWriter } from './varint-bytes.ts'

export const CALL_STATUSES = ['ok', 'error', 'timeout', 'cancelled'] as const
type CallStatus = (typeof CALL_STATUSES)[number]
/** What adds up, in the order in which it is stored. */
const COUNTERS = [...CALL_STATUSES, 'requestBytes', 'responseBytes'] as const

/** One event of a series. `value` is a duration in milliseconds, or the value of a custom metric. A refused call has none. */
export interface Sample {
  readonly ts: number
  readonly value: number | null
  readonly status: CallStatus
  readonly error_code: string | null
  readonly request_bytes: number
  readonly response_bytes: number
}

const MAX_CODES = 32
/** Counts the codes above the maximum. */
const OTHER = 'other'

/** The counts of one series in one period. Cells add up: an hour is the sum of its minutes. */
export class Cell {
  ok = 0
  error = 0
  timeout = 0
  cancelled = 0
  requestBytes = 0
  responseBytes = 0
  lastAt = 0
  codes: Map<string, number> | undefined
  sketch = new Sketch()

  get count(): number {
    return this.ok + this.error + this.timeout + this.cancelled
  }

  record(sample: Sample): void {
    this[sample.status] += 1
    if (sample.value !== null) this.sketch.record(sample.value)
    this.requestBytes += sample.request_bytes
    this.responseBytes += sample.response_bytes
    if (sample.ts > this.lastAt) this.lastAt = sample.ts
    if (sample.error_code !== null) this.#addCode(sample.error_code, 1)
  }

  merge(other: Cell): void {
    for (const counter of COUNTERS) this[counter] += other[counter]
    if (other.lastAt > this.lastAt) this.lastAt = other.lastAt
    this.sketch.merge(other.sketch)
    if (other.codes) for (const [code, count] of other.codes) this.#addCode(code, count)
  }

  /** Undoes a merge. Returns false when `other` was not merged before. */
  subtract(other: Cell): boolean {
    for (const counter of COUNTERS) this[counter] -= other[counter]
    if (other.codes) for (const [code, count] of other.codes) this.#subtractCode(code, count)
    return this.sketch.subtract(other.sketch) && CALL_STATUSES.every((status) => this[status] >= 0)
  }

  clone(): Cell {
    const copy = new Cell()
    copy.merge(this)
    return copy
  }

  /** `start` is the start of the period; times are written relative to it. */
  write(writer: ByteWriter, start: number): void {
    for (const counter of COUNTERS) writer.varint(this[counter])
    writer.varint(Math.max(0, this.lastAt - start))
    writer.varint(this.codes?.size ?? 0)
    for (const [code, count] of this.codes ?? []) {
      writer.text(code)
      writer.varint(count)
    }
    this.sketch.write(writer)
  }

  static read(reader: ByteReader, start: number): Cell {
    const cell = new Cell()
    for (const counter of COUNTERS) cell[counter] = reader.varint()
    cell.lastAt = start + reader.varint()
    for (let codes = reader.varint(); codes > 0; codes -= 1) cell.#addCode(reader.text(), reader.varint())
    cell.sketch = Sketch.read(reader)
    return cell
  }

  #addCode(code: string, count: number): void {
    this.codes ??= new Map()
    const known = this.codes.has(code) || this.codes.size < MAX_CODES - 1
    const name = known ? code : OTHER
    this.codes.set(name, (this.codes.get(name) ?? 0) + count)
  }

  /** A code without its own count was counted as `other`. */
  #subtractCode(code: string, count: number): void {
    const own = Math.min(count, this.codes?.get(code) ?? 0)
    this.#lower(code, own)
    if (own < count) this.#lower(OTHER, count - own)
  }

  #lower(code: string, count: number): void {
    const left = (this.codes?.get(code) ?? 0) - count
    if (left > 0) this.codes?.set(code, left)
    else this.codes?.delete(code)
  }
}

/** Series per stored block, so that a busy series does not cause all others to be written again. */
const CHUNK = 64
const FORMAT = 1

/** The cells of all series with events in one period. */
export class Tally {
  /** By series id. */
  readonly cells = new Map<number, Cell>()

  record(series: number, sample: Sample): void {
    let cell = this.cells.get(series)
    if (!cell) {
      cell = new Cell()
      this.cells.set(series, cell)
    }
    cell.record(sample)
  }

  merge(other: Tally): void {
    for (const [series, cell] of other.cells) this.mergeCell(series, cell)
  }

  /** Like `merge`, but may reuse the cells of `other`, which must not change while this tally is used. */
  adopt(other: Tally): void {
    for (const [series, cell] of other.cells) {
      const own = this.cells.get(series)
      if (own) own.merge(cell)
      else this.cells.set(series, cell)
    }
  }

  mergeCell(series: number, cell: Cell): void {
    const own = this.cells.get(series)
    if (own) own.merge(cell)
    else this.cells.set(series, cell.clone())
  }

  /** Undoes a merge. Returns false when the cell was not merged before. */
  subtractCell(series: number, cell: Cell): boolean {
    const own = this.cells.get(series)
    if (!own?.subtract(cell)) return false
    if (own.count === 0) this.cells.delete(series)
    return true
  }

  /** Split by chunk number. */
  chunks(): Map<number, Tally> {
    const chunks = new Map<number, Tally>()
    for (const [series, cell] of this.cells) {
      const number = Math.floor(series / CHUNK)
      const chunk = chunks.get(number) ?? new Tally()
      chunk.cells.set(series, cell)
      chunks.set(number, chunk)
    }
    return chunks
  }

  /** Serialises the cells for the store. `start` is the start of the period. */
  pack(start: number): Uint8Array {
    const writer = new ByteWriter()
    writer.varint(FORMAT)
    for (const [series, cell] of this.cells) {
      writer.varint(series)
      writer.part(() => cell.write(writer, start))
    }
    return writer.done()
  }
}

/** Reads the cells of the selected series in a block and skips the others. */
export function unpack(
  block: Uint8Array,
  start: number,
  visit: (series: number, cell: Cell) => void,
  isSelected: (series: number) => boolean = () => true,
): void {
  try {
    const reader = new ByteReader(block)
    if (reader.varint() !== FORMAT) return
    while (!reader.atEnd) {
      const series = reader.varint()
      const length = reader.varint()
      if (isSelected(series)) visit(series, Cell.read(reader, start))
      else reader.advance(length)
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    // a damaged block: its cells are lost
  }
}
