import type { Line } from '../output/line.ts'
import { styleOf, writtenLine } from '../output/style.ts'

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** The alternate screen of a terminal. Whatever ends the program, the terminal is as before. */
export class Screen {
  readonly #isAscii: boolean
  #isOpen = true

  constructor(isAscii: boolean, onKey: (key: string) => void, onResize: () => void) {
    const { stdin, stdout } = process
    this.#isAscii = isAscii
    process.once('exit', () => this.close())
    for (const [signal, code] of Object.entries(SIGNALS)) process.once(signal, () => process.exit(code))
    stdout.write(ENTER)
    stdout.on('resize', onResize)
    stdin.setRawMode(true).setEncoding('utf8').on('data', onKey)
  }

  get size(): { width: number; height: number } {
    return { width: process.stdout.columns || 80, height: process.stdout.rows || 24 }
  }

  /** Overwrites line by line, so that nothing flickers. */
  draw(lines: readonly Line[]): void {
    const style = styleOf(process.stdout, process.env, this.#isAscii)
    const text = lines.map((line) => `${writtenLine(line, style).trimEnd()}\u001b[K`).join('\r\n')
    process.stdout.write(`\u001b[H${text}\u001b[J`)
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    process.stdin.setRawMode(false).pause()
    process.stdout.write(LEAVE)
  }
}
