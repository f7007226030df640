import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const GRACE_MS = 1_000

/** A process that speaks one JSON message per line. `onMessage` and `onExit` are set by who uses it. */
export class StdioChild {
  #child
  #exit
  onMessage = () => undefined
  onExit = () => undefined

  constructor([program, ...args]) {
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#exit = once(this.#child, 'close')
    this.#child.stdin.on('error', () => undefined) // It has ended; onExit says so.
    this.#child.on('close', () => this.onExit())
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.onMessage(JSON.parse(line)))
  }

  send(message) {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  /** Its input ends, so it does. If not, it is ended by its id. */
  async end() {
    this.#child.stdin.end()
    const late = setTimeout(() => this.#child.kill('SIGKILL'), GRACE_MS)
    await this.#exit
    clearTimeout(late)
  }
}
