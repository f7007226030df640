/** A place among those that are starting. Given back once; the second time does nothing. */
export type Release = () => void

/**
 * At most so many servers start at once, in the order in which they asked. A place is given back at the handshake, or
 * by itself after a while, so that one that is stuck keeps nobody waiting.
 */
export class StartSlots {
  readonly #heldMs: number
  readonly #waiting: ((release: Release) => void)[] = []
  #free: number

  constructor(places: number, heldMs: number) {
    this.#free = places
    this.#heldMs = heldMs
  }

  /** Undefined when the wish was taken back while waiting. */
  acquire(signal: AbortSignal): Promise<Release | undefined> {
    if (signal.aborted) return Promise.resolve(undefined)
    if (this.#free > 0) return Promise.resolve(this.#take())
    return new Promise((resolve) => {
      const turn = (release: Release) => {
        signal.removeEventListener('abort', leave)
        resolve(release)
      }
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1)
        resolve(undefined)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#waiting.push(turn)
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
