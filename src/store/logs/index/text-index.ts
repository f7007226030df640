import type { Connection } from '../../sqlite/connection.ts'
import { sqliteErrorKind } from '../../sqlite/sqlite-errors.ts'
import type { Order } from '../read/query-sql.ts'
import type { IndexTerms, Trigram } from './search-text.ts'
import { lowestId, type Run, runOfLines } from './time-spans.ts'

/** One part of the text index: the table `text_<no>` covers every line from `first_id` to `last_id`. */
export interface Part {
  readonly no: number
  readonly first_id: number
  readonly last_id: number
  /** How many lines were indexed; some may have been deleted since. */
  readonly rows: number
  readonly bytes: number
  /** 1 when the full part was merged, which makes lookups several times faster. */
  readonly merged: number
  /** How many of its lines were deleted because their server exceeded its share. */
  readonly gone: number
}

/** Consecutive ids that are covered by one part, or by none. */
interface Segment {
  readonly part: Part | null
  readonly first: number
  readonly last: number
}

/**
 * A trigram index of the messages, filled in the background. A search scans lines that are not indexed yet, so its
 * results are always complete.
 *
 * The index is split into parts by id. The oldest lines are deleted first, and a part is dropped as a whole with its
 * last line; in a single index every line would have to be removed one by one. Ids are never reused, so a part may
 * still contain the id of a deleted line: a lookup of that id finds no line.
 */
export class TextIndex {
  readonly #connection: Connection
  readonly #partBytes: number
  readonly #maxStepBytes: number
  #stepBytes: number
  /** Early Node 22 releases have SQLite without FTS5. Every search scans the lines then. */
  readonly #available: boolean
  #parts: readonly Part[] = []
  #merging: number | undefined

  constructor(connection: Connection, sizes: { readonly part: number; readonly indexStep: number }) {
    this.#connection = connection
    this.#partBytes = sizes.part
    this.#maxStepBytes = sizes.indexStep
    this.#stepBytes = sizes.indexStep
    const modules = connection.rows("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'")
    this.#available = modules.length > 0
    this.#load()
  }

  /** The segment that contains an id. Uncovered segments start at the id in the given order. */
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

  /** How many ids up to `highestId` follow the newest part. */
  unindexed(highestId: number): number {
    return this.#available ? highestId - (this.#parts.at(-1)?.last_id ?? 0) : 0
  }

  /** Indexes the next lines, in about 15 ms, and returns whether more work is left. */
  step(highestId: number): boolean {
    if (!this.#available) return false
    try {
      return this.#fillStep(highestId) || this.#mergeStep()
    } catch (error) {
      if (sqliteErrorKind(error) !== 'damaged' || this.#parts.length === 0) throw error
      this.dropAll() // if the lines are damaged rather than the index, the next step throws
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
      this.#index(gap, run.more ? run : { ...run, last: gap.last })
      this.#adjustStep(performance.now() - startedAt)
      return true
    }
    return false
  }

  /** Random bytes have far more distinct trigrams than words and take five times as long. */
  #adjustStep(ms: number): void {
    if (ms > 20) this.#stepBytes = Math.max(this.#stepBytes / 2, MIN_STEP_BYTES)
    else if (ms < 8) this.#stepBytes = Math.min(this.#stepBytes * 2, this.#maxStepBytes)
  }

  #mergeStep(): boolean {
    const part = this.#parts.find(({ bytes, merged }) => bytes >= this.#partBytes && merged === 0)
    if (!part) return false
    const table = `text_${part.no}`
    const before = this.#changes
    // A negative number starts a full merge, like `optimize` but in steps; positive numbers continue it.
    const pages = this.#merging === part.no ? MERGE_PAGES : -MERGE_PAGES
    this.#connection.run(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`, pages)
    this.#merging = part.no
    if (this.#changes - before >= 2) return true // FTS5: less than 2 changes means that the merge is complete
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

  #index({ first, before }: { first: number; before: Part | undefined }, { last, bytes }: Run): void {
    const fits = before && before.bytes < this.#partBytes
    const no = fits ? before.no : Math.max(0, ...this.#parts.map((part) => part.no)) + 1
    this.#connection.transaction(() => {
      if (!fits) this.#connection.exec(createPart(no, first))
      // Two extra characters, so that every letter of a message starts a trigram: see `textLookup`.
      const lines = 'SELECT id, message || char(10, 10) FROM logs WHERE id BETWEEN ? AND ?'
      const rows = this.#connection.run(`INSERT INTO text_${no} (rowid, message) ${lines}`, first, last)
      const grown = 'UPDATE parts SET last_id = ?, rows = rows + ?, bytes = bytes + ? WHERE no = ?'
      this.#connection.run(grown, last, rows, bytes, no)
    })
    this.#load()
  }

  /** Drops parts that have lost more than half of their lines. The remaining lines are indexed again. */
  dropSparse(): void {
    for (const part of this.#parts) {
      const { rows } = this.#connection.row<{ rows: number }>(
        'SELECT count(*) AS rows FROM logs WHERE id BETWEEN ? AND ?',
        part.first_id,
        part.last_id,
      ) ?? { rows: 0 }
      if (rows * 2 < part.rows) this.#drop(part)
    }
  }

  /** Counts lines that were deleted because their server exceeded its share, and drops parts with few lines left. */
  markDeleted(ids: readonly number[]): void {
    const [first = 0, last = 0] = [ids.at(0), ids.at(-1)]
    const affected = this.#parts.filter(({ first_id, last_id }) => first_id <= last && last_id >= first)
    for (const part of affected) {
      const gone = part.gone + ids.filter((id) => part.first_id <= id && id <= part.last_id).length
      if (gone > part.rows * MAX_GONE_SHARE) this.#drop(part)
      else this.#connection.run('UPDATE parts SET gone = ? WHERE no = ?', gone, part.no)
    }
    this.#load()
  }

  dropAll(): void {
    for (const part of this.#parts) this.#drop(part)
  }

  /** Drops parts whose lines were all trimmed. */
  dropBelow(lowest: number): void {
    for (const part of this.#parts) if (part.last_id < lowest) this.#drop(part)
  }

  /** Drops a damaged part; its lines are indexed again. Rethrows every other error. */
  dropDamaged(part: Part, error: unknown): void {
    if (sqliteErrorKind(error) !== 'damaged') throw error
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
const MAX_GONE_SHARE = 0.75
const MIN_STEP_BYTES = 8 * 1024

/** `detail=none` and no column sizes: only lists of ids, since every candidate line is checked anyway. */
const createPart = (no: number, firstId: number) => `
  CREATE VIRTUAL TABLE text_${no} USING fts5(
    message, tokenize = 'trigram case_sensitive 0', detail = none, content = '', columnsize = 0
  );
  INSERT INTO text_${no} (text_${no}, rank) VALUES ('automerge', 8);
  INSERT INTO parts (no, first_id, last_id, rows, bytes, merged)
  VALUES (${no}, ${firstId}, ${firstId - 1}, 0, 0, 0);
`

/** A search in the text index. */
export interface TextLookup {
  /** Estimated upper limit for the share of lines that match. */
  readonly share: number
  /** The FTS5 query for a part. Null when no line of the part can match, undefined when the part must be scanned. */
  match(part: Part): string | null | undefined
}

/** How many index entries of a trigram are read to estimate its share. */
const SAMPLE = 100
/** Intersecting many lists is slow. Further trigrams of the same word hardly narrow the result. */
const MAX_TRIGRAMS = { ofDifferentWords: 4, ofSameWord: 3 }
/** With more trigrams than this for a prefix, a scan is faster. */
const MAX_PREFIX_TRIGRAMS = 200

/** Null when only a scan can answer the search. `hits` is the share of lines that match the search term. */
export function textLookup(
  connection: Connection,
  index: TextIndex,
  terms: IndexTerms,
  hits: number,
): TextLookup | null {
  const { trigrams, prefix } = terms
  const { largest } = index
  if (!largest) return null
  if (prefix !== null) {
    const matches = new Map<string, string | null | undefined>()
    const match = (part: Part) => {
      const key = `${part.no} to ${part.last_id}` // the newest part still grows
      if (!matches.has(key)) matches.set(key, matchPrefix(connection, part, prefix))
      return matches.get(key)
    }
    return { share: hits, match }
  }
  if (trigrams.length === 0) return null
  try {
    const shares = trigrams.map((trigram) => ({ trigram, share: shareOf(connection, largest, trigram) }))
    const match = rarest(shares).map(quoted).join(' AND ')
    return { share: Math.min(...shares.map(({ share }) => share)), match: () => match }
  } catch (error) {
    index.dropDamaged(largest, error)
    return textLookup(connection, index, terms, hits)
  }
}

/**
 * Picks a few rare trigrams. Overlapping trigrams, and those of one word, mostly occur in the same lines, so different
 * words come first. A trigram across two words counts half its share: it also requires that the words are adjacent.
 */
function rarest(shares: readonly { readonly trigram: Trigram; readonly share: number }[]): Trigram[] {
  const weight = ({ trigram, share }: { trigram: Trigram; share: number }) =>
    ACROSS_WORDS.test(trigram.text) ? share / 2 : share
  const sorted = [...shares].sort((a, b) => weight(a) - weight(b)).map(({ trigram }) => trigram)
  const chosen: Trigram[] = []
  for (const sameWord of [false, true]) {
    const max = sameWord ? MAX_TRIGRAMS.ofSameWord : MAX_TRIGRAMS.ofDifferentWords
    for (const trigram of sorted) {
      const apart = chosen.every(({ at }) => Math.abs(at - trigram.at) >= 3)
      const otherWord = sameWord || chosen.every(({ word }) => word !== trigram.word)
      if (apart && otherWord && chosen.length < max) chosen.push(trigram)
    }
  }
  return chosen
}
const ACROSS_WORDS = /^.[^\p{L}\p{N}].$/u

/** Estimated from the newest lines of the part. */
function shareOf(connection: Connection, { no, first_id, last_id }: Part, trigram: Trigram): number {
  const newest = `SELECT rowid FROM text_${no} WHERE text_${no} MATCH ? ORDER BY rowid DESC LIMIT ${SAMPLE}`
  const sql = `SELECT count(*) AS found, min(rowid) AS lowest FROM (${newest})`
  const sample = connection.row<{ found: number; lowest: number | null }>(sql, quoted(trigram))
  const found = sample?.found ?? 0
  const reach = found < SAMPLE ? first_id : (sample?.lowest ?? first_id)
  return found / (last_id - reach + 1)
}

/** Uses the sorted FTS5 vocabulary table of the part. */
function matchPrefix(connection: Connection, { no }: Part, prefix: string): string | null | undefined {
  connection.exec(
    `CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms_${no} USING fts5vocab(main, text_${no}, row)`,
  )
  const sql = `SELECT term AS text FROM temp.terms_${no} WHERE term >= ? AND term < ? LIMIT ${MAX_PREFIX_TRIGRAMS + 1}`
  const terms = connection.rows<{ text: string }>(sql, prefix, `${prefix}\u{10ffff}`)
  if (terms.length > MAX_PREFIX_TRIGRAMS) return undefined
  return terms.length === 0 ? null : terms.map(quoted).join(' OR ')
}

const quoted = ({ text }: { text: string }) => `"${text.replaceAll('"', '""')}"`
