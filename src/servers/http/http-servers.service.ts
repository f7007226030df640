import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { secretsIn } from '../../kernel/secrets/mask-secrets.ts'
import type { LastError } from '../../kernel/server-state.ts'
import type { ToolList } from '../../kernel/tool-fields.ts'
import type { HttpMcpClientOptions } from '../../mcp/transports/http/http-mcp-client.ts'
import type { LoginProblem, LoginServer } from '../logins/login-record.ts'
import { keptOAuth } from '../logins/oauth-settings.ts'
import type { DiscoveredServer } from '../shared/catalogues.ts'
import { secretNamesIn } from '../shared/definition/definition-references.ts'
import { type Allows, allowsAll, held, isHeld, keysOf, notAllowed } from '../shared/definition/outgoing.ts'
import type { Diagnosis } from '../shared/diagnosis.ts'
import { keepMaskedUrl, keepMaskedValues } from '../shared/masked-values.ts'
import { errorView, type Stats } from '../shared/server-fields.ts'
import { type RegistryDeps, ServerRegistry } from '../shared/server-registry.ts'
import { changedOffer } from '../shared/tool-settings.ts'
import { toolListOf } from '../shared/tool-view.ts'
import { digestOf } from '../shared/tries.ts'
import { listText, ViewTexts } from '../shared/view-json-cache.ts'
import { diagnosisOf } from './connection-diagnosis.ts'
import { repairOf } from './connection-failure.ts'
import {
  type ConnectionState,
  ConnectionWatch,
  type ConnectionWatchDeps,
  NEVER_CONNECTED,
  type Tried,
} from './connection-watch.ts'
import { checkedHeaders, edited } from './edit-http-server.ts'
import {
  type ConnectionReport,
  DEFAULTS,
  type HttpServer,
  type HttpServerInput,
  type HttpServerUpdate,
  type HttpServerView,
} from './http-servers.schema.ts'
import { HttpUpstream } from './http-upstream.ts'
import { definitionOf, judgeHttp, type Shown, viewOf } from './http-view.ts'
import type { LoginPort } from './login-wait.ts'
import { checkedUrl, loginServerOf, obstacleOf, resolveServer } from './resolve-server-references.ts'

type Connection = Pick<HttpMcpClientOptions, 'url' | 'headers' | 'transport' | 'authorizer'>

type Tested = Pick<HttpServer, 'id' | 'url' | 'headers' | 'transport' | 'outgoing_allowed'>

interface Deps extends RegistryDeps<HttpServer>, Omit<ConnectionWatchDeps, 'beginTry' | 'redact'> {
  /** Tests a connection step by step. Never rejects, and takes at most 10 s. */
  readonly testConnection: (
    options: Connection & Partial<Pick<HttpMcpClientOptions, 'onTools'>>,
  ) => Promise<
    Omit<ConnectionReport, 'error'> & { readonly error: Pick<LastError, 'code' | 'message' | 'hint'> | null }
  >
  readonly statsOf: (id: string) => Stats
  /** As of STDIO servers. */
  readonly usedBy: (id: string) => readonly string[]
  readonly logins: ConnectionWatchDeps['logins'] & LoginPort
  /** The names that the gateway gives a server's tools, by the tools' own names. */
  readonly gatewayNames: (id: string) => ReadonlyMap<string, string>
}

/** All HTTP servers, and the connections to them. */
export class HttpServers extends ServerRegistry<HttpServer, Deps> {
  protected readonly kind = 'http'
  protected readonly noun = 'HTTP server'
  readonly #watches = new Map<string, ConnectionWatch>()
  /** Servers whose login may end. */
  readonly #loggedIn = new Set<string>()
  readonly #texts = new ViewTexts<HttpServer>()
  #trials = 0
  readonly #unsubscribe: readonly (() => void)[]

  constructor(deps: Deps) {
    super(deps)
    this.#unsubscribe = [
      deps.facts.on('secret_changed', ({ name }) => {
        for (const { server } of this.#watches.values())
          if (secretNamesIn(server).includes(name)) this.compareTry(server)
        for (const watch of this.#watches.values()) watch.secretChanged(name)
      }),
      deps.facts.on('http_server_login', ({ server_id, state }) => this.#loginChanged(server_id, state)),
    ]
  }

  /** Exactly the known secrets: the sentences are our own. */
  readonly #redact = (text: string): string => this.deps.secrets.redact(text)

  protected shown(server: HttpServer) {
    return definitionOf(server)
  }

  protected upstreamFor(server: HttpServer): HttpUpstream {
    const { catalogues, calls, logins } = this.deps
    const watch = new ConnectionWatch(server, {
      ...this.deps,
      redact: this.#redact,
      beginTry: (id) => this.#beginTry(id),
    })
    this.#watches.set(server.id, watch)
    const judge = (current: HttpServer) => judgeHttp(this.#judgedOf(current))
    return new HttpUpstream(server, { watch, catalogues, calls, logins, judge, redact: this.#redact })
  }

  protected digestOf(server: HttpServer): string {
    return this.#digestOf(server)
  }

  #digestOf(server: Tested & Pick<HttpServer, 'oauth'>): string {
    const resolved = this.deps.references.resolve(server.id, server)
    const { url, headers, transport, oauth } = resolved.ok ? resolved.definition : server
    return digestOf([resolved.ok, url, headers, transport, oauth])
  }

  protected forget(id: string): void {
    this.#loggedIn.delete(id)
    this.#watches.get(id)?.close()
    this.#watches.delete(id)
  }

  async load(): Promise<void> {
    for (const { id } of await this.loadRecords())
      if (this.deps.logins.stateOf(id).state === 'logged_in') this.#loggedIn.add(id)
  }

  close(): void {
    for (const end of this.#unsubscribe) end()
    for (const watch of this.#watches.values()) watch.close()
  }

  /** The server as logins see it. Throws when a setting that it refers to is missing. */
  async loginServer(key: string): Promise<LoginServer> {
    const server = await this.get(key)
    const { error } = notAllowed(server)
    if (error) throw held(server, error)
    return loginServerOf(resolveServer(server, this.deps.references))
  }

  storedLogin(id: string): LoginServer | undefined {
    const server = this.#watches.get(id)?.server
    return server && loginServerOf(server)
  }

  /** Connects again after a login. */
  async connectAfterLogin(id: string): Promise<{ tools: number | null; problem: LoginProblem | null }> {
    const state = await this.#watches.get(id)?.loginChanged()
    const tools = this.deps.catalogues.of(id)?.tools.length ?? null
    const error = state?.lastError
    if (!error) return { tools, problem: null }
    return { tools: null, problem: { code: error.code, message: error.message, hint: error.hint } }
  }

  async test(key: string): Promise<ConnectionReport> {
    return this.#test(await this.get(key))
  }

  /**
   * Connects once to a definition that is not registered. Nothing is stored, and no login is used. The result counts for a
   * server that is added with exactly this definition.
   */
  async trial({ url, ...given }: Pick<Tested, 'url' | 'headers' | 'transport'>): Promise<ConnectionReport> {
    const { references, secrets, tries } = this.deps
    this.#trials += 1
    const id = `trial:http-${this.#trials}`
    const wanted = { ...given, url: checkedUrl(url) }
    const tried = { ...wanted, outgoing_allowed: keysOf(wanted, allowsAll) }
    references.check(tried)
    secrets.set(id, secretsIn(tried))
    try {
      const digest = this.#digestOf({ id, oauth: null, ...tried })
      let found: DiscoveredServer | undefined
      const report = await this.#reportOf({ id, ...tried }, undefined, (list, { era: _, ...about }, used) => {
        if (used !== 'stdio') found = { ...about, transport: used, ...list }
      })
      tries.keepTrial(digest, { error: failureIn(report) }, found)
      await this.adoptTrials()
      return report
    } finally {
      secrets.delete(id)
      references.forget(id)
    }
  }

  async diagnose(key: string): Promise<Diagnosis> {
    const server = await this.get(key)
    return diagnosisOf(server, await this.#test(server))
  }

  async tools(key: string): Promise<ToolList> {
    const { catalogues, gatewayNames } = this.deps
    const server = await this.get(key)
    const catalogue = catalogues.of(server.id)
    const { status, lastError } = this.#connectionOf(server.id)
    const source = status === 'connected' ? 'live' : 'cache'
    const [names, held] = [gatewayNames(server.id), catalogues.held(server.id)]
    if (catalogue) return toolListOf(catalogue, source, { settings: server, names, held })
    const why = lastError ? `: ${lastError.message}` : ''
    const hint = lastError?.hint ?? 'Test its connection first'
    const message = `The tools of '${server.name}' are not known yet${why}`
    throw new AppError('server_not_running', message, { hint })
  }

  view(server: HttpServer): HttpServerView {
    return viewOf(server, this.#shownOf(server))
  }

  /** All views as JSON. */
  async listText(): Promise<string> {
    const items = (await this.list()).map((server) =>
      this.#texts.textOf(server, this.#shownOf(server), (shown) => viewOf(server, shown)),
    )
    return listText(items)
  }

  /** `allows`: of text that others have written, only what a person was shown. */
  async add(
    { type: _, agents, ...input }: HttpServerInput,
    by: Caller,
    allows: Allows = allowsAll,
  ): Promise<HttpServer> {
    const { name, transport = 'auto', headers = {}, tags = [], enabled = DEFAULTS.enabled } = input
    const timeouts = { ...DEFAULTS.timeouts, ...input.timeouts }
    const url = checkedUrl(keepMaskedUrl(input.url, undefined))
    const kept = checkedHeaders(keepMaskedValues('headers', headers, {}))
    const oauth = input.oauth ? keptOAuth(input.oauth, undefined, false) : null
    const fields = { name, url, transport, headers: kept, tags, enabled, timeouts, oauth }
    return this.deps.adding(agents, by, () =>
      this.insert({ ...fields, ...changedOffer(DEFAULTS, input) }, by, allows),
    )
  }

  change(
    key: string,
    revision: number | 'unknown' | undefined,
    { allow_outgoing, ...update }: HttpServerUpdate,
    by: Caller,
    allows?: Allows,
  ): Promise<HttpServer> {
    return this.edit(key, revision, (current) => edited(current, update), by, allows ?? allow_outgoing)
  }

  remove(key: string, by: Caller): Promise<void> {
    return this.delete(key, by)
  }

  #loginChanged(id: string, state: string): void {
    if (state === 'logged_in') this.#loggedIn.add(id)
    else if (OVER.includes(state) && this.#loggedIn.delete(id)) void this.#watches.get(id)?.loginEnded()
  }

  #connectionOf(id: string): ConnectionState {
    return this.#watches.get(id)?.state ?? NEVER_CONNECTED
  }

  /** The result counts if the definition is still the same then. */
  #beginTry(id: string): Tried {
    const current = () => {
      const server = this.record(id)
      return server && this.digestOf(server)
    }
    const digest = current()
    return (error) => {
      if (digest !== undefined && current() === digest) this.deps.tries.record(id, digest, { error })
    }
  }

  #judgedOf(server: HttpServer) {
    const { catalogues, tries } = this.deps
    const { id } = server
    const connection = this.#connectionOf(id)
    const isLooked = connection.status === 'unknown' || isHeld(server)
    const obstacle = isLooked ? obstacleOf(server, this.deps.references) : null
    return { connection, catalogue: catalogues.of(id), lastTry: tries.of(id), obstacle }
  }

  #shownOf(server: HttpServer): Shown {
    const { statsOf, usedBy, logins } = this.deps
    const { id } = server
    return {
      ...this.#judgedOf(server),
      stats: statsOf(id),
      usedBy: usedBy(id),
      auth: logins.stateOf(id),
    }
  }

  async #test(server: HttpServer): Promise<ConnectionReport> {
    const startedAt = performance.now()
    const tried = this.#beginTry(server.id)
    const report = await this.#report(server)
    tried(failureIn(report))
    this.#watches.get(server.id)?.tested(report, performance.now() - startedAt)
    return report
  }

  async #report(server: HttpServer): Promise<ConnectionReport> {
    const { logins } = this.deps
    return this.#reportOf(server, (resolved) => logins.authorizerFor(loginServerOf(resolved)))
  }

  async #reportOf<T extends Tested>(
    server: T,
    authorizerOf?: (resolved: T) => Connection['authorizer'],
    onTools?: HttpMcpClientOptions['onTools'],
  ): Promise<ConnectionReport> {
    const { testConnection, references } = this.deps
    const obstacle = obstacleOf(server, references)
    if (obstacle) return { ...NOT_TESTED, error: errorView(obstacle) }
    const resolved = resolveServer(server, references)
    const { url, headers, transport } = resolved
    const authorizer = authorizerOf?.(resolved)
    const optional = { ...(authorizer && { authorizer }), ...(onTools && { onTools }) }
    const report = await testConnection({ url, headers, transport, ...optional })
    const { error } = report
    const steps = report.steps.map((step) => ({ ...step, detail: this.#redact(step.detail) }))
    const shown = error && {
      code: error.code,
      message: this.#redact(error.message),
      hint: error.hint && this.#redact(error.hint),
    }
    return { ...report, steps, error: shown && errorView({ ...shown, action: repairOf(shown.code) }) }
  }
}

/** States without a token. */
const OVER = ['none', 'expired', 'refused']

const NOT_TESTED: Omit<ConnectionReport, 'error'> = {
  ok: false,
  latency_ms: null,
  steps: [],
  transport: null,
  protocol_version: null,
  server_info: null,
  tool_count: null,
}

const failureIn = ({ error }: ConnectionReport): LastError | null =>
  error && { ...error, action: error.action ?? undefined }
