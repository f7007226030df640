import type { Writable } from 'node:stream'

/** This many lines are written at once, so that the server can process them while the next ones are prepared. */
const MAX_LINES = 16

/** Collects the lines of one turn of the event loop, so that many calls at once need few writes and few reads. */
export class Outbox {
  readonly #stream: Writable
  #text = ''
  #count = 0
  #due: NodeJS.Immediate | undefined

  constructor(stream: Writable) {
    this.#stream = stream
  }

  /** The characters that are waiting, as an estimate of their bytes. */
  get length(): number {
    return this.#text.length
  }

  /** `isOnly`: no other request is pending, so there is nothing to wait for. */
  add(line: string, isOnly: boolean): void {
    this.#text += `${line}\n`
    this.#count += 1
    if (isOnly || this.#count >= MAX_LINES) this.flush()
    else this.#due ??= setImmediate(() => this.flush())
  }

  /** One line in three parts, so that the middle is not decoded. */
  addParts(head: string, middle: Buffer, tail: string): void {
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
