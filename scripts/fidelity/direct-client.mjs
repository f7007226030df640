// A client without a library that starts a server and talks to it over stdio.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Conversation } from './conversation.mjs'

const LF = 0x0a

/** One process of a server. */
export class DirectClient extends Conversation {
  #child
  #ended
  #rest = Buffer.alloc(0)
  #stderr = ''

  constructor({ command, args, cwd, env }, options) {
    super(options)
    // A process group of its own, to end the children of the server with it.
    this.#child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    process.once('exit', this.#endGroup)
    this.#ended = once(this.#child, 'close').then(
      () => this.lost(`the server ended: ${this.#stderr.trim().split('\n').slice(-3).join(' | ')}`),
      (error) => this.lost(`the server could not be started: ${error.message}`),
    )
    this.#child.stdin.on('error', () => undefined) // it has ended, which `lost` reports
    this.#child.stdout.on('data', (bytes) => this.#read(bytes))
    this.#child.stderr.setEncoding('utf8').on('data', (text) => {
      this.#stderr = (this.#stderr + text).slice(-2000)
    })
  }

  send(text) {
    this.#child.stdin.write(`${text}\n`)
  }

  /** How a server ends is not compared, and some of them take seconds. */
  async close() {
    this.#endGroup()
    await this.#ended
    process.off('exit', this.#endGroup)
  }

  /** Split at bytes, because readline also splits at U+2028, which is valid inside a string. */
  #read(bytes) {
    this.#rest = Buffer.concat([this.#rest, bytes])
    for (let end = this.#rest.indexOf(LF); end >= 0; end = this.#rest.indexOf(LF)) {
      const line = this.#rest.subarray(0, end).toString('utf8').trim()
      this.#rest = this.#rest.subarray(end + 1)
      if (line.startsWith('{')) this.receive(line)
    }
  }

  #endGroup = () => {
    try {
      process.kill(-this.#child.pid, 'SIGKILL')
    } catch {
      // All processes of the group have ended.
    }
  }
}
