import { setImmediate as nextTurn } from 'node:timers/promises'

/** Releases a slot. A second call has no effect. */
export type Release = () => void

/** How many starts share a turn of the event loop. */
const TOGETHER = 2
/** How long a free slot waits for a second one. */
const WAIT_MS = 50

/**
 * Limits the number of servers that start at once, in the order of their requests. A slot is released at the handshake,
 * or after `heldMs`, so that a server that hangs does not block the others.
 *
 * Starting a process blocks, so each turn of the event loop starts at most two, and requests are answered in between.
 * Not one: each start makes all memory of this process copy-on-write, and two in a row pay for it once.
 */
export class StartSlots {
  readonly #heldMs: number
  /** How many slots are given together, if they are free within `WAIT_MS`. */
  readonly #together: number
  readonly #waiting: ((release: Release) => void)[] = []
  #free: number
  #timer: NodeJS.Timeout | undefined
  #startsOfTurn = 0
  #endOfTurn: Promise<void> = Promise.resolve()

  constructor(slots: number, heldMs: number) {
    this.#free = slots
    this.#together = Math.min(slots, TOGETHER)
    this.#heldMs = heldMs
  }

  /** Undefined if the signal was aborted before a slot was free. */
  async acquire(signal: AbortSignal): Promise<Release | undefined> {
    const release = await this.#acquire(signal)
    if (release) await this.#turn()
    return release
  }

  /** Settles at once unless this turn of the event loop has its starts already. */
  async #turn(): Promise<void> {
    while (this.#startsOfTurn === TOGETHER) await this.#endOfTurn
    this.#startsOfTurn += 1
    if (this.#startsOfTurn === 1)
      this.#endOfTurn = nextTurn().then(() => {
        this.#startsOfTurn = 0
      })
  }

  #acquire(signal: AbortSignal): Promise<Release | undefined> {
    if (signal.aborted) return Promise.resolve(undefined)
    if (this.#free > 0 && this.#waiting.length === 0) return Promise.resolve(this.#take())
    return new Promise((resolve) => {
      const onFree = (release: Release) => {
        signal.removeEventListener('abort', onAbort)
        resolve(release)
      }
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(onFree), 1)
        resolve(undefined)
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.push(onFree)
    })
  }

  #take(): Release {
    this.#free -= 1
    let held = true
    const release = () => {
      if (!held) return
      held = false
      clearTimeout(timer)
      this.#free += 1
      if (this.#free >= this.#together) this.#give()
      else if (this.#waiting.length > 0) this.#timer ??= setTimeout(() => this.#give(), WAIT_MS)
    }
    const timer = setTimeout(release, this.#heldMs)
    return release
  }

  #give(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    while (this.#free > 0) {
      const next = this.#waiting.shift()
      if (!next) return
      next(this.#take())
    }
  }
}
