import type { StoredEntry } from '../../../logs/log-store.ts'

interface Batch {
  readonly entries: readonly StoredEntry[]
  /** About what they take. */
  readonly bytes: number
}

const MOST_LINES = 1000

/** Lines may be a few bytes or more than 100 KiB long: cut to batches that are small in either case. */
export function* batches(all: readonly StoredEntry[], mostBytes: number): Generator<Batch> {
  let entries: StoredEntry[] = []
  let bytes = 0
  for (const entry of all) {
    const size = entry.message.length + (entry.data?.length ?? 0) + 100
    if (entries.length > 0 && (entries.length >= MOST_LINES || bytes + size > mostBytes)) {
      yield { entries, bytes }
      entries = []
      bytes = 0
    }
    entries.push(entry)
    bytes += size
  }
  if (entries.length > 0) yield { entries, bytes }
}
