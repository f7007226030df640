import type { Connection } from '../sqlite/connection.ts'
import {
  BLOCK_ROWS,
  type Block,
  type BlockColumns,
  DamagedBlock,
  DETAIL_ROWS,
  DetailReader,
  filtersOf,
  keysOf,
  mergeBlocks,
  type NewBlock,
  namesOf,
} from './call-block.ts'

/** A stored block without its columns. */
export interface StoredBlock extends Omit<Block, 'names' | 'filters' | 'keys' | 'folded'> {
  readonly no: number
}

/** The rows of `details` that belong to a block, and how many calls each one has. */
type Parts = readonly (readonly [no: number, rows: number])[]

/** Blocks with fewer calls are tiny. So many of them are merged, and larger ones when together they make a full block. */
const TINY_ROWS = 256
const MAX_TINY = 32

const HEADS = 'SELECT no, rows, first_id, last_id, min_at, max_at, max_ms FROM blocks ORDER BY last_id DESC'
const INSERT = `
  INSERT INTO blocks (rows, first_id, last_id, min_at, max_at, max_ms, parts, names, filters, keys)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** The stored blocks. */
export class Blocks {
  readonly #connection: Connection
  /** The block with the highest id first. */
  #all: readonly StoredBlock[]

  constructor(connection: Connection) {
    this.#connection = connection
    this.#all = connection.rows<StoredBlock>(HEADS)
  }

  get all(): readonly StoredBlock[] {
    return this.#all
  }

  get rows(): number {
    return this.#all.reduce((sum, { rows }) => sum + rows, 0)
  }

  add(blocks: readonly NewBlock[]): void {
    this.#change(() => {
      for (const block of blocks) this.#insert(block, this.#insertDetails(block))
      this.#compact()
    })
  }

  delete(block: StoredBlock): void {
    this.#change(() => {
      for (const [part] of this.#parts(block)) this.#connection.run('DELETE FROM details WHERE no = ?', part)
      this.#remove(block)
    })
  }

  /** The names and the columns for filters. */
  filters({ no, rows }: StoredBlock): Pick<BlockColumns, 'names' | 'filters'> {
    const sql = 'SELECT names, filters FROM blocks WHERE no = ?'
    const row = this.#connection.row<Pick<Block, 'names' | 'filters'>>(sql, no) ?? missing()
    return { names: namesOf(row.names), filters: filtersOf(row.filters, rows) }
  }

  keys({ no, rows }: StoredBlock): BlockColumns['keys'] {
    const row = this.#connection.row<Pick<Block, 'keys'>>('SELECT keys FROM blocks WHERE no = ?', no)
    return keysOf((row ?? missing()).keys, rows)
  }

  /** The error messages of failed calls in lower case, one on each line. */
  folded({ no }: Pick<StoredBlock, 'no'>): string | undefined {
    return this.#connection.row<{ folded: string }>('SELECT folded FROM messages WHERE no = ?', no)?.folded
  }

  /** Returns a function that reads the details of a row. Parts are read once. */
  details(block: StoredBlock): (row: number) => ReturnType<DetailReader['at']> {
    const parts = this.#parts(block)
    const readers = new Map<number, DetailReader>()
    return (row) => {
      let start = 0
      for (const [no, rows] of parts) {
        if (row < start + rows) {
          const reader = readers.get(no) ?? this.#detailReader(no, rows)
          readers.set(no, reader)
          return reader.at(row - start)
        }
        start += rows
      }
      return missing()
    }
  }

  #detailReader(no: number, rows: number): DetailReader {
    const row = this.#connection.row<{ bytes: Uint8Array }>('SELECT bytes FROM details WHERE no = ?', no)
    return new DetailReader((row ?? missing()).bytes, rows)
  }

  #parts({ no }: StoredBlock): Parts {
    const row = this.#connection.row<{ parts: string }>('SELECT parts FROM blocks WHERE no = ?', no)
    return JSON.parse((row ?? missing()).parts) as Parts
  }

  #insertDetails({ details, rows }: NewBlock): Parts {
    const statement = this.#connection.prepared('INSERT INTO details (bytes) VALUES (?)')
    return details.map((bytes, index) => {
      const no = Number(statement.run(bytes).lastInsertRowid)
      return [no, Math.min(DETAIL_ROWS, rows - index * DETAIL_ROWS)]
    })
  }

  #insert(block: Block, parts: Parts): void {
    const { rows, first_id, last_id, min_at, max_at, max_ms, names, filters, keys, folded } = block
    const values = [
      rows,
      first_id,
      last_id,
      min_at,
      max_at,
      max_ms,
      JSON.stringify(parts),
      names,
      filters,
      keys,
    ]
    const no = Number(this.#connection.prepared(INSERT).run(...values).lastInsertRowid)
    if (folded !== null) this.#connection.run('INSERT INTO messages VALUES (?, ?)', no, folded)
    const stored = { no, rows, first_id, last_id, min_at, max_at, max_ms }
    this.#all = [...this.#all, stored].sort((a, b) => b.last_id - a.last_id)
  }

  /** Each flush of the history is a block of its own, so there would be too many of them. */
  #compact(): void {
    const tiny = this.#all.filter(({ rows }) => rows < TINY_ROWS)
    if (tiny.length > MAX_TINY) this.#merge(tiny)
    let rows = 0
    const partial = this.#all.filter((block) => block.rows >= TINY_ROWS && block.rows < BLOCK_ROWS / 2)
    const together = partial.reverse().filter((block) => {
      rows += block.rows
      return rows <= BLOCK_ROWS
    })
    if (rows >= BLOCK_ROWS) this.#merge(together)
  }

  #merge(blocks: readonly StoredBlock[]): void {
    const parts = blocks.flatMap((block) => this.#parts(block))
    const merged = mergeBlocks(
      blocks.map(({ no, rows }) => {
        const sql = 'SELECT names, filters, keys FROM blocks WHERE no = ?'
        const row = this.#connection.row<Pick<Block, 'names' | 'filters' | 'keys'>>(sql, no) ?? missing()
        return { rows, ...row, folded: this.folded({ no }) ?? null }
      }),
    )
    for (const block of blocks) this.#remove(block)
    this.#insert(merged, parts)
  }

  #remove(block: StoredBlock): void {
    for (const table of ['blocks', 'messages'])
      this.#connection.run(`DELETE FROM ${table} WHERE no = ?`, block.no)
    this.#all = this.#all.filter((each) => each !== block)
  }

  /** In one transaction. After an error, memory agrees with the file again. */
  #change(work: () => void): void {
    const before = this.#all
    try {
      this.#connection.transaction(work)
    } catch (error) {
      this.#all = before
      throw error
    }
  }
}

function missing(): never {
  throw new DamagedBlock('a part of a block is missing')
}
