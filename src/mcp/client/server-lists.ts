import { isObject } from '../../kernel/json/json-checks.ts'
import { isMethodNotFound } from '../protocol/call-failure.ts'
import { itemsOf } from '../protocol/json-items.ts'
import { type Definition, keepText, type ListKind } from '../protocol/listed-definitions.ts'
import { rawMember } from '../protocol/raw-json.ts'
import type { Requester } from './json-rpc-peer.ts'

export interface ToolList extends Omit<Pages, 'items'> {
  /** As the server sent them, unknown fields included. Names are unique. */
  readonly tools: readonly Definition[]
}

export const NO_TOOLS: ToolList = { tools: [], truncated: false, duplicates: 0 }

const TOOLS = { method: 'tools/list', field: 'tools', key: 'name' }

export async function listTools(
  requester: Pick<Requester, 'requestRaw'>,
  timeoutMs: number,
): Promise<ToolList> {
  const { items, ...rest } = await fetchPages(requester, TOOLS, timeoutMs)
  return { tools: items, ...rest }
}

interface ListsOptions {
  readonly requester: () => Pick<Requester, 'requestRaw'>
  readonly timeoutMs: number
  readonly onList: (kind: ListKind, items: readonly Definition[]) => void
}

const KINDS = {
  prompts: { capability: 'prompts', method: 'prompts/list', field: 'prompts', key: 'name' },
  resources: { capability: 'resources', method: 'resources/list', field: 'resources', key: 'uri' },
  resource_templates: {
    capability: 'resources',
    method: 'resources/templates/list',
    field: 'resourceTemplates',
    key: 'uriTemplate',
  },
} as const satisfies Record<ListKind, { capability: string; method: string; field: string; key: string }>

const CHANGED: Readonly<Record<string, readonly ListKind[]>> = {
  'notifications/prompts/list_changed': ['prompts'],
  'notifications/resources/list_changed': ['resources', 'resource_templates'],
}

/**
 * The prompts, resources and resource templates of a server. Each list is fetched separately: many servers declare
 * resources but support only one of the two methods, and a request without a response must not delay the other lists.
 */
export class PromptAndResourceLists {
  readonly #options: ListsOptions
  readonly #watches = new Map<ListKind, ListWatch<readonly Definition[]>>()

  constructor(options: ListsOptions) {
    this.#options = options
  }

  /**
   * Fetches the lists that the server has declared, in the background. A list that cannot be fetched stays as it was, and
   * is requested again.
   */
  begin(capabilities: Definition): void {
    for (const [kind, { capability }] of entries(KINDS)) {
      if (!capabilities[capability] || this.#watches.has(kind)) continue
      const watch = this.#watchOf(kind)
      this.#watches.set(kind, watch)
      void watch.fetch(this.#options.timeoutMs).catch(() => {}) // the watch repeats it
    }
  }

  /** Fetches the lists again that the notification is about. */
  onNotification(method: string): void {
    const kinds = Object.hasOwn(CHANGED, method) ? CHANGED[method] : undefined
    for (const kind of kinds ?? []) this.#watches.get(kind)?.changed()
  }

  /** Any of the lists may have changed. */
  changed(): void {
    for (const watch of this.#watches.values()) watch.changed()
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.close()
  }

  #watchOf(kind: ListKind): ListWatch<readonly Definition[]> {
    const { requester, timeoutMs, onList } = this.#options
    return new ListWatch({
      list: async (ms) => (await fetchPages(requester(), KINDS[kind], ms)).items,
      timeoutMs,
      none: [],
      onList: (items) => onList(kind, items),
    })
  }
}

const entries = Object.entries as <K extends string, V>(record: Record<K, V>) => [K, V][]

interface Pages {
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
const MAX_CURSOR_CHARS = 8192

/** All pages of a list, within one deadline. Stops at a repeated cursor and at the limits. */
async function fetchPages(
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
    const { value, bytes } = await requester.requestRaw(method, params, {
      timeoutMs: leftMs,
      isInternal: true,
    })
    const { [field]: entries, nextCursor, _meta } = isObject(value) ? value : {}
    if (isObject(_meta)) meta = { ...meta, ..._meta }
    const list = Array.isArray(entries) ? rawMember(bytes, field) : undefined
    for (const [index, { start, end }] of (list ? itemsOf(bytes, list.start) : []).entries()) {
      const entry = (entries as unknown[])[index]
      if (!isObject(entry) || typeof entry[key] !== 'string') continue
      if (byKey.has(entry[key])) duplicates += 1
      else if (byKey.size === MAX_ENTRIES) return pages(true)
      else {
        keepText(entry, bytes.toString('utf8', start, end))
        byKey.set(entry[key], entry)
      }
    }
    if (typeof nextCursor !== 'string') return pages(false) // an empty string is a valid cursor
    if (cursors.has(nextCursor) || nextCursor.length > MAX_CURSOR_CHARS) return pages(true)
    cursors.add(nextCursor)
    params = { cursor: nextCursor }
  }
  return pages(true)
}

interface WatchOptions<T> {
  readonly list: (timeoutMs: number) => Promise<T>
  /** The time limit of lists that a notification caused. */
  readonly timeoutMs: number
  /** The list of a server that does not support the method. */
  readonly none: T
  readonly onList: (list: T) => void
}

/** Servers announce several changes in a row. The list is fetched when they pause, or after a second at the latest. */
const QUIET_MS = 100
const LATEST_MS = 1000
/** A list that was expensive is fetched again after this multiple of the time that it took to process. */
const COST_FACTOR = 20
const LONGEST_REST_MS = 60_000
/** A failed request is repeated after this time, which doubles with each failure. */
const RETRY_MS = 1000
const LONGEST_RETRY_MS = 60_000

/** Keeps one list of a server up to date. Changes never cause two requests at the same time. */
export class ListWatch<T> {
  readonly #options: WatchOptions<T>
  #timer: NodeJS.Timeout | undefined
  /** Also true before the first list, which will include every change announced until then. */
  #fetching = true
  /** When the first change was announced since the last request began. */
  #changedAt: number | undefined
  #failures = 0
  #isKnown = false
  /** By `performance.now()`: a list is not fetched again before, because the last one was expensive. */
  #restsUntil = 0
  #closed = false
  /** The last request. Never rejects. */
  #last: Promise<unknown> = Promise.resolve()
  /** A request that begins after the last one. */
  #next: Promise<void> | undefined
  /** Why the last request failed. Undefined when it succeeded. */
  failure: unknown

  constructor(options: WatchOptions<T>) {
    this.#options = options
  }

  /** Fetches the list now. Rejects when that fails, except when the server does not support the method. */
  async fetch(timeoutMs: number): Promise<void> {
    await this.#request(timeoutMs, this.#options.none)
    if (this.failure !== undefined) throw this.failure
  }

  /** Fetches the list after a request in progress, which may be too old. Callers at the same time share one request. */
  fetchNext(timeoutMs: number): Promise<void> {
    this.#next ??= this.#last.then(() => {
      this.#next = undefined
      return this.fetch(timeoutMs)
    })
    return this.#next
  }

  /** The server has announced a change. */
  changed(): void {
    const now = performance.now()
    this.#changedAt ??= now
    this.#failures = 0
    if (!this.#fetching) this.#fetchIn(Math.min(QUIET_MS, this.#changedAt + LATEST_MS - now))
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #fetchIn(ms: number): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    // A list that is known stays valid when the server does not support the method any more.
    const none = () => (this.#isKnown ? undefined : this.#options.none)
    const dueMs = Math.max(0, ms, this.#restsUntil - performance.now())
    this.#timer = setTimeout(() => void this.#request(this.#options.timeoutMs, none()), dueMs)
  }

  #request(timeoutMs: number, none: T | undefined): Promise<void> {
    this.#fetching = true
    this.#changedAt = undefined
    clearTimeout(this.#timer)
    const request = this.#options
      .list(timeoutMs)
      .catch((error: unknown) => {
        if (none !== undefined && isMethodNotFound(error)) return none
        this.failure = error
        return undefined
      })
      .then((list) => this.#onFetched(list))
    this.#last = request
    return request
  }

  /** When the request has failed, the last known list stays valid, and it is repeated. */
  #onFetched(list: T | undefined): void {
    this.#fetching = false
    if (list !== undefined) {
      this.failure = undefined
      this.#failures = 0
      if (!this.#closed) this.#take(list)
    }
    if (this.#changedAt !== undefined) this.#fetchIn(QUIET_MS)
    else if (list === undefined) {
      this.#fetchIn(Math.min(RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS))
      this.#failures += 1
    }
  }

  #take(list: T): void {
    const startedAt = performance.now()
    this.#isKnown = true
    this.#options.onList(list)
    const now = performance.now()
    this.#restsUntil = now + Math.min((now - startedAt) * COST_FACTOR, LONGEST_REST_MS)
  }
}
