import { AppError } from '../../kernel/errors.ts'
import { CallFailure } from '../../mcp/protocol/call-failure.ts'
import type { CallOptions, CallResult } from '../../mcp/protocol/call-options.ts'
import type { Definition } from '../../mcp/protocol/listed-definitions.ts'
import { MODERN_VERSION } from '../../mcp/protocol/mcp-constants.ts'
import type { HttpMcpClient } from '../../mcp/transports/http/http-mcp-client.ts'
import { refuseUnknownTool, requestMs } from '../shared/call-recorder.ts'
import { held, isHeld, notAllowed } from '../shared/definition/outgoing.ts'
import { heldTrouble, type Judgement } from '../shared/judgement.ts'
import type { RelayedRequest, ToolCall, Trouble, Upstream } from '../shared/upstream.ts'
import { RegisteredUpstream, type UpstreamDeps } from '../shared/upstreams.ts'
import { codeOf, failureOf } from './connection-failure.ts'
import type { ConnectionState, ConnectionWatch } from './connection-watch.ts'
import type { HttpServer } from './http-servers.schema.ts'
import { awaitLogin, isLoginMissing, type LoginPort, loginNeeded } from './login-wait.ts'

interface Deps extends UpstreamDeps {
  readonly watch: ConnectionWatch
  readonly logins: LoginPort
  readonly judge: (server: HttpServer) => Judgement
  readonly redact: (text: string) => string
}

type Sending = (remote: HttpMcpClient, leftMs: number) => Promise<CallResult>

const LIST_MS = 30_000
const AWAKE: readonly string[] = ['connected', 'unknown', 'degraded']

/** An HTTP server. A call connects to it when there is no connection. */
export class HttpUpstream extends RegisteredUpstream<HttpServer, Deps> implements Upstream {
  readonly kind = 'http'
  /** Waits for a login, by the id of the client that was asked. */
  readonly #asked = new Map<string, Promise<void>>()

  override update(server: HttpServer): void {
    super.update(server)
    this.deps.watch.changed(server)
  }

  get status(): string {
    return this.deps.watch.state.status
  }

  get trouble(): Upstream['trouble'] {
    const { watch, judge } = this.deps
    const { state } = watch
    const { enabled } = this.server
    if (enabled && isHeld(this.server)) return heldTrouble(judge(this.server))
    if (state.status !== 'unknown') return troubleOf(state)
    if (state.nextCheckAt !== null) return 'unsettled'
    const { error } = judge(this.server)
    return error ? troubleOf({ ...state, status: 'error', lastError: error }) : undefined
  }

  get isAwake(): boolean {
    return AWAKE.includes(this.status)
  }

  /** One that a person disabled has the status `disabled`. */
  get isStopped(): boolean {
    return false
  }

  get isUnlisted(): boolean {
    return !this.catalogue && this.deps.watch.isUnlisted
  }

  /** Nothing to do: the regular check lists its tools. */
  wake(): undefined {
    return undefined
  }

  call(call: ToolCall): Promise<CallResult> {
    const server = this.server
    const { catalogues, calls } = this.deps
    const { tool, args, options } = call
    const timeoutMs = requestMs(call, server.timeouts)
    return calls.record(server, call, async (times) => {
      refuseUnknownTool(server, 'http-servers', tool, catalogues.of(server.id))
      const before = performance.now()
      const send: Sending = (remote, leftMs) => {
        refuseUnknownTool(server, 'http-servers', tool, catalogues.of(server.id))
        call.admit?.()
        times.sentAt = performance.now()
        times.start_ms = times.sentAt - before
        return remote.call(tool, args, { timeoutMs: leftMs, ...options })
      }
      try {
        return await this.#using(timeoutMs, send)
      } catch (error) {
        const what = `The call to '${tool}' on '${server.name}'`
        return this.#afterLogin(error, what, { timeoutMs, ...options }, send)
      }
    })
  }

  async relay(request: RelayedRequest): Promise<CallResult> {
    const { name, timeouts } = this.server
    const { method, params, options } = request
    const timeoutMs = requestMs(request, timeouts)
    const send: Sending = (remote, leftMs) => remote.relay(method, params, { timeoutMs: leftMs, ...options })
    try {
      return await this.#using(timeoutMs, send)
    } catch (error) {
      return this.#afterLogin(error, `${method} on '${name}'`, { timeoutMs, ...options }, send)
    }
  }

  async modernCapabilities(): Promise<Definition | undefined> {
    const { catalogue } = this
    return catalogue?.protocol_version === MODERN_VERSION ? catalogue.capabilities : undefined
  }

  /** A remote server serves all clients over one connection. */
  openFor(): undefined {
    return undefined
  }

  ownCatalogue(): undefined {
    return undefined
  }

  notify(): void {}

  release(): void {}

  async refresh(): Promise<void> {
    const isNew = !this.deps.watch.isOpen
    if (isNew && this.catalogue) return
    try {
      const remote = await this.#connected(LIST_MS)
      if (!isNew || !this.catalogue) await remote.refresh(LIST_MS) // a new connection has listed them
    } catch (error) {
      throw this.#explained(error, `tools/list on '${this.server.name}'`)
    }
  }

  /** A refused request is repeated after a login. Any other error is thrown. */
  async #afterLogin(
    error: unknown,
    what: string,
    options: CallOptions & { readonly timeoutMs: number },
    request: Sending,
  ): Promise<CallResult> {
    const { server, deps } = this
    if (!isLoginMissing(error, server, deps.logins)) throw this.#failed(what, error)
    await this.#login(options)
    try {
      return await this.#using(options.timeoutMs, request)
    } catch (again) {
      throw this.#explained(again, what)
    }
  }

  /** The calls of one session ask once. */
  #login(options: CallOptions): Promise<void> {
    const id = options.client?.id ?? ''
    const known = this.#asked.get(id)
    if (known !== undefined)
      return known.catch((error: unknown) => {
        const isOthers =
          error instanceof CallFailure && error.reason === 'cancelled' && !options.signal?.aborted
        if (isOthers) return this.#login(options) // only the call that asked was cancelled
        throw error
      })
    const asked = awaitLogin(this.server, this.deps.logins, options).finally(() => this.#asked.delete(id))
    if (options.client) this.#asked.set(id, asked)
    return asked
  }

  #explained(error: unknown, what: string): unknown {
    const { server, deps } = this
    return isLoginMissing(error, server, deps.logins)
      ? loginNeeded(server, deps.logins)
      : this.#failed(what, error)
  }

  #failed(what: string, error: unknown): unknown {
    return asAppError(what, error, this.deps.redact)
  }

  /** When the server has lost the session, it has not processed the request, which is repeated over a new connection. */
  async #using(timeoutMs: number, request: Sending): Promise<CallResult> {
    const deadline = performance.now() + timeoutMs
    const left = () => Math.max(1, deadline - performance.now())
    const remote = await this.#connected(timeoutMs)
    try {
      return await request(remote, left())
    } catch (error) {
      if (codeOf(error) !== 'session_lost') throw error
      const next = await this.#connected(left())
      if (next === remote) throw error // the handshake was repeated already
      return request(next, left())
    }
  }

  #connected(timeoutMs: number): Promise<HttpMcpClient> {
    const { enabled, name, timeouts } = this.server
    const { error } = notAllowed(this.server)
    if (error) throw held(this.server, error)
    if (!enabled)
      throw new AppError('server_not_running', `'${name}' is disabled`, { hint: 'Enable it first' })
    return this.deps.watch.connected(Math.min(timeoutMs, timeouts.connect_s * 1000))
  }
}

/** Failures of the HTTP connection. Failures of the call itself are handled alike for both kinds of server. */
function asAppError(what: string, error: unknown, redact: (text: string) => string): unknown {
  if (error instanceof AppError || error instanceof CallFailure) return error
  if (!(error instanceof Error) || !('code' in error)) return error
  const { code, message, hint } = failureOf(error, redact)
  const late = code === 'timeout' || code === 'connect_timeout'
  return new AppError(late ? 'call_timeout' : 'call_failed', `${what} failed: ${message}`, {
    ...(hint !== null && { hint }),
    cause: error,
  })
}

/** A disabled server has none. */
function troubleOf({ status, lastError }: ConnectionState): Upstream['trouble'] {
  const { message = status, hint = null, action } = lastError ?? {}
  const cause = { message, hint, action }
  switch (status) {
    case 'connected':
    case 'disabled':
    case 'unknown':
      return undefined
    case 'error':
      return { ...(isSetUp(lastError) ? WORDS.error : INCOMPLETE), ...cause }
    case 'auth_required':
    case 'unreachable':
    case 'degraded':
      return { ...WORDS[status], ...cause }
  }
}

const WORDS = {
  auth_required: { kind: 'login_needed', what: 'requires a login' },
  unreachable: { kind: 'failed', what: 'cannot be reached' },
  error: { kind: 'failed', what: 'does not answer as an MCP server' },
  degraded: { kind: 'degraded', what: 'failed its last check' },
} as const satisfies Record<string, Pick<Trouble, 'kind' | 'what'>>

const INCOMPLETE = { kind: 'failed', what: 'lacks a setting, so Toolroom does not connect to it' } as const

/** False when a variable or a secret that it refers to is not set, or does not fit. */
const isSetUp = (error: ConnectionState['lastError']): boolean =>
  error?.code !== 'missing_setting' && error?.code !== 'invalid_setting'
