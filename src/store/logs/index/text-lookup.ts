import type { Connection } from '../../sqlite/connection.ts'
import type { TextClue, Trigram } from './search-text.ts'
import type { Part, TextIndex } from './text-index.ts'

/** A search in the words of the text index. */
export interface TextLookup {
  /** About which share of the lines it will name at most. */
  readonly share: number
  /** What to ask a part for. Null when none of its lines can be a hit, undefined when the part cannot help. */
  match(part: Part): string | null | undefined
}

/** How many lines of a trigram are looked at to guess its share. */
const SAMPLE = 100
/** Going through many lists at once is slow, so a few trigrams must do. A further one in the same word says little. */
const MOST_MET = { words: 4, inWords: 3 }
/** A short term that begins more trigrams than this is quicker to find line by line. */
const MOST_BEGUN = 200

/** Null when reading line by line is all that can be done. `hits` is the share of the lines that have the term. */
export function textLookup(
  connection: Connection,
  index: TextIndex,
  clue: TextClue,
  hits: number,
): TextLookup | null {
  const { trigrams, prefix } = clue
  const { largest } = index
  if (!largest) return null
  if (prefix !== null) {
    const known = new Map<string, string | null | undefined>()
    const match = (part: Part) => {
      const key = `${part.no} to ${part.last_id}` // the newest part goes on growing
      if (!known.has(key)) known.set(key, anyBegunWith(connection, part, prefix))
      return known.get(key)
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
    return textLookup(connection, index, clue, hits)
  }
}

/**
 * A few that are rare. Two that overlap or stand in one word mostly stand in the same lines, so every word has
 * its turn first; and one across two words says more than its share, for it makes them neighbours.
 */
function rarest(shares: readonly { readonly trigram: Trigram; readonly share: number }[]): Trigram[] {
  const worth = ({ trigram, share }: { trigram: Trigram; share: number }) =>
    ACROSS_WORDS.test(trigram.text) ? share / 2 : share
  const sorted = [...shares].sort((a, b) => worth(a) - worth(b)).map(({ trigram }) => trigram)
  const chosen: Trigram[] = []
  for (const sameWord of [false, true]) {
    const most = sameWord ? MOST_MET.inWords : MOST_MET.words
    for (const trigram of sorted) {
      const apart = chosen.every(({ at }) => Math.abs(at - trigram.at) >= 3)
      const fresh = sameWord || chosen.every(({ word }) => word !== trigram.word)
      if (apart && fresh && chosen.length < most) chosen.push(trigram)
    }
  }
  return chosen
}
const ACROSS_WORDS = /^.[^\p{L}\p{N}].$/u

/** The newest lines of a part stand for all lines. */
function shareOf(connection: Connection, { no, first_id, last_id }: Part, trigram: Trigram): number {
  const newest = `SELECT rowid FROM text_${no} WHERE text_${no} MATCH ? ORDER BY rowid DESC LIMIT ${SAMPLE}`
  const sql = `SELECT count(*) AS found, min(rowid) AS lowest FROM (${newest})`
  const sample = connection.row<{ found: number; lowest: number | null }>(sql, quoted(trigram))
  const found = sample?.found ?? 0
  const reach = found < SAMPLE ? first_id : (sample?.lowest ?? first_id)
  return found / (last_id - reach + 1)
}

/** The list of all trigrams of a part is a table of its own in FTS5, in the order of the alphabet. */
function anyBegunWith(connection: Connection, { no }: Part, prefix: string): string | null | undefined {
  connection.exec(
    `CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms_${no} USING fts5vocab(main, text_${no}, row)`,
  )
  const sql = `SELECT term AS text FROM temp.terms_${no} WHERE term >= ? AND term < ? LIMIT ${MOST_BEGUN + 1}`
  const terms = connection.rows<{ text: string }>(sql, prefix, `${prefix}\u{10ffff}`)
  if (terms.length > MOST_BEGUN) return undefined
  return terms.length === 0 ? null : terms.map(quoted).join(' OR ')
}

const quoted = ({ text }: { text: string }) => `"${text.replaceAll('"', '""')}"`
