/**
 * Runs work at the end of this turn of the event loop: after the responses that are sent in it, and before any request that
 * a client sends because of them is read.
 */
export class AfterTurn {
  #work: (() => void)[] = []
  #isScheduled = false

  run(work: () => void): void {
    this.#work.push(work)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#runAll)
  }

  #runAll = (): void => {
    const all = this.#work
    this.#work = []
    this.#isScheduled = false
    for (const work of all) work()
  }
}
