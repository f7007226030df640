import type { QueryClient } from '@tanstack/react-query'
import { mayBeRead } from '../at-once.ts'
import type { Root } from '../keys.ts'
import type { LiveMessage } from './live-messages.ts'

/** What a message makes outdated. */
const AFFECTS: Partial<Record<LiveMessage['type'], readonly Root[]>> = {
  server_status: ['servers', 'events', 'health'],
  server_added: ['servers', 'agents', 'events'],
  server_updated: ['servers', 'tools', 'agents', 'events'],
  server_removed: ['servers', 'agents', 'notices', 'events'],
  http_server_check: ['servers'],
  tools_changed: ['servers', 'tools', 'agents'],
  agent_changed: ['agents', 'events'],
  package_progress: ['jobs', 'packages'],
  image_progress: ['jobs'],
  notice: ['notices', 'events', 'health'],
  call_completed: ['metrics', 'calls'],
}

/** The shortest time between two reads of the same data. A busy service must not keep the page busy. */
const EVERY_MS: Partial<Record<Root, number>> = { servers: 400, metrics: 3000, calls: 1500, events: 1000 }
const OTHERWISE_MS = 300

/** Marks data as outdated, at most once in a while for each root. What is on screen is read again. */
export class Refresher {
  readonly #queries: QueryClient
  readonly #due = new Map<Root, ReturnType<typeof setTimeout>>()
  readonly #lastAt = new Map<Root, number>()

  constructor(queries: QueryClient) {
    this.#queries = queries
  }

  afterMessage(type: LiveMessage['type']): void {
    for (const root of AFFECTS[type] ?? []) this.refresh(root)
  }

  refresh(root: Root): void {
    if (this.#due.has(root)) return
    const since = performance.now() - (this.#lastAt.get(root) ?? Number.NEGATIVE_INFINITY)
    const waitMs = Math.max(50, (EVERY_MS[root] ?? OTHERWISE_MS) - since)
    const timer = setTimeout(() => {
      this.#due.delete(root)
      this.#lastAt.set(root, performance.now())
      void this.#queries.invalidateQueries({ queryKey: [root], predicate: mayBeRead })
    }, waitMs)
    this.#due.set(root, timer)
  }

  /** After a gap in the stream: every answer that came before may miss a change. */
  refreshAll(): void {
    void this.#queries.invalidateQueries({ predicate: mayBeRead })
  }
}
