import { type Line, styleOf, writtenLine } from '../run/printed-line.ts'

const ENTER = '\u001b[?1049h\u001b[?25l'
const LEAVE = '\u001b[?25h\u001b[?1049l'
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
const CTRL_C = '\u0003'
const CTRL_Z = '\u001a'

/** The alternate screen of a terminal. Whatever ends or suspends the program, the terminal is as before. */
export class Screen {
  readonly #isAscii: boolean
  #isOpen = false

  constructor(isAscii: boolean, onKeys: (keys: string) => void, onResize: () => void) {
    const { stdin, stdout } = process
    this.#isAscii = isAscii
    process.once('exit', () => this.close())
    for (const [signal, code] of Object.entries(SIGNALS)) process.once(signal, () => process.exit(code))
    const suspend = () => {
      this.close()
      process.kill(process.pid, 'SIGSTOP')
    }
    process.on('SIGTSTP', suspend).on('SIGCONT', () => {
      this.#open()
      onResize()
    })
    stdout.on('resize', onResize)
    stdin.setEncoding('utf8').on('data', (keys: string) => {
      if (keys.includes(CTRL_C)) process.exit(SIGNALS.SIGINT)
      if (keys === CTRL_Z && process.platform !== 'win32') suspend()
      else onKeys(keys)
    })
    this.#open()
  }

  get size(): { width: number; height: number } {
    return { width: process.stdout.columns || 80, height: process.stdout.rows || 24 }
  }

  /** Overwrites line by line, so that nothing flickers. Each is erased first: after a full line, that would take its end. */
  draw(lines: readonly Line[]): void {
    if (!this.#isOpen) return
    const style = styleOf(process.stdout, process.env, this.#isAscii)
    const text = lines.map((line) => `\u001b[2K${writtenLine(line, style).trimEnd()}`).join('\r\n')
    process.stdout.write(`\u001b[H${text}`)
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    process.stdin.setRawMode(false).pause()
    process.stdout.write(LEAVE)
  }

  #open(): void {
    this.#isOpen = true
    process.stdin.setRawMode(true).resume()
    process.stdout.write(ENTER)
  }
}
