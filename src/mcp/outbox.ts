import type { Writable } from 'node:stream'

/**
 * Lines for a server, written together once in a turn of the event loop: whatever many agents ask at the same moment is one
 * write, and for the server one read.
 */
export class Outbox {
  readonly #stream: Writable
  #text = ''
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
    this.#due ??= setImmediate(() => this.flush())
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
    if (this.#stream.writable) this.#stream.write(text)
  }
}
