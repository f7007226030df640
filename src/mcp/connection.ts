import type { Readable, Writable } from 'node:stream'
import type { LastError } from '../kernel/server-state.ts'
import { type Greeting, greet, listTools, NotMcpError, type ToolList } from './handshake.ts'
import { Peer, RequestError } from './peer.ts'

interface Options {
  readonly input: Writable
  readonly output: Readable
  /** Toolroom's own, for the greeting. */
  readonly version: string
  readonly startMs: number
  /** What stands on stdout and is no message, for the log. */
  readonly onNoise: (text: string) => void
  readonly onTools: (list: ToolList) => void
}

const RELIST_AFTER_MS = 100

/** A conversation with one tool server, from the handshake to the end of its streams. */
export class Connection {
  readonly #options: Options
  readonly #peer: Peer
  readonly lost: Promise<void>
  #relist: NodeJS.Timeout | undefined
  greeting: Greeting | undefined

  constructor(options: Options) {
    this.#options = options
    this.#peer = new Peer({
      input: options.input,
      output: options.output,
      onNoise: (bytes, cut) =>
        options.onNoise(bytes.toString('utf8') + (cut > 0 ? ` … (${cut} bytes cut)` : '')),
      onNotification: (method) => {
        if (method === 'notifications/tools/list_changed') this.#listSoon()
      },
    })
    this.lost = new Promise((resolve) => {
      options.output.once('close', () => {
        clearTimeout(this.#relist)
        resolve()
      })
    })
  }

  /** Ready is: greeted, and the tools are known. */
  async ready(): Promise<void> {
    const deadline = performance.now() + this.#options.startMs
    this.greeting = await greet(this.#peer, this.#options.version, this.#options.startMs)
    if (this.greeting.capabilities.tools === undefined)
      return this.#options.onTools({ tools: [], truncated: false })
    this.#options.onTools(await listTools(this.#peer, Math.max(1, deadline - performance.now())))
  }

  /** The result as the server sent it, also when it says `isError`. Rejects with a RequestError. */
  call(tool: string, args: unknown, options: { timeoutMs: number; signal?: AbortSignal }): Promise<unknown> {
    return this.#peer.request('tools/call', { name: tool, arguments: args }, options)
  }

  explain(error: unknown): { error: LastError; retry: boolean } {
    if (error instanceof NotMcpError) {
      const hint = 'Check that the command starts an MCP server that speaks over stdio'
      return { error: { code: 'not_mcp', message: error.message, hint }, retry: false }
    }
    const silent = error instanceof RequestError && error.failure === 'timeout'
    const message = error instanceof Error ? error.message : String(error)
    return silent
      ? {
          error: {
            code: 'start_timeout',
            message: `It said nothing that Toolroom understands: ${message}`,
            hint: 'Its log may say what it waits for',
          },
          retry: true,
        }
      : {
          error: {
            code: 'handshake_failed',
            message: `The handshake failed: ${message}`,
            hint: 'Its log has the details',
          },
          retry: true,
        }
  }

  /** Servers announce several changes in a row; one list at the end is enough. */
  #listSoon(): void {
    if (this.greeting === undefined) return
    clearTimeout(this.#relist)
    this.#relist = setTimeout(() => {
      void listTools(this.#peer, this.#options.startMs).then(this.#options.onTools, () => {}) // it has ended: its exit says so
    }, RELIST_AFTER_MS)
  }
}
