export const KINDS = ['tool_call', 'check', 'custom'] as const
export type Kind = (typeof KINDS)[number]

/** Identifies a series. */
export interface SeriesKey {
  readonly kind: Kind
  readonly server_id: string | null
  readonly tool: string | null
  readonly agent_type: string | null
  /** Name of a custom metric. */
  readonly name: string | null
  readonly labels: Readonly<Record<string, string>> | null
}

/** A stored series. */
export interface SeriesRow extends SeriesKey {
  readonly id: number
  readonly last_at: number
}

export interface Series extends SeriesKey {
  /** Never reused. */
  readonly id: number
  lastAt: number
  /** The stored `lastAt`; undefined when the series is not stored. */
  savedAt: number | undefined
  readonly ofServer: ServerSeries | undefined
}

/** All series of one server. */
interface ServerSeries {
  readonly series: Set<Series>
  /** Increases with every event, so that derived values can be cached. */
  version: number
}

/** Limits memory when a program uses unique label values. */
export const MAX_SERIES = 10_000

/** All series, limited to `MAX_SERIES`. */
export class SeriesTable {
  readonly #byKey = new Map<string, Series>()
  readonly #byId = new Map<number, Series>()
  readonly #byServer = new Map<string, ServerSeries>()
  #nextId: number

  constructor(rows: readonly SeriesRow[], nextId: number) {
    this.#nextId = nextId
    for (const { last_at, ...row } of rows) this.#add(row, last_at, last_at)
  }

  /** For events that must not be lost: above the limit, all new series of a kind are combined into one. */
  getOrCombine(key: SeriesKey): Series {
    const series = this.#byKey.get(keyOf(key))
    if (series || this.#byId.size < MAX_SERIES) return series ?? this.#create(key)
    const combined = combinedKey(key.kind)
    return this.#byKey.get(keyOf(combined)) ?? this.#create(combined)
  }

  /** The series of all keys. Creates none, and returns undefined, when the new ones would exceed the limit. */
  getAll(keys: readonly SeriesKey[]): Series[] | undefined {
    const texts = keys.map(keyOf)
    const added = new Set(texts.filter((text) => !this.#byKey.has(text)))
    if (this.#byId.size + added.size > MAX_SERIES) return undefined
    return keys.map((key, index) => this.#byKey.get(texts[index] as string) ?? this.#create(key))
  }

  get(id: number): Series | undefined {
    return this.#byId.get(id)
  }

  ofServer(server_id: string): ServerSeries | undefined {
    return this.#byServer.get(server_id)
  }

  all(): IterableIterator<Series> {
    return this.#byId.values()
  }

  delete(series: Series): void {
    this.#byId.delete(series.id)
    this.#byKey.delete(keyOf(series))
    series.ofServer?.series.delete(series)
    if (series.ofServer?.series.size === 0 && series.server_id !== null)
      this.#byServer.delete(series.server_id)
  }

  #create(key: SeriesKey): Series {
    const series = this.#add({ ...key, id: this.#nextId }, 0, undefined)
    this.#nextId += 1
    return series
  }

  #add(row: SeriesKey & { readonly id: number }, lastAt: number, savedAt: number | undefined): Series {
    const { id, kind, server_id, tool, agent_type, name, labels } = row
    const ofServer = server_id === null ? undefined : this.#serverSeries(server_id)
    const series = { id, kind, server_id, tool, agent_type, name, labels, lastAt, savedAt, ofServer }
    ofServer?.series.add(series)
    this.#byId.set(id, series)
    this.#byKey.set(keyOf(series), series)
    return series
  }

  #serverSeries(server_id: string): ServerSeries {
    const entry = this.#byServer.get(server_id) ?? { series: new Set(), version: 0 }
    this.#byServer.set(server_id, entry)
    return entry
  }
}

const combinedKey = (kind: Kind): SeriesKey => ({
  kind,
  server_id: null,
  tool: null,
  agent_type: null,
  name: null,
  labels: null,
})

/** Separated by control characters, which no name or label contains. */
function keyOf({ kind, server_id, tool, agent_type, name, labels }: SeriesKey): string {
  const plain = `${kind}\n${server_id ?? ''}\n${tool ?? ''}\n${agent_type ?? ''}`
  return name === null ? plain : `${plain}\n${name}\n${labelsText(labels)}`
}

function labelsText(labels: SeriesKey['labels']): string {
  const pairs = Object.entries(labels ?? {}).map(([label, value]) => `${label}\t${value}`)
  return pairs.sort().join('\n')
}
