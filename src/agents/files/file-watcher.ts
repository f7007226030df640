import { type FSWatcher, watch } from 'node:fs'
import type { FactBus } from '../../kernel/facts.ts'
import { fileOf } from '../edit/change-file.ts'
import { driftOf, type Seen } from '../read/agent-view.ts'
import { readPlace, type Where } from '../read/read-entries.ts'
import { readConfig } from './config-file.ts'
import { nearestFolder } from './file-safety.ts'

interface Deps {
  readonly facts: FactBus
  /** Every file to be looked after, as things are now. */
  readonly wheres: () => readonly Where[]
  readonly recordOf: (where: Where) => Seen['record']
  readonly onTrouble: (folder: string, error: unknown) => void
}

const DEBOUNCE_MS = 100
const MOST_FOLDERS = 256

/**
 * Notices what others do to agents' files, and says so. It repairs nothing. Folders are watched and not files, because
 * whoever replaces a file whole gives it a new identity; a folder that is not there yet is waited for from above.
 */
export class Guard {
  readonly #deps: Deps
  readonly #watchers = new Map<string, FSWatcher>()
  readonly #revisions = new Map<string, string | null>()
  readonly #stirred = new Set<string>()
  #due: NodeJS.Timeout | undefined
  #closed = false

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** What is there now is what later changes are measured by. */
  open(): void {
    for (const where of this.#deps.wheres()) this.#revisions.set(keyOf(where), revisionOf(where))
    this.#watch()
  }

  /** Our own change: nobody else's. */
  expect(where: Where): void {
    this.#revisions.set(keyOf(where), revisionOf(where))
    this.#watch()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#due)
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  /** Says which folders are new. */
  #watch(): string[] {
    const folders = [...new Set(this.#deps.wheres().map(({ place }) => nearestFolder(place.path)))]
    for (const [folder, watcher] of this.#watchers) {
      if (folders.includes(folder)) continue
      watcher.close()
      this.#watchers.delete(folder)
    }
    const unwatched = folders.slice(0, MOST_FOLDERS).filter((folder) => !this.#watchers.has(folder))
    for (const folder of unwatched) this.#watchFolder(folder)
    return unwatched
  }

  #watchFolder(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#soon(folder))
      watcher.on('error', (error) => {
        watcher.close()
        this.#watchers.delete(folder)
        this.#deps.onTrouble(folder, error)
      })
      this.#watchers.set(folder, watcher)
    } catch (error) {
      this.#deps.onTrouble(folder, error)
    }
  }

  #soon(folder: string): void {
    if (this.#closed) return
    this.#stirred.add(folder)
    clearTimeout(this.#due)
    this.#due = setTimeout(() => this.#look(), DEBOUNCE_MS).unref()
  }

  #look(): void {
    const folders = new Set([...this.#stirred, ...this.#watch()])
    this.#stirred.clear()
    for (const where of this.#deps.wheres()) {
      if (!folders.has(nearestFolder(where.place.path))) continue
      const revision = revisionOf(where)
      const before = this.#revisions.get(keyOf(where))
      this.#revisions.set(keyOf(where), revision)
      if (before !== revision && before !== undefined) this.#tell(where)
    }
  }

  #tell(where: Where): void {
    const { agent, place } = where
    const drift = driftOf({ state: readPlace(where), record: this.#deps.recordOf(where) })
    this.#deps.facts.publish('agent_changed', {
      agent_type: agent.type,
      scope: place.scope,
      path: place.path,
      by: 'other',
      drift: drift.map(({ name, verdict }) => ({ name, verdict })),
    })
  }
}

const keyOf = ({ agent, place }: Where): string => `${agent.type}\0${place.scope}\0${place.path}`

/** Of the bytes alone: most of what stirs in a folder is none of our business, and reading it all would be a waste. */
function revisionOf(where: Where): string {
  try {
    return readConfig(fileOf(where))?.revision ?? 'none'
  } catch (error) {
    return error instanceof Error ? error.message : 'unreadable'
  }
}
