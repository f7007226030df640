import type { Readable, Writable } from 'node:stream'
import { printableLine } from '../../../kernel/secrets/strip-terminal-codes.ts'
import type { LastError } from '../../../kernel/server-state.ts'
import { discover, type HandshakeResult, initialize, NotMcpError } from '../../client/handshake.ts'
import type { JsonRpcPeer } from '../../client/json-rpc-peer.ts'
import { type ClientEvents, McpClient } from '../../client/mcp-client.ts'
import type { TransportEvents } from '../../client/transport.ts'
import { CallFailure } from '../../protocol/call-failure.ts'
import type { ClientProfile } from '../../protocol/call-options.ts'
import { LOG_LINE_MAX_BYTES } from '../../protocol/line-splitter.ts'
import { MODERN_VERSION } from '../../protocol/mcp-constants.ts'
import { StdioTransport } from './stdio-transport.ts'

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
    return { code, message: this.#clean(message), hint, action: SEE_LOG }
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

/** A server that supports `server/discover` answers at once. */
const PROBE_MS = 2000

interface HandshakeOptions {
  /** Toolroom's version. */
  readonly version: string
  /** The client that the server runs for alone. */
  readonly profile?: ClientProfile | undefined
  readonly timeoutMs: number
  /** The protocol version of the last connection. */
  readonly knownVersion: string | null
}

/**
 * Detects the era of a stdio server, within `timeoutMs`. The legacy handshake is tried first: nearly every stdio server
 * supports it, and some exit on any other first request.
 */
export async function stdioHandshake(
  peer: JsonRpcPeer,
  { version, profile, timeoutMs, knownVersion }: HandshakeOptions,
): Promise<HandshakeResult> {
  const deadline = performance.now() + timeoutMs
  const left = () => Math.max(1, deadline - performance.now())
  // Half of the remaining time is reserved for the legacy handshake, however short the deadline is.
  const probe = () => discover(peer, version, Math.min(PROBE_MS, left() / 2)).catch(() => undefined)
  if (knownVersion === MODERN_VERSION) {
    const handshake = await probe()
    if (handshake) return handshake
  }
  try {
    const handshake = await initialize(peer, version, left(), profile)
    peer.notify('notifications/initialized')
    return handshake
  } catch (error) {
    if (!(error instanceof CallFailure) || error.reason !== 'remote') throw error
    const handshake = await probe() // whatever the error code: modern servers reject initialize with various codes
    if (handshake) return handshake
    throw error
  }
}

interface Start {
  /** The request that failed. */
  readonly step: 'initialize' | 'tools/list'
  readonly startMs: number
  /** The first text on stdout that is not a message. */
  readonly firstStrayLine: string | undefined
}

const MAX_QUOTE_CHARS = 300
const SEE_LOG = { kind: 'see_log' } as const
const EDIT_COMMAND = { kind: 'edit_command' } as const
const SLOW_HINT =
  'It may be waiting for input, a login or a download: check its log. Raise timeouts.start_s if it needs more time'
const STDOUT_HINT =
  'Check that the command starts an MCP server that uses the stdio transport. Logs belong on stderr, not on stdout'

/** Why a server did not become ready, and whether a retry may help. */
function explainHandshakeFailure(error: unknown, start: Start): { error: LastError; retry: boolean } {
  if (error instanceof NotMcpError) {
    const { message, hint } = error
    return { error: { code: 'not_mcp', message, hint, action: EDIT_COMMAND }, retry: false }
  }
  if (error instanceof CallFailure && error.reason === 'timeout') {
    return { error: timeoutError(start), retry: true }
  }
  const text = error instanceof Error ? error.message : String(error)
  const quote = printableLine(text, MAX_QUOTE_CHARS) ?? 'no reason given'
  const rejected = error instanceof CallFailure && error.reason === 'remote'
  const message = rejected ? `It rejected ${start.step}: ${quote}` : `The handshake failed: ${quote}`
  const hint = 'Check its arguments and environment variables; its log may have details'
  return { error: { code: 'handshake_failed', message, hint, action: SEE_LOG }, retry: true }
}

function timeoutError({ step, startMs, firstStrayLine }: Start): LastError {
  const code = 'start_timeout'
  const time = `${Number((startMs / 1000).toPrecision(3))} s`
  if (step === 'initialize' && firstStrayLine !== undefined) {
    const message = `It wrote text to stdout but no MCP message within ${time}. First line: "${firstStrayLine}"`
    return { code, message, hint: STDOUT_HINT, action: EDIT_COMMAND }
  }
  return { code, message: `It did not answer ${step} within ${time}`, hint: SLOW_HINT, action: SEE_LOG }
}

const FIRST_MAX_CHARS = 200
const MAX_BYTES_PER_CHAR = 4

/** Lines on a server's stdout that are not messages. */
class StrayOutput {
  lines = 0
  /** The first line that is not blank, shortened. */
  first: string | undefined

  /** The line for the log, decoded up to the limit. `cut` counts all bytes that are missing. */
  add(bytes: Buffer, cut: number): { readonly text: string; readonly cut: number } {
    this.lines += 1
    this.first ??= printableLine(
      bytes.toString('utf8', 0, FIRST_MAX_CHARS * MAX_BYTES_PER_CHAR),
      FIRST_MAX_CHARS,
    )
    const end = bytes.length > LOG_LINE_MAX_BYTES ? characterStart(bytes, LOG_LINE_MAX_BYTES) : bytes.length
    return { text: bytes.toString('utf8', 0, end), cut: cut + bytes.length - end }
  }
}

/** Where the UTF-8 character at this byte begins. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at
  while (start > at - MAX_BYTES_PER_CHAR && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1
  return start
}
