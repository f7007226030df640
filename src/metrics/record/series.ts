export const KINDS = ['tool_call', 'check', 'custom'] as const
export type Kind = (typeof KINDS)[number]

/** What tells one series from another. */
export interface SeriesKey {
  readonly kind: Kind
  readonly server_id: string | null
  readonly tool: string | null
  readonly agent_type: string | null
  /** Of a custom metric. */
  readonly name: string | null
  readonly labels: Readonly<Record<string, string>> | null
}

/** As it is stored. */
export interface SeriesRow extends SeriesKey {
  readonly id: number
  readonly last_at: number
}

export interface Series extends SeriesKey {
  /** Counts up and is never used again. */
  readonly id: number
  lastAt: number
  /** `lastAt` as it is stored; undefined when the series is not. */
  savedAt: number | undefined
  readonly of: ServerSeries | undefined
}

/** All series of one server. */
interface ServerSeries {
  readonly series: Set<Series>
  /** Grows with every event, so that what was made of the series can be kept until then. */
  version: number
}

/** More label sets than a person could look at; a program that makes one per request is told so. */
export const MAX_SERIES = 10_000

/** Every series that there is. Bounded, because each costs memory. */
export class SeriesTable {
  readonly #byKey = new Map<string, Series>()
  readonly #byId = new Map<number, Series>()
  readonly #byServer = new Map<string, ServerSeries>()
  #nextId: number

  constructor(rows: readonly SeriesRow[], nextId: number) {
    this.#nextId = nextId
    for (const { last_at, ...row } of rows) this.#add(row, last_at, last_at)
  }

  /** For what the house itself sees: beyond the bound everything of a kind is one series, so that no event is lost. */
  takeOrOther(key: SeriesKey): Series {
    const known = this.#byKey.get(keyOf(key))
    if (known || this.#byId.size < MAX_SERIES) return known ?? this.#make(key)
    const other = otherOf(key.kind)
    return this.#byKey.get(keyOf(other)) ?? this.#make(other)
  }

  /** The series of each, made when there is room for all that are new; else none is made. */
  takeAll(keys: readonly SeriesKey[]): Series[] | undefined {
    const texts = keys.map(keyOf)
    const fresh = new Set<string>()
    for (const text of texts) if (!this.#byKey.has(text)) fresh.add(text)
    if (this.#byId.size + fresh.size > MAX_SERIES) return undefined
    return keys.map((key, index) => this.#byKey.get(texts[index] as string) ?? this.#make(key))
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
    series.of?.series.delete(series)
    if (series.of?.series.size === 0 && series.server_id !== null) this.#byServer.delete(series.server_id)
  }

  #make(key: SeriesKey): Series {
    const series = this.#add({ ...key, id: this.#nextId }, 0, undefined)
    this.#nextId += 1
    return series
  }

  #add(row: SeriesKey & { readonly id: number }, lastAt: number, savedAt: number | undefined): Series {
    const { id, kind, server_id, tool, agent_type, name, labels } = row
    const of = server_id === null ? undefined : this.#serverSeries(server_id)
    const series = { id, kind, server_id, tool, agent_type, name, labels, lastAt, savedAt, of }
    of?.series.add(series)
    this.#byId.set(id, series)
    this.#byKey.set(keyOf(series), series)
    return series
  }

  #serverSeries(server_id: string): ServerSeries {
    const known = this.#byServer.get(server_id) ?? { series: new Set(), version: 0 }
    this.#byServer.set(server_id, known)
    return known
  }
}

const otherOf = (kind: Kind): SeriesKey => ({
  kind,
  server_id: null,
  tool: null,
  agent_type: null,
  name: null,
  labels: null,
})

/** Control characters divide the parts: no name or label holds one. */
function keyOf({ kind, server_id, tool, agent_type, name, labels }: SeriesKey): string {
  const plain = `${kind}\n${server_id ?? ''}\n${tool ?? ''}\n${agent_type ?? ''}`
  return name === null ? plain : `${plain}\n${name}\n${labelsText(labels)}`
}

function labelsText(labels: SeriesKey['labels']): string {
  const pairs = Object.entries(labels ?? {}).map(([label, value]) => `${label}\t${value}`)
  return pairs.sort().join('\n')
}
