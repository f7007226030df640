import type { Connection } from '../../sqlite/connection.ts'
import type { IndexTerms, Trigram } from './search-text.ts'
import type { Part, TextIndex } from './text-index.ts'

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
