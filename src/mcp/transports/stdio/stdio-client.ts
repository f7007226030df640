import type { Readable, Writable } from 'node:stream'
import type { LastError } from '../../../kernel/server-state.ts'
import { type ClientEvents, McpClient } from '../../client/mcp-client.ts'
import type { TransportEvents } from '../../client/transport.ts'
import type { ClientProfile } from '../../protocol/call.ts'
import { explainHandshakeFailure } from './explain-handshake-failure.ts'
import { stdioHandshake } from './stdio-handshake.ts'
import { StdioTransport } from './stdio-transport.ts'
import { StrayOutput } from './stray-output.ts'

interface Options extends ClientEvents {
  readonly input: Writable
  readonly output: Readable
  /** Toolroom's version, for the handshake. */
  readonly version: string
  readonly startMs: number
  /** The protocol version of the last connection, which saves a modern server the legacy handshake. */
  readonly knownVersion?: string | null
  /** The client that the server runs for alone. */
  readonly profile?: ClientProfile | undefined
  /** A line on stdout that is not a message, for the log; `cut` bytes of it are missing. */
  readonly onStrayLine: (text: string, cut: number) => void
  /** Masks secrets in text of the server. */
  readonly clean?: (text: string) => string
}

/** The client of a server that runs as a child process. */
export class StdioClient extends McpClient {
  readonly #startMs: number
  readonly #strayOutput: StrayOutput
  readonly #clean: (text: string) => string
  /** Resolves when the output of the server has ended. */
  readonly lost: Promise<void>

  constructor(options: Options) {
    const { input, output, version, startMs, knownVersion = null, profile, onStrayLine, ...rest } = options
    const { clean = (text: string) => text, ...events } = rest
    const strayOutput = new StrayOutput()
    const open = async (transportEvents: TransportEvents, timeoutMs: number) => {
      const transport = new StdioTransport({
        input,
        output,
        ...transportEvents,
        onStrayLine: (bytes, missing) => {
          const { text, cut } = strayOutput.add(bytes, missing)
          onStrayLine(text, cut)
        },
      })
      const handshake = await stdioHandshake(transport.peer, { version, profile, timeoutMs, knownVersion })
      return { transport, handshake }
    }
    super({ ...events, version, open, listTimeoutMs: startMs })
    this.#startMs = startMs
    this.#strayOutput = strayOutput
    this.#clean = clean
    this.lost = new Promise((resolve) => {
      output.once('close', () => {
        void this.close()
        resolve()
      })
    })
  }

  ready(): Promise<void> {
    return this.connect(this.#startMs)
  }

  /** The number of lines on stdout that are not messages. */
  get strayLines(): number {
    return this.#strayOutput.lines
  }

  get firstStrayLine(): string | undefined {
    return this.#strayOutput.first
  }

  /** Why a running server's tools could not be listed. */
  get listError(): LastError | undefined {
    if (!this.listFailure) return undefined
    const { code, message, hint } = this.explain(this.listFailure).error
    return { code, message: this.#clean(message), hint }
  }

  /** Why `ready` failed, and whether a retry may help. */
  explain(error: unknown): { error: LastError; retry: boolean } {
    const step = this.handshake === undefined ? 'initialize' : 'tools/list'
    return explainHandshakeFailure(error, {
      step,
      startMs: this.#startMs,
      firstStrayLine: this.firstStrayLine,
    })
  }
}
