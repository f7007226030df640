import type { LogLine } from '../../data/api.ts'

export type ShownLine = Omit<LogLine, 'id'> & { readonly id: number | null }

/** How many lines the view holds while it follows. Older ones leave it and are read again when the user scrolls up. */
const MAX_FOLLOWED = 5000
/** How many new lines wait while the view is paused. */
const MAX_WAITING = 20_000
/** New lines are shown together, a few times a second. */
const SHOWN_EVERY_MS = 250

export interface Shown {
  /** The oldest first. */
  readonly lines: readonly ShownLine[]
  /** New lines that are held back while the view is paused. */
  readonly waiting: number
  /** Lines that the view does not show although they are stored. */
  readonly left: number
  /** How many lines were put before the first one by the last change. */
  readonly before: number
}

/** The lines of one filter: a stored page, the new ones as they come, older ones on request. */
export class LogView {
  #lines: ShownLine[] = []
  #waiting: ShownLine[] = []
  #left = 0
  #isPaused = false
  #newest = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #shown: Shown = { lines: [], waiting: 0, left: 0, before: 0 }
  readonly #listeners = new Set<() => void>()

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  readonly shown = (): Shown => this.#shown

  /** False until the view has its first page: another filter is read while the page is paused, too. */
  isRead = false

  /** The newest stored lines, the newest first. They replace what the view had. */
  read(newestFirst: readonly LogLine[]): void {
    this.isRead = true
    const stored = newestFirst.toReversed()
    const newest = stored.at(-1)?.id ?? 0
    this.#lines = [
      ...stored,
      ...[...this.#lines, ...this.#waiting].filter(({ id }) => id !== null && id > newest),
    ]
    this.#waiting = []
    this.#left = 0
    this.#newest = this.#lines.at(-1)?.id ?? 0
    this.#publish()
  }

  /** A line of the live stream. One that the stored page has is left out. */
  readonly add = (line: ShownLine): void => {
    if (line.id !== null && line.id <= this.#newest) return
    this.#newest = line.id ?? this.#newest
    this.#waiting.push(line)
    this.#timer ??= setTimeout(() => this.#publish(), SHOWN_EVERY_MS)
  }

  /** The stream left out lines because this tab was too slow. */
  readonly miss = (lines: number): void => {
    this.#left += lines
    this.#timer ??= setTimeout(() => this.#publish(), SHOWN_EVERY_MS)
  }

  /** Lines around the first one, oldest first. Those that the view has are left out. */
  addOlder(lines: readonly LogLine[]): void {
    const first = this.#lines.find(({ id }) => id !== null)?.id ?? Number.POSITIVE_INFINITY
    const older = lines.filter(({ id }) => id < first)
    this.#lines = [...older, ...this.#lines]
    this.#publish(older.length)
  }

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused
    this.#publish()
  }

  #publish(before = 0): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#isPaused) this.#left += cutFront(this.#waiting, MAX_WAITING)
    else if (this.#waiting.length > 0) {
      this.#lines = [...this.#lines, ...this.#waiting]
      this.#waiting = []
      this.#left += cutFront(this.#lines, MAX_FOLLOWED)
    }
    const waiting = this.#waiting.length
    this.#shown = { lines: this.#lines, waiting, left: this.#left, before }
    for (const listener of this.#listeners) listener()
  }
}

/** Removes the first ones above the limit and returns how many they were. */
function cutFront(lines: ShownLine[], limit: number): number {
  return lines.length > limit ? lines.splice(0, lines.length - limit).length : 0
}
