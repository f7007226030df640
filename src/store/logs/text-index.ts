import { sqliteTrouble } from '../sqlite.ts'
import type { Connection } from './connection.ts'
import { lowestId, type Run, runOfLines } from './lines.ts'
import type { Order } from './log-sql.ts'
import type { Trigram } from './search-text.ts'

/** One piece of the text index: `text_<no>` knows every line from `first_id` to `last_id`. */
interface Part {
  readonly no: number
  readonly first_id: number
  readonly last_id: number
  /** How many lines it took in; some may be gone since. */
  readonly rows: number
  readonly bytes: number
}

/** Neighbouring ids that one part knows, or that none knows yet. */
export interface Segment {
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
  readonly #stepBytes: number
  /** Early Node 22 has SQLite without FTS5. Then every search reads line by line. */
  readonly #available: boolean
  #parts: readonly Part[] = []

  constructor(connection: Connection, partBytes: number, stepBytes: number) {
    this.#connection = connection
    this.#partBytes = partBytes
    this.#stepBytes = stepBytes
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

  /**
   * The rarest trigrams, and what share of the lines has the rarest of them. The newest lines of the largest
   * part stand for all. Going through many lists at once is slow, so a few trigrams that are apart must do.
   */
  rarest(trigrams: readonly Trigram[]): { readonly match: string; readonly share: number } | null {
    const [part] = [...this.#parts].sort((a, b) => b.bytes - a.bytes)
    if (!part || trigrams.length === 0) return null
    const shares = this.#shares(part, trigrams)
    if (!shares) return this.rarest(trigrams)
    shares.sort((a, b) => a.share - b.share)
    const chosen: Trigram[] = []
    let left = part.rows
    // Two that overlap mostly stand in the same lines, so they come only when there is no other.
    for (const apart of [3, 1]) {
      for (const { trigram, share } of shares) {
        if (chosen.length === MOST_MET || (chosen.length > 0 && left < FEW)) break
        if (chosen.some(({ at }) => Math.abs(at - trigram.at) < apart)) continue
        chosen.push(trigram)
        left *= share
      }
    }
    return { match: chosen.map(quoted).join(' AND '), share: shares[0]?.share ?? 0 }
  }

  #shares(part: Part, trigrams: readonly Trigram[]): { trigram: Trigram; share: number }[] | undefined {
    try {
      return trigrams.map((trigram) => ({ trigram, share: this.#share(part, trigram) }))
    } catch (error) {
      this.dropDamaged(part, error)
      return undefined
    }
  }

  #share({ no, first_id, last_id }: Part, trigram: Trigram): number {
    const newest = `SELECT rowid FROM text_${no} WHERE text_${no} MATCH ? ORDER BY rowid DESC LIMIT ${SAMPLE}`
    const sql = `SELECT count(*) AS found, min(rowid) AS lowest FROM (${newest})`
    const sample = this.#connection.row<{ found: number; lowest: number | null }>(sql, quoted(trigram))
    const found = sample?.found ?? 0
    const reach = found < SAMPLE ? first_id : (sample?.lowest ?? first_id)
    return found / (last_id - reach + 1)
  }

  /** Takes the next lines into the index and says whether there are more. Takes some 15 ms. */
  step(highestId: number): boolean {
    if (!this.#available) return false
    const lowest = lowestId(this.#connection)
    if (lowest === null) return false
    for (const gap of this.#gaps(lowest, highestId)) {
      const run = runOfLines(this.#connection, gap.first, gap.last, this.#stepBytes)
      if (!run) continue
      this.#take(gap, run.more ? run : { ...run, last: gap.last })
      return true
    }
    return false
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
      const lines = 'SELECT id, message FROM logs WHERE id BETWEEN ? AND ?'
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
      this.#connection.exec(`DROP TABLE text_${part.no}; DELETE FROM parts WHERE no = ${part.no}`)
    })
    this.#load()
  }

  #load(): void {
    this.#parts = this.#available ? this.#connection.rows<Part>('SELECT * FROM parts ORDER BY first_id') : []
  }
}

/** How many lines of a trigram are looked at to guess its share. */
const SAMPLE = 100
const MOST_MET = 3
const FEW = 250

const quoted = ({ text }: { text: string }) => `"${text.replaceAll('"', '""')}"`

/** `detail=none` and no sizes: lists of ids and nothing else, since every hit is checked on its line anyway. */
const createPart = (no: number, firstId: number) => `
  CREATE VIRTUAL TABLE text_${no} USING fts5(
    message, tokenize = 'trigram case_sensitive 0', detail = none, content = '', columnsize = 0
  );
  INSERT INTO text_${no} (text_${no}, rank) VALUES ('automerge', 8);
  INSERT INTO parts (no, first_id, last_id, rows, bytes) VALUES (${no}, ${firstId}, ${firstId - 1}, 0, 0);
`
