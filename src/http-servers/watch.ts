import type { FactBus } from '../kernel/facts.ts'
import type { Catalogues } from '../upstreams/catalogues.ts'
import type { HttpServer } from './http-servers.schema.ts'
import { type Finding, findingOf, type Remote, type Remotes } from './remote.ts'
import type { ConnectionReport, Status } from './report.schema.ts'

export interface WatchDeps {
  readonly remotes: Remotes
  readonly catalogues: Catalogues
  readonly facts: FactBus
  /** Between two checks; 0: never by itself. */
  readonly intervalMs: number
  readonly now: () => number
  readonly random: () => number
}

/** What is known of a server's connection. */
export interface Connectedness {
  readonly status: Status
  readonly latencyMs: number | null
  readonly checkedAt: number | null
  readonly nextCheckAt: number | null
  readonly lastError: Finding | null
}

const CHECK_MS = 10_000
const DAY_MS = 86_400_000
const LONGEST_PAUSE_MS = 15 * 60_000
/** A check soon after Toolroom or the server came, but not all of them in the same moment. */
const FIRST_WITHIN_MS = 5000
const SPREAD = 0.2
const PATIENCE = 3

/** Trying again without a person would only be refused again. */
const NEEDS_A_PERSON = ['auth_required', 'forbidden']
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

/** Looks after one HTTP server: keeps the connection, asks now and then whether it is there. */
export class Watch {
  readonly #deps: WatchDeps
  #server: HttpServer
  #remote: Promise<Remote> | undefined
  #opened: Remote | undefined
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #wasThere = false
  #closed = false
  #known: Connectedness = {
    status: 'unknown',
    latencyMs: null,
    checkedAt: null,
    nextCheckAt: null,
    lastError: null,
  }

  constructor(server: HttpServer, deps: WatchDeps) {
    this.#server = server
    this.#deps = deps
    this.#schedule(FIRST_WITHIN_MS * deps.random())
  }

  get known(): Connectedness {
    return this.#server.enabled ? this.#known : { ...this.#known, status: 'disabled', nextCheckAt: null }
  }

  /** The server was changed: what was known of the old one counts no longer. */
  changed(server: HttpServer): void {
    const same = ({ url, transport, headers, enabled }: HttpServer) =>
      JSON.stringify([url, transport, headers, enabled])
    const moved = same(server) !== same(this.#server)
    this.#server = server
    if (!moved) return
    this.#letGo()
    this.#failures = 0
    this.#wasThere = false
    this.#known = { ...this.#known, status: 'unknown', lastError: null }
    this.#schedule(FIRST_WITHIN_MS * this.#deps.random())
  }

  /** A connection that is ready. */
  connected(timeoutMs: number): Promise<Remote> {
    this.#remote ??= this.#connect(timeoutMs)
    return this.#remote
  }

  async check(): Promise<void> {
    const startedAt = performance.now()
    const tookMs = () => Math.round((performance.now() - startedAt) * 10) / 10
    try {
      const fresh = this.#remote === undefined
      const remote = await this.connected(CHECK_MS)
      if (!fresh) await remote.refresh(CHECK_MS)
      this.#learn(null, tookMs())
    } catch (error) {
      this.#letGo()
      this.#learn(findingOf(error), tookMs())
    }
  }

  /** What a test by a person has found counts as well. */
  tested({ error, latency_ms }: ConnectionReport, tookMs: number): void {
    if (this.#server.enabled) this.#learn(error, latency_ms ?? tookMs)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#letGo()
  }

  async #connect(timeoutMs: number): Promise<Remote> {
    const { remotes, catalogues, facts } = this.#deps
    const { id } = this.#server
    const before = catalogues.of(id)
    const known = before?.transport
      ? { transport: before.transport, protocol_version: before.protocol_version }
      : null
    const onAnew = () => facts.publish('http_server_connected', { server_id: id })
    const remote: Remote = remotes.open(this.#server, known, {
      onAnew,
      onTools: (heard) => catalogues.learned(id, heard),
      onList: (kind, items) => catalogues.listed(id, kind, items),
      onSaid: (text) => facts.publish('server_line', { server_id: id, stream: 'mcp', text, cut: 0 }),
      onNote: (method, params) => facts.publish('server_note', { server_id: id, method, params }),
      onLost: () => this.#opened === remote && this.#letGo(), // who comes next connects anew
    })
    this.#opened = remote
    try {
      await remote.connect(timeoutMs)
      onAnew()
      return remote
    } catch (error) {
      remote.close()
      if (this.#opened === remote) this.#remote = undefined // unless the server was changed meanwhile
      throw error
    }
  }

  #letGo(): void {
    const remote = this.#remote
    this.#remote = undefined
    remote?.then((it) => it.close()).catch(() => {}) // it never was
  }

  #learn(finding: Finding | null, tookMs: number): void {
    if (this.#closed) return
    const { now, facts } = this.#deps
    this.#failures = finding ? this.#failures + 1 : 0
    if (!finding) this.#wasThere = true
    const status = finding ? this.#statusAfter(finding) : 'connected'
    this.#known = {
      status,
      latencyMs: finding ? this.#known.latencyMs : tookMs,
      checkedAt: now(),
      nextCheckAt: null,
      lastError: finding,
    }
    const { id } = this.#server
    facts.publish('http_server_check', {
      server_id: id,
      ok: finding === null,
      duration_ms: tookMs,
      error_code: finding?.code ?? null,
      status,
    })
    this.#schedule(this.#pauseAfter(finding))
  }

  #statusAfter({ code }: Finding): Status {
    if (NEEDS_A_PERSON.includes(code)) return 'auth_required'
    if (this.#wasThere && this.#failures < PATIENCE) return 'degraded'
    return BROKEN.includes(code) ? 'error' : 'unreachable'
  }

  /** Undefined when only a person can help. */
  #pauseAfter(finding: Finding | null): number | undefined {
    if (finding && NEEDS_A_PERSON.includes(finding.code)) return undefined
    const { intervalMs, random } = this.#deps
    const grown = Math.min(
      intervalMs * 2 ** Math.min(this.#failures, 10),
      Math.max(LONGEST_PAUSE_MS, intervalMs),
    )
    const spread = grown * (1 - SPREAD + 2 * SPREAD * random())
    return Math.min(Math.max(spread, (finding?.retryAfterS ?? 0) * 1000), DAY_MS)
  }

  #schedule(ms: number | undefined): void {
    clearTimeout(this.#timer)
    if (ms === undefined || this.#closed || !this.#server.enabled || this.#deps.intervalMs === 0) return
    this.#known = { ...this.#known, nextCheckAt: this.#deps.now() + Math.round(ms) }
    this.#timer = setTimeout(() => void this.check(), ms).unref()
  }
}
