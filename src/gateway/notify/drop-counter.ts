/** Counts what had to be left out, and says so: of the first at once, of the others in one sum after each while. */
export class Drops {
  readonly #everyMs: number
  readonly #say: (count: number) => void
  #count = 0
  #while: NodeJS.Timeout | undefined

  constructor(everyMs: number, say: (count: number) => void) {
    this.#everyMs = everyMs
    this.#say = say
  }

  add(): void {
    this.#count += 1
    if (!this.#while) this.#tell()
  }

  #tell(): void {
    this.#while = undefined
    if (this.#count === 0) return
    this.#say(this.#count)
    this.#count = 0
    this.#while = setTimeout(() => this.#tell(), this.#everyMs).unref()
  }
}
