const MAX_LINES = 40
const MAX_CHARACTERS = 2000

/** The last lines of a process, to explain its exit. */
export class Tail {
  readonly #lines: string[] = []

  add(line: string): void {
    if (line.trim() === '') return
    this.#lines.push(line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line)
    if (this.#lines.length > MAX_LINES) this.#lines.shift()
  }

  get all(): readonly string[] {
    return [...this.#lines]
  }

  last(count: number): string[] {
    return this.#lines.slice(-count)
  }
}
