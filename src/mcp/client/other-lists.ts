import type { Definition } from '../../upstreams/catalogues.ts'
import { ListWatch } from './list-watch.ts'
import type { Asker } from './modern-requests.ts'
import { drain } from './paginated-list.ts'

/** What a server offers besides tools, in the words of the catalogue. */
export type ListKind = 'prompts' | 'resources' | 'resource_templates'

interface Options {
  readonly asker: () => Pick<Asker, 'request'>
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

const ANNOUNCED: Readonly<Record<string, readonly ListKind[]>> = {
  'notifications/prompts/list_changed': ['prompts'],
  'notifications/resources/list_changed': ['resources', 'resource_templates'],
}

/**
 * The prompts, resources and templates of a server, each asked for by itself: of twenty servers that declare resources,
 * seven do not know the question, and one that never answers it must not hide the rest.
 */
export class OtherLists {
  readonly #options: Options
  readonly #watches = new Map<ListKind, ListWatch<readonly Definition[]>>()

  constructor(options: Options) {
    this.#options = options
  }

  /** Asks in the background for what the server has declared. Nobody waits for it, and it fails nothing. */
  begin(capabilities: Definition): void {
    for (const [kind, { capability }] of entries(KINDS)) {
      if (!capabilities[capability] || this.#watches.has(kind)) continue
      const watch = this.#watchOf(kind)
      this.#watches.set(kind, watch)
      // Whatever the reason is, as long as it gives none it has none.
      void watch.first(this.#options.timeoutMs).catch(() => this.#options.onList(kind, []))
    }
  }

  /** Whether this announcement was about one of the lists; then it is asked for again. */
  heard(method: string): boolean {
    const kinds = Object.hasOwn(ANNOUNCED, method) ? ANNOUNCED[method] : undefined
    for (const kind of kinds ?? []) this.#watches.get(kind)?.changed()
    return kinds !== undefined
  }

  /** Any of them may be another than before. */
  changed(): void {
    for (const watch of this.#watches.values()) watch.changed()
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.close()
  }

  #watchOf(kind: ListKind): ListWatch<readonly Definition[]> {
    const { asker, timeoutMs, onList } = this.#options
    return new ListWatch({
      list: async (ms) => (await drain(asker(), KINDS[kind], ms)).items,
      timeoutMs,
      none: [],
      onList: (items) => onList(kind, items),
    })
  }
}

const entries = Object.entries as <K extends string, V>(record: Record<K, V>) => [K, V][]
