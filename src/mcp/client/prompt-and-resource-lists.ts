import type { Definition, ListKind } from '../protocol/lists.ts'
import type { Requester } from './json-rpc-peer.ts'
import { ListWatch } from './list-watch.ts'
import { fetchPages } from './paginated-list.ts'

interface Options {
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
  readonly #options: Options
  readonly #watches = new Map<ListKind, ListWatch<readonly Definition[]>>()

  constructor(options: Options) {
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
