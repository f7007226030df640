import type { Writable } from 'node:stream'

/** So many lines go at once, so that the server begins with them while the next ones are read. */
const FULL = 16

/**
 * Lines for a server, written together in a turn of the event loop: whatever many agents ask at the same moment is few
 * writes, and for the server few reads.
 */
export class Outbox {
  readonly #stream: Writable
  #text = ''
  #count = 0
  #due: NodeJS.Immediate | undefined

  constructor(stream: Writable) {
    this.#stream = stream
  }

  /** What waits, about: characters beyond ASCII take more bytes. */
  get length(): number {
    return this.#text.length
  }

  add(line: string): void {
    this.#text += `${line}\n`
    this.#count += 1
    if (this.#count >= FULL) this.flush()
    else this.#due ??= setImmediate(() => this.flush())
  }

  /** In three parts, of which the middle is not made into text. */
  addSpliced(head: string, middle: Buffer, tail: string): void {
    this.flush()
    this.#stream.cork()
    this.#stream.write(head)
    this.#stream.write(middle)
    this.#stream.write(`${tail}\n`)
    this.#stream.uncork()
  }

  flush(): void {
    if (this.#due) clearImmediate(this.#due)
    this.#due = undefined
    if (this.#text === '') return
    const text = this.#text
    this.#text = ''
    this.#count = 0
    if (this.#stream.writable) this.#stream.write(text)
  }
}
