import type { StoredEntry } from '../../../observe/logs/log-store.ts'

export interface Batch {
  readonly entries: readonly StoredEntry[]
  /** Approximate size. */
  readonly bytes: number
}

const MAX_LINES = 1000

/** Splits entries into batches limited by number and by size: a line has a few bytes or more than 100 KiB. */
export function* batches(all: readonly StoredEntry[], maxBytes: number): Generator<Batch> {
  let entries: StoredEntry[] = []
  let bytes = 0
  for (const entry of all) {
    const size = entry.message.length + (entry.data?.length ?? 0) + 100
    if (entries.length > 0 && (entries.length >= MAX_LINES || bytes + size > maxBytes)) {
      yield { entries, bytes }
      entries = []
      bytes = 0
    }
    entries.push(entry)
    bytes += size
  }
  if (entries.length > 0) yield { entries, bytes }
}
