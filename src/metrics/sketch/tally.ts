import { ByteReader, ByteWriter } from './bytes.ts'
import { Cell, type Happening } from './cell.ts'

/** So many series share a block: one that is busy does not make the store write all the others again. */
const CHUNK = 64
const FORMAT = 1

/** One stretch of time, all series. Those without an event cost nothing. */
export class Tally {
  /** By the number of the series. */
  readonly cells = new Map<number, Cell>()

  record(series: number, happening: Happening): void {
    let cell = this.cells.get(series)
    if (!cell) {
      cell = new Cell()
      this.cells.set(series, cell)
    }
    cell.record(happening)
  }

  merge(other: Tally): void {
    for (const [series, cell] of other.cells) this.mergeCell(series, cell)
  }

  /** The same, but the cells of the other may become ours: nobody records into it any more while this one is used. */
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

  /** Takes back what was merged before; false when it was not. */
  subtractCell(series: number, cell: Cell): boolean {
    const own = this.cells.get(series)
    if (!own?.subtract(cell)) return false
    if (own.count === 0) this.cells.delete(series)
    return true
  }

  /** Apart by chunk. */
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

  /** As bytes for the store. `start` is the beginning of the stretch. */
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

/** Reads the cells of a block whose series are wanted, and passes over the others. */
export function unpack(
  block: Uint8Array,
  start: number,
  visit: (series: number, cell: Cell) => void,
  wanted: (series: number) => boolean = () => true,
): void {
  try {
    const reader = new ByteReader(block)
    if (reader.varint() !== FORMAT) return
    while (!reader.atEnd) {
      const series = reader.varint()
      const length = reader.varint()
      if (wanted(series)) visit(series, Cell.read(reader, start))
      else reader.pass(length)
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    // bytes that we did not write: the figures of this stretch are lost, and nobody can bring them back
  }
}
