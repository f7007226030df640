import { isObject } from '../../kernel/is-object.ts'
import type { Definition } from '../../upstreams/catalogues.ts'
import type { Asker } from './modern-requests.ts'

export interface Pages {
  /** As the server sent them, unknown fields included. None comes twice. */
  readonly items: readonly Definition[]
  /** There were more entries or pages than we take. */
  readonly truncated: boolean
  /** Entries that were left out because an earlier one has their name. */
  readonly duplicates: number
}

interface Question {
  readonly method: string
  /** Where the answer holds the entries. */
  readonly field: string
  /** By which of its fields an entry is known. */
  readonly key: string
}

const MAX_ENTRIES = 5000
const MAX_PAGES = 100

/** Every page of a list, within one deadline. A cursor that comes again, or never ends, is cut. */
export async function drain(
  asker: Pick<Asker, 'request'>,
  { method, field, key }: Question,
  timeoutMs: number,
): Promise<Pages> {
  const deadline = performance.now() + timeoutMs
  const known = new Map<unknown, Definition>()
  const seen = new Set<string>()
  let duplicates = 0
  const drained = (truncated: boolean) => ({ items: [...known.values()], truncated, duplicates })
  let params = {}
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const left = Math.max(1, deadline - performance.now())
    const result = await asker.request(method, params, { timeoutMs: left })
    const { [field]: entries, nextCursor } = isObject(result) ? result : {}
    for (const entry of Array.isArray(entries) ? entries : []) {
      if (!isObject(entry) || typeof entry[key] !== 'string') continue
      if (known.has(entry[key])) duplicates += 1
      else if (known.size === MAX_ENTRIES) return drained(true)
      else known.set(entry[key], entry)
    }
    if (typeof nextCursor !== 'string') return drained(false) // an empty string is a cursor
    if (seen.has(nextCursor)) return drained(true)
    seen.add(nextCursor)
    params = { cursor: nextCursor }
  }
  return drained(true)
}
