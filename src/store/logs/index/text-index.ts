import type { Connection } from '../../sqlite/connection.ts'
import { sqliteTrouble } from '../../sqlite/sqlite.ts'
import type { Order } from '../read/sql.ts'
import { lowestId, type Run, runOfLines } from './lines.ts'

/** One piece of the text index: `text_<no>` knows every line from `first_id` to `last_id`. */
export interface Part {
  readonly no: number
  readonly first_id: number
  readonly last_id: number
  /** How many lines it took in; some may be gone since. */
  readonly rows: number
  readonly bytes: number
  /** A full part is put in order once, after which it is read several times faster. */
  readonly merged: number
  /** How many of its lines were deleted one by one, by a server's share. */
  readonly gone: number
}

/** Neighbouring ids that one part knows, or that none knows yet. */
interface Segment {
  readonly part: Part | null
  readonly first: number
  readonly last: number
}

/**
 * Trigrams of the messages, filled behind the writes. What is not in it yet is read line by line, so a search
 * is complete at any time.
 *
 * It comes in parts by id. The oldest lines go first, and with the last of them the whole part goes, at once;
 * an index of one piece would have to strike out every line. Ids are never used again, so a part may go on
 * naming a line that was deleted: whoever follows the id finds nothing there.
 */
export class TextIndex {
  readonly #connection: Connection
  readonly #partBytes: number
  readonly #mostStepBytes: number
  #stepBytes: number
  /** Early Node 22 has SQLite without FTS5. Then every search reads line by line. */
  readonly #available: boolean
  #parts: readonly Part[] = []
  #merging: number | undefined

  constructor(connection: Connection, sizes: { readonly part: number; readonly indexStep: number }) {
    this.#connection = connection
    this.#partBytes = sizes.part
    this.#mostStepBytes = sizes.indexStep
    this.#stepBytes = sizes.indexStep
    const modules = connection.rows("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'")
    this.#available = modules.length > 0
    this.#load()
  }

  /** The segment around an id: from there on, in the given order, up to its end. */
  segmentAt(id: number, order: Order): Segment {
    const part = this.#parts.find(({ first_id, last_id }) => first_id <= id && id <= last_id)
    if (part) return { part, first: part.first_id, last: part.last_id }
    const before = this.#parts.findLast(({ last_id }) => last_id < id)
    const after = this.#parts.find(({ first_id }) => first_id > id)
    const first = order === 'asc' ? id : (before?.last_id ?? 0) + 1
    return { part: null, first, last: order === 'desc' ? id : (after?.first_id ?? Infinity) - 1 }
  }

  get largest(): Part | undefined {
    return [...this.#parts].sort((a, b) => b.bytes - a.bytes)[0]
  }

  /** How many ids up to this one come behind the newest part. */
  behind(highestId: number): number {
    return this.#available ? highestId - (this.#parts.at(-1)?.last_id ?? 0) : 0
  }

  /** Takes the next lines into the index and says whether there is more to do. Takes some 15 ms, whatever they hold. */
  step(highestId: number): boolean {
    if (!this.#available) return false
    try {
      return this.#fillStep(highestId) || this.#mergeStep()
    } catch (error) {
      if (sqliteTrouble(error) !== 'damaged' || this.#parts.length === 0) throw error
      this.dropAll() // should the lines be damaged and not the index, the next step will say so
      return true
    }
  }

  #fillStep(highestId: number): boolean {
    const lowest = lowestId(this.#connection)
    if (lowest === null) return false
    for (const gap of this.#gaps(lowest, highestId)) {
      const run = runOfLines(this.#connection, gap.first, gap.last, this.#stepBytes)
      if (!run) continue
      const startedAt = performance.now()
      this.#take(gap, run.more ? run : { ...run, last: gap.last })
      this.#keepPace(performance.now() - startedAt)
      return true
    }
    return false
  }

  /** Random bytes have no two trigrams alike and take five times as long as words. */
  #keepPace(ms: number): void {
    if (ms > 20) this.#stepBytes = Math.max(this.#stepBytes / 2, LEAST_STEP_BYTES)
    else if (ms < 8) this.#stepBytes = Math.min(this.#stepBytes * 2, this.#mostStepBytes)
  }

  #mergeStep(): boolean {
    const part = this.#parts.find(({ bytes, merged }) => bytes >= this.#partBytes && merged === 0)
    if (!part) return false
    const table = `text_${part.no}`
    const before = this.#changes
    // A negative number begins the merging of everything, as `optimize` does in one go; the others go on.
    const pages = this.#merging === part.no ? MERGE_PAGES : -MERGE_PAGES
    this.#connection.run(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`, pages)
    this.#merging = part.no
    if (this.#changes - before >= 2) return true // FTS5 says so: below 2 there was nothing to be done
    this.#connection.run('UPDATE parts SET merged = 1 WHERE no = ?', part.no)
    this.#load()
    return true
  }

  get #changes(): number {
    return this.#connection.row<{ changes: number }>('SELECT total_changes() AS changes')?.changes ?? 0
  }

  #gaps(lowest: number, highest: number): { first: number; last: number; before: Part | undefined }[] {
    const parts = this.#parts.filter(({ last_id }) => last_id >= lowest)
    const starts = [undefined, ...parts]
    return starts
      .map((before, index) => ({
        before,
        first: Math.max(lowest, (before?.last_id ?? 0) + 1),
        last: Math.min(highest, (parts[index]?.first_id ?? Infinity) - 1),
      }))
      .filter(({ first, last }) => first <= last)
  }

  #take({ first, before }: { first: number; before: Part | undefined }, { last, bytes }: Run): void {
    const fits = before && before.bytes < this.#partBytes
    const no = fits ? before.no : Math.max(0, ...this.#parts.map((part) => part.no)) + 1
    this.#connection.transaction(() => {
      if (!fits) this.#connection.exec(createPart(no, first))
      // Two more letters, so that every letter of a message begins a trigram: see `text-lookup.ts`.
      const lines = 'SELECT id, message || char(10, 10) FROM logs WHERE id BETWEEN ? AND ?'
      const rows = this.#connection.run(`INSERT INTO text_${no} (rowid, message) ${lines}`, first, last)
      const grown = 'UPDATE parts SET last_id = ?, rows = rows + ?, bytes = bytes + ? WHERE no = ?'
      this.#connection.run(grown, last, rows, bytes, no)
    })
    this.#load()
  }

  /** Parts all of whose lines are gone, or more than half of them: what is left will be taken in anew. */
  dropEmptied(): void {
    for (const part of this.#parts) {
      const { rows } = this.#connection.row<{ rows: number }>(
        'SELECT count(*) AS rows FROM logs WHERE id BETWEEN ? AND ?',
        part.first_id,
        part.last_id,
      ) ?? { rows: 0 }
      if (rows * 2 < part.rows) this.#drop(part)
    }
  }

  /** What a server's share leaves behind. A part that names hardly a line that is still there only takes room. */
  strike(ids: readonly number[]): void {
    const [first = 0, last = 0] = [ids.at(0), ids.at(-1)]
    const struck = this.#parts.filter(({ first_id, last_id }) => first_id <= last && last_id >= first)
    for (const part of struck) {
      const gone = part.gone + ids.filter((id) => part.first_id <= id && id <= part.last_id).length
      if (gone > part.rows * MOST_GONE) this.#drop(part)
      else this.#connection.run('UPDATE parts SET gone = ? WHERE no = ?', gone, part.no)
    }
    this.#load()
  }

  dropAll(): void {
    for (const part of this.#parts) this.#drop(part)
  }

  /** What a trim leaves behind. */
  dropBelow(lowest: number): void {
    for (const part of this.#parts) if (part.last_id < lowest) this.#drop(part)
  }

  /** A damaged part is no loss: it is built anew from the lines. Anything but damage is thrown on. */
  dropDamaged(part: Part, error: unknown): void {
    if (sqliteTrouble(error) !== 'damaged') throw error
    this.#drop(part)
  }

  #drop(part: Part): void {
    if (!this.#available) return
    this.#connection.transaction(() => {
      this.#connection.exec(
        `DROP TABLE IF EXISTS temp.terms_${part.no}; DROP TABLE text_${part.no}; DELETE FROM parts WHERE no = ${part.no}`,
      )
    })
    this.#load()
  }

  #load(): void {
    this.#parts = this.#available ? this.#connection.rows<Part>('SELECT * FROM parts ORDER BY first_id') : []
  }
}

const MERGE_PAGES = 100
const MOST_GONE = 0.75
const LEAST_STEP_BYTES = 8 * 1024

/** `detail=none` and no sizes: lists of ids and nothing else, since every hit is checked on its line anyway. */
const createPart = (no: number, firstId: number) => `
  CREATE VIRTUAL TABLE text_${no} USING fts5(
    message, tokenize = 'trigram case_sensitive 0', detail = none, content = '', columnsize = 0
  );
  INSERT INTO text_${no} (text_${no}, rank) VALUES ('automerge', 8);
  INSERT INTO parts (no, first_id, last_id, rows, bytes, merged)
  VALUES (${no}, ${firstId}, ${firstId - 1}, 0, 0, 0);
`
