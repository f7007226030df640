import type { FactBus } from '../../kernel/fact-bus.ts'
import type { LastError } from '../../kernel/server-state.ts'
import { systemTimeOf } from '../../kernel/time.ts'
import type { HttpMcpClient, HttpMcpClientOptions } from '../../mcp/transports/http/http-mcp-client.ts'
import type { Logins } from '../logins/logins.ts'
import type { Catalogues } from '../shared/catalogues.ts'
import { secretNamesIn } from '../shared/definition/definition-references.ts'
import { isHeld } from '../shared/definition/outgoing.ts'
import type { References } from '../shared/definition/resolved-references.ts'
import { type ConnectionFailure, failureOf } from './connection-failure.ts'
import type { ConnectionReport, HttpServer, Status } from './http-servers.schema.ts'
import { loginServerOf, resolveServer } from './resolve-server-references.ts'

export type Tried = (error: LastError | null) => void

export interface ConnectionWatchDeps {
  readonly openClient: (options: Omit<HttpMcpClientOptions, 'version' | 'network'>) => HttpMcpClient
  readonly catalogues: Catalogues
  readonly facts: FactBus
  readonly references: References
  readonly logins: Pick<Logins, 'authorizerFor' | 'stateOf'>
  /** The time between two checks. 0: no checks. */
  readonly intervalMs: number
  /** Called when a connection or a check begins. What it returns is called with its result. */
  readonly beginTry: (id: string) => Tried
  /** Masks secrets. */
  readonly redact: (text: string) => string
  readonly now: () => number
  readonly random: () => number
}

/** The result of the last connection check. */
export interface ConnectionState {
  readonly status: Status
  readonly latencyMs: number | null
  readonly checkedAt: number | null
  readonly nextCheckAt: number | null
  readonly lastError: ConnectionFailure | null
}

export const NEVER_CONNECTED: ConnectionState = {
  status: 'unknown',
  latencyMs: null,
  checkedAt: null,
  nextCheckAt: null,
  lastError: null,
}

const CHECK_MS = 10_000
const DAY_MS = 86_400_000
const LONGEST_PAUSE_MS = 15 * 60_000
/** The first check follows soon, at a random moment, so that not all servers are checked at once. */
const FIRST_WITHIN_MS = 5000
const ON_THIS_COMPUTER = /^https?:\/\/(?:127\.\d+\.\d+\.\d+|localhost|\[::1\])(?=[:/?#]|$)/i
const SPREAD = 0.2
const FAILURES_UNTIL_UNREACHABLE = 3

/** A retry fails until a user changes the server's settings. */
const NEEDS_USER = ['auth_required', 'forbidden']
/** A variable or a secret that the server refers to is not set, or does not fit. */
const NEEDS_SETTING = ['missing_setting', 'invalid_setting']
const BROKEN = [
  'http_error',
  'not_found',
  'not_mcp',
  'protocol_error',
  'response_too_large',
  'redirect_refused',
  'too_many_redirects',
  'remote',
]

/** Keeps the connection to one HTTP server, and checks it regularly. */
export class ConnectionWatch {
  readonly #deps: ConnectionWatchDeps
  #server: HttpServer
  #remote: Promise<HttpMcpClient> | undefined
  #opened: HttpMcpClient | undefined
  #timer: NodeJS.Timeout | undefined
  /** When the next check begins, on the monotonic clock. */
  #dueAt = 0
  #failures = 0
  #wasConnected = false
  #closed = false
  #state = NEVER_CONNECTED

  constructor(server: HttpServer, deps: ConnectionWatchDeps) {
    this.#server = server
    this.#deps = deps
    this.#schedule(this.#firstPauseMs())
  }

  get server(): HttpServer {
    return this.#server
  }

  get state(): ConnectionState {
    const { nextCheckAt } = this.#state
    const due = nextCheckAt && systemTimeOf(this.#dueAt, nextCheckAt, this.#deps.now())
    if (due !== nextCheckAt) this.#state = { ...this.#state, nextCheckAt: due }
    return this.#isOn ? this.#state : { ...this.#state, status: 'disabled', nextCheckAt: null }
  }

  /** The definition has changed. If the connection is affected, it is closed and its state is unknown again. */
  changed(server: HttpServer): void {
    const connectionOf = (each: HttpServer) => {
      const { url, transport, headers, oauth, enabled, outgoing_allowed } = each
      return JSON.stringify([url, transport, headers, oauth, enabled, outgoing_allowed])
    }
    const moved = connectionOf(server) !== connectionOf(this.#server)
    this.#server = server
    if (moved) this.#reset()
  }

  /** A secret was set or deleted. A server that uses it is connected again, as after a change of its headers. */
  secretChanged(name: string): void {
    if (secretNamesIn(this.#server).includes(name)) this.#reset()
  }

  /** A login has succeeded. A server that is not connected is connected at once. Otherwise calls in flight go on. */
  async loginChanged(): Promise<ConnectionState> {
    if (!this.isOpen || this.#state.status !== 'connected') this.#reset()
    await this.loginEnded()
    return this.state
  }

  /** Checks what works without a login. The connection stays: the server still answers the requests that it has. */
  async loginEnded(): Promise<void> {
    if (this.#isOn && !this.#closed) await this.#check()
  }

  /** Not disabled, and everything that it would get is allowed. */
  get #isOn(): boolean {
    return this.#server.enabled && !isHeld(this.#server)
  }

  #reset(): void {
    this.#disconnect()
    this.#failures = 0
    this.#wasConnected = false
    this.#state = { ...this.#state, status: 'unknown', lastError: null }
    this.#schedule(this.#firstPauseMs())
  }

  /** Whether something listens on this computer is found out at once. */
  #firstPauseMs(): number {
    return ON_THIS_COMPUTER.test(this.#server.url) ? 0 : FIRST_WITHIN_MS * this.#deps.random()
  }

  /** Whether there is a connection, or one is being opened. */
  get isOpen(): boolean {
    return this.#remote !== undefined
  }

  /** Whether the open connection could not list the tools. */
  get isUnlisted(): boolean {
    return this.isOpen && this.#opened?.listError !== undefined
  }

  /** The open connection, or a new one. */
  connected(timeoutMs: number): Promise<HttpMcpClient> {
    if (this.#remote !== undefined) return this.#remote
    try {
      this.#remote = this.#connect(resolveServer(this.#server, this.#deps.references), timeoutMs)
    } catch (error) {
      return Promise.reject(error)
    }
    return this.#remote
  }

  async #check(): Promise<void> {
    const startedAt = performance.now()
    const tookMs = () => Math.round((performance.now() - startedAt) * 10) / 10
    const tried = this.#deps.beginTry(this.#server.id)
    let remote: HttpMcpClient | undefined
    try {
      const fresh = this.#remote === undefined
      remote = await this.connected(CHECK_MS)
      if (!fresh) await remote.refresh(CHECK_MS)
      tried(remote.listError ? this.#lastErrorOf(remote.listError) : null)
      this.#recordListed(remote, tookMs())
    } catch (error) {
      const failure = failureOf(error, this.#deps.redact)
      tried(this.#lastErrorOf(error))
      if (remote?.listError && failure.code !== 'timeout') this.#recordListed(remote, tookMs())
      else {
        if (!NEEDS_USER.includes(failure.code)) this.#disconnect() // a refusal says nothing about other requests
        this.#record(failure, tookMs())
      }
    }
  }

  /** A server that answers, but cannot list its tools, stays connected: its calls may work. */
  #recordListed({ listError }: HttpMcpClient, tookMs: number): void {
    this.#record(listError ? failureOf(listError, this.#deps.redact) : null, tookMs, true)
  }

  /** The result of a test that a user starts counts as a check. */
  tested({ error, latency_ms, protocol_version }: ConnectionReport, tookMs: number): void {
    if (!this.#isOn) return
    const isUnlisted = protocol_version !== null && error?.code === 'protocol_error'
    const failure = error && { ...error, action: error.action ?? undefined }
    this.#record(failure, latency_ms ?? tookMs, error === null || isUnlisted)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#disconnect()
  }

  async #connect(server: HttpServer, timeoutMs: number): Promise<HttpMcpClient> {
    const { openClient, catalogues, facts, logins } = this.#deps
    const { id } = server
    const tried = this.#deps.beginTry(id)
    const before = catalogues.of(id)
    const known = before?.transport
      ? { transport: before.transport, protocol_version: before.protocol_version }
      : null
    const onReset = () => facts.publish('http_server_connected', { server_id: id })
    const remote: HttpMcpClient = openClient({
      url: server.url,
      headers: server.headers,
      transport: server.transport,
      known,
      authorizer: logins.authorizerFor(loginServerOf(server)),
      onReset,
      onTools: (list, { era: _, ...handshake }, transport) => {
        if (transport !== 'stdio') catalogues.update(id, { ...handshake, transport, ...list })
      },
      onList: (kind, items) => catalogues.updateList(id, kind, items),
      onLogText: (text) => facts.publish('server_line', { server_id: id, stream: 'mcp', text, cut: 0 }),
      onNotification: (method, params) => facts.publish('server_note', { server_id: id, method, params }),
      onLost: () => this.#opened === remote && this.#disconnect(), // the next request connects again
    })
    this.#opened = remote
    try {
      await remote.connect(timeoutMs)
      onReset()
      tried(remote.listError ? this.#lastErrorOf(remote.listError) : null)
      return remote
    } catch (error) {
      tried(this.#lastErrorOf(error))
      void remote.close()
      if (this.#opened === remote) this.#remote = undefined // unless the definition has changed meanwhile
      throw error
    }
  }

  #disconnect(): void {
    const remote = this.#remote
    this.#remote = undefined
    remote?.then((each) => each.close()).catch(() => {}) // it was never connected
  }

  #record(failure: ConnectionFailure | null, tookMs: number, isConnected = failure === null): void {
    if (this.#closed) return
    const { now, facts } = this.#deps
    this.#failures = isConnected ? 0 : this.#failures + 1
    if (isConnected) this.#wasConnected = true
    const status = !failure ? 'connected' : isConnected ? 'degraded' : this.#statusAfter(failure)
    this.#state = {
      status,
      latencyMs: failure ? this.#state.latencyMs : tookMs,
      checkedAt: now(),
      nextCheckAt: null,
      lastError: failure,
    }
    const { id } = this.#server
    facts.publish('http_server_check', {
      server_id: id,
      ok: failure === null,
      duration_ms: tookMs,
      error_code: failure?.code ?? null,
      status,
    })
    this.#schedule(this.#pauseAfter(failure))
  }

  #statusAfter({ code }: ConnectionFailure): Status {
    if (NEEDS_USER.includes(code)) return 'auth_required'
    if (NEEDS_SETTING.includes(code)) return 'error'
    if (this.#wasConnected && this.#failures < FAILURES_UNTIL_UNREACHABLE) return 'degraded'
    return BROKEN.includes(code) ? 'error' : 'unreachable'
  }

  /** The time until the next check. Undefined when only a user can fix the failure. */
  #pauseAfter(failure: ConnectionFailure | null): number | undefined {
    if (failure && NEEDS_SETTING.includes(failure.code)) return undefined
    if (failure && NEEDS_USER.includes(failure.code) && !this.#isRenewable) return undefined
    const { intervalMs, random } = this.#deps
    const grown = Math.min(
      intervalMs * 2 ** Math.min(this.#failures, 10),
      Math.max(LONGEST_PAUSE_MS, intervalMs),
    )
    const spread = grown * (1 - SPREAD + 2 * SPREAD * random())
    return Math.min(Math.max(spread, (failure?.retryAfterS ?? 0) * 1000), DAY_MS)
  }

  /** There is a login whose token could not be renewed for now. */
  get #isRenewable(): boolean {
    return this.#deps.logins.stateOf(this.#server.id).state === 'logged_in'
  }

  #schedule(ms: number | undefined): void {
    clearTimeout(this.#timer)
    if (ms === undefined || this.#closed || !this.#isOn || this.#deps.intervalMs === 0) return
    this.#state = { ...this.#state, nextCheckAt: this.#deps.now() + Math.round(ms) }
    this.#dueAt = performance.now() + ms
    this.#timer = setTimeout(() => void this.#check(), ms).unref()
  }

  #lastErrorOf(error: unknown): LastError {
    const { code, message, hint } = failureOf(error, this.#deps.redact)
    return { code, message, hint }
  }
}
