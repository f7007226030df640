/** How long lines are collected. The log stores them in batches, so most come together anyway. */
const COLLECT_MS = 50
const MAX_BYTES = 64 * 1024

/** Collects log lines for a client that wants them together: a browser needs much longer for a frame than for a line. */
export class LineBatch {
  readonly #send: (lines: number, data: string) => void
  #lines: string[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  /** `data` is a JSON list of the lines. */
  constructor(send: (lines: number, data: string) => void) {
    this.#send = send
  }

  add(line: string): void {
    this.#lines.push(line)
    this.#bytes += line.length
    if (this.#bytes >= MAX_BYTES) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), COLLECT_MS).unref()
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const lines = this.#lines
    this.#lines = []
    this.#bytes = 0
    if (lines.length > 0) this.#send(lines.length, `[${lines.join(',')}]`)
  }
}
