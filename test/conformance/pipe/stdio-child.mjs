import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const GRACE_MS = 1_000

/** A process with one JSON message per line. The user of the class sets `onMessage` and `onExit`. */
export class StdioChild {
  #child
  #exit
  onMessage = () => undefined
  onExit = () => undefined

  constructor([program, ...args]) {
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#exit = once(this.#child, 'close')
    this.#child.stdin.on('error', () => undefined) // The process has exited, which onExit reports.
    this.#child.on('close', () => this.onExit())
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.onMessage(JSON.parse(line)))
  }

  send(message) {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  /** Ends its input, and kills the process if it does not exit. */
  async end() {
    this.#child.stdin.end()
    const late = setTimeout(() => this.#child.kill('SIGKILL'), GRACE_MS)
    await this.#exit
    clearTimeout(late)
  }
}
