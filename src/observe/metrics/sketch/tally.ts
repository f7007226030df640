import { ByteReader, ByteWriter } from './bytes.ts'
import { Cell, type Sample } from './cell.ts'

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
