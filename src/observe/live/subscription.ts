import { LEVEL_RANK, type LogEntry } from '../../kernel/log.ts'
import type { LiveEvent } from './feed.ts'
import { type LogFilter, type SubscribeMessage, TOPICS, type Topic } from './live.schema.ts'

/** The topics and filters of one client. */
export class Subscription {
  readonly #topics = new Map<Topic, ReadonlySet<string> | null>(
    TOPICS.filter((topic) => topic !== 'log').map((topic) => [topic, null]),
  )
  #log: LogFilter = {}
  /** Whether log lines are sent together. */
  isBatched = false

  /** `server_ids` limits the topics to these servers. Events of no server are still included, except log lines. */
  add({ topics, server_ids, filter, batch = false }: Omit<SubscribeMessage, 'type'>): void {
    for (const topic of topics) this.#topics.set(topic, server_ids ? new Set(server_ids) : null)
    if (!topics.includes('log')) return
    this.#log = filter ?? {}
    this.isBatched = batch
  }

  remove(topics: readonly Topic[]): void {
    for (const topic of topics) this.#topics.delete(topic)
  }

  includes({ topic, server_id, data }: LiveEvent): boolean {
    const servers = this.#topics.get(topic)
    if (servers === undefined) return false
    if (servers !== null && server_id !== null && !servers.has(server_id)) return false
    if (servers !== null && server_id === null && topic === 'log') return false
    return topic !== 'log' || this.#fits(data)
  }

  get topics(): Topic[] {
    return [...this.#topics.keys()]
  }

  #fits(data: string): boolean {
    const { level, source, stream, search } = this.#log
    if (level === undefined && !source && !stream && search === undefined) return true
    const entry = JSON.parse(data) as LogEntry
    if (level !== undefined && LEVEL_RANK[entry.level] < LEVEL_RANK[level]) return false
    if (source && !source.includes(entry.source)) return false
    if (stream && !(entry.stream && stream.includes(entry.stream))) return false
    return search === undefined || entry.message.toLowerCase().includes(search.toLowerCase())
  }
}
