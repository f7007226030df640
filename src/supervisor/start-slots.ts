import { setImmediate as nextTurn } from 'node:timers/promises'

/** Releases a slot. A second call has no effect. */
export type Release = () => void

/**
 * Limits the number of servers that start at once, in the order of their requests. A slot is released at the handshake,
 * or after `heldMs`, so that a server that hangs does not block the others. Each turn of the event loop starts at most
 * one: starting a process blocks, and requests are answered in between.
 */
export class StartSlots {
  readonly #heldMs: number
  readonly #waiting: ((release: Release) => void)[] = []
  #free: number
  #lastTurn: Promise<void> = Promise.resolve()

  constructor(slots: number, heldMs: number) {
    this.#free = slots
    this.#heldMs = heldMs
  }

  /** Undefined if the signal was aborted before a slot was free. */
  async acquire(signal: AbortSignal): Promise<Release | undefined> {
    const release = await this.#acquire(signal)
    if (release) await this.#turn()
    return release
  }

  /** Settles when no other start belongs to this turn of the event loop: at once for the first. */
  async #turn(): Promise<void> {
    const before = this.#lastTurn
    this.#lastTurn = before.then(() => nextTurn())
    await before
  }

  #acquire(signal: AbortSignal): Promise<Release | undefined> {
    if (signal.aborted) return Promise.resolve(undefined)
    if (this.#free > 0) return Promise.resolve(this.#take())
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
      const next = this.#waiting.shift()
      if (next) next(this.#take())
    }
    const timer = setTimeout(release, this.#heldMs)
    return release
  }
}
