import { isObject } from '../../kernel/is-object.ts'
import { type Definition, keepText } from '../protocol/lists.ts'
import { itemsOf, rawMember } from '../protocol/raw/raw-member.ts'
import type { Requester } from './json-rpc-peer.ts'

export interface Pages {
  /** As the server sent them, unknown fields included. Keys are unique. */
  readonly items: readonly Definition[]
  /** The server has more entries or pages than we read. */
  readonly truncated: boolean
  /** Entries that were skipped because an earlier one has the same key. */
  readonly duplicates: number
  /** The `_meta` of the result, if it has one. Of several pages, the later ones win. */
  readonly meta?: Definition
}

interface ListMethod {
  readonly method: string
  /** The field of the result that holds the entries. */
  readonly field: string
  /** The field that identifies an entry. */
  readonly key: string
}

const MAX_ENTRIES = 5000
const MAX_PAGES = 100

/** All pages of a list, within one deadline. Stops at a repeated cursor and at the limits. */
export async function fetchPages(
  requester: Pick<Requester, 'requestRaw'>,
  { method, field, key }: ListMethod,
  timeoutMs: number,
): Promise<Pages> {
  const deadline = performance.now() + timeoutMs
  const byKey = new Map<unknown, Definition>()
  const cursors = new Set<string>()
  let duplicates = 0
  let meta: Definition | undefined
  const pages = (truncated: boolean) => ({
    items: [...byKey.values()],
    truncated,
    duplicates,
    ...(meta && { meta }),
  })
  let params = {}
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const leftMs = Math.max(1, deadline - performance.now())
    const { value, json } = await requester.requestRaw(method, params, { timeoutMs: leftMs })
    const { [field]: entries, nextCursor, _meta } = isObject(value) ? value : {}
    if (isObject(_meta)) meta = { ...meta, ..._meta }
    const list = Array.isArray(entries) ? rawMember(json, field) : undefined
    for (const [index, { start, end }] of (list ? itemsOf(json, list.start) : []).entries()) {
      const entry = (entries as unknown[])[index]
      if (!isObject(entry) || typeof entry[key] !== 'string') continue
      if (byKey.has(entry[key])) duplicates += 1
      else if (byKey.size === MAX_ENTRIES) return pages(true)
      else {
        keepText(entry, json.toString('utf8', start, end))
        byKey.set(entry[key], entry)
      }
    }
    if (typeof nextCursor !== 'string') return pages(false) // an empty string is a valid cursor
    if (cursors.has(nextCursor)) return pages(true)
    cursors.add(nextCursor)
    params = { cursor: nextCursor }
  }
  return pages(true)
}
