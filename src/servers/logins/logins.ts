import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Authorizer } from '../../net/authorizer.ts'
import { revokeToken } from '../../net/oauth/tokens.ts'
import { LoginCallback, waitingOwner } from './login-callback.ts'
import { type LoginContext, type LoginDeps, secretsOwner } from './login-context.ts'
import { LoginFlow } from './login-flow.ts'
import {
  bindingOf,
  type LoginOutcome,
  type LoginRecord,
  type LoginServer,
  secretsOf,
} from './login-record.ts'
import { type BeginOptions, LoginStarter, type TicketView } from './login-start.ts'
import type { AuthView, LoginStart } from './logins.schema.ts'
import { PendingLogins } from './pending-logins.ts'
import { ServerLogin } from './server-login.ts'

/** The logins at HTTP servers. Only a person starts one. */
export class Logins {
  readonly #deps: LoginDeps
  readonly #context: LoginContext
  readonly #starter: LoginStarter
  readonly #callback: LoginCallback
  readonly #servers = new Map<string, ServerLogin>()
  readonly #views = new Map<string, { readonly text: string; readonly view: AuthView }>()

  constructor(deps: LoginDeps) {
    this.#deps = deps
    this.#context = {
      deps,
      flow: new LoginFlow(deps),
      pending: new PendingLogins(deps.now),
      of: (id) => this.#of(id),
      changed: (id) => this.#changed(id),
    }
    this.#starter = new LoginStarter(this.#context)
    this.#callback = new LoginCallback(this.#context)
    for (const record of deps.store.all()) deps.secrets.set(secretsOwner(record.server_id), secretsOf(record))
    deps.facts.on('server_removed', ({ server_id }) => this.#forget(server_id))
    deps.facts.on('server_updated', ({ server_id, changed }) => {
      if (!changed.includes('url') && !changed.includes('oauth')) return
      const warn = (error: unknown) => deps.warn({ server_id, error }, 'a login could not be dropped')
      void this.#redefined(server_id).catch(warn)
    })
  }

  /** For the requests to this server. Undefined when a configured header is sent instead. */
  authorizerFor(server: LoginServer): Authorizer | undefined {
    return server.hasHeader ? undefined : this.#of(server.id).authorizerFor(server)
  }

  /** What a person says of the account with which a login at a page for agents was finished. */
  async confirm(key: string, isRight: boolean, by: Caller): Promise<Omit<LoginOutcome, 'id'>> {
    const { server: find, secrets, audit, connect } = this.#deps
    const server = await find(key)
    const { id, name } = server
    const waiting = this.#context.pending.take(id)
    secrets.delete(waitingOwner(id))
    if (!waiting)
      throw new AppError('login_unknown', `No login at '${name}' waits for a confirmation`, {
        hint: 'It was confirmed already, or is older than 10 minutes. Start it again',
      })
    const { record } = waiting
    const account = record.tokens?.account ?? null
    const common = { server_id: id, server_name: name, account, unconfirmed: false }
    if (isRight && record.binding === bindingOf(server)) {
      await this.#callback.keep(record, by)
      return { ...common, ok: true, ...(await connect(id)) }
    }
    const code = isRight ? 'resource_mismatch' : 'access_denied'
    const detail = { issuer: record.issuer.issuer, code }
    await audit({ action: 'server_login_failed', subject: id, ...by, detail })
    this.#changed(id)
    await this.#revoke(server, record)
    const message = isRight ? `'${name}' was changed after the login` : 'The account was not confirmed'
    return { ...common, ok: false, tools: null, problem: { code, message, hint: 'Start the login again' } }
  }

  begin(key: string, options: BeginOptions, by: Caller): Promise<{ isNew: boolean; start: LoginStart }> {
    return this.#starter.begin(key, options, by)
  }

  ticketOf(id: string): { start_url: string; expires_at: number } {
    return this.#starter.ticketOf(id)
  }

  describe(ticket: string): Promise<TicketView | undefined> {
    return this.#starter.describe(ticket)
  }

  go(ticket: string): Promise<{ authorization_url: string; cookie: string | null } | undefined> {
    return this.#starter.go(ticket)
  }

  finish(
    query: URLSearchParams,
    browser: { readonly cookie: string | undefined; readonly place: string | null },
  ): Promise<LoginOutcome> {
    return this.#callback.finish(query, browser)
  }

  paste(key: string, url: string, by: Caller): Promise<LoginOutcome> {
    return this.#callback.paste(key, url, by)
  }

  /** Of a login that has ended lately. */
  outcome(id: string): Promise<LoginOutcome> | undefined {
    return this.#context.pending.outcome(id)
  }

  /** The same object until something changes. */
  stateOf(id: string): AuthView {
    const stored = this.#deps.stored(id) ?? { oauth: undefined, hasHeader: false }
    const pending = this.#context.pending.of(id)
    const waiting = this.#context.pending.waiting(id)
    const view = {
      ...this.#of(id).view(stored),
      pending_until: pending ? isoTime(pending.expires_at) : null,
      confirm_until: waiting ? isoTime(waiting.expires_at) : null,
    }
    const text = JSON.stringify(view)
    const known = this.#views.get(id)
    if (known?.text === text) return known.view
    this.#views.set(id, { text, view })
    return view
  }

  /** The account, if the issuer names it. */
  accountOf(id: string): string | null {
    return this.#deps.store.find(id)?.tokens?.account ?? null
  }

  /** The account that waits for a confirmation, if the issuer names it. */
  unconfirmedAccountOf(id: string): string | null {
    return this.#context.pending.waiting(id)?.record.tokens?.account ?? null
  }

  needsLogin(id: string): boolean {
    return ['needs_login', 'expired', 'refused'].includes(this.stateOf(id).state)
  }

  /** Ends the login here and, if the issuer answers in time, there. */
  async logout(key: string, options: { readonly client: boolean }, by: Caller): Promise<void> {
    const { store, secrets, server: find } = this.#deps
    const { pending, flow } = this.#context
    const server = await find(key)
    const record = store.find(server.id)
    pending.cancel(server.id)
    const waiting = pending.take(server.id)
    await store.remove(server.id, { action: 'server_logout', subject: server.id, ...by, detail: {} })
    this.#of(server.id).settle()
    if (record && options.client)
      await store.removeClient(flow.registration(server, record.issuer, record.resource))
    this.#changed(server.id)
    for (const ended of [record, waiting?.record]) if (ended) await this.#revoke(server, ended)
    secrets.delete(secretsOwner(server.id))
    secrets.delete(waitingOwner(server.id))
  }

  /** True when the server can be used, false after `timeoutMs`. */
  whenLoggedIn(id: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (isLoggedIn: boolean) => {
        clearTimeout(late)
        unsubscribe()
        signal?.removeEventListener('abort', onAbort)
        resolve(isLoggedIn)
      }
      const onAbort = () => settle(false)
      const late = setTimeout(onAbort, timeoutMs)
      const unsubscribe = this.#deps.facts.on('http_server_login', ({ server_id, state }) => {
        if (server_id === id && state === 'logged_in') settle(true)
      })
      signal?.addEventListener('abort', onAbort, { once: true })
      if (signal?.aborted) settle(false)
      else if (!this.needsLogin(id)) settle(true)
    })
  }

  #of(id: string): ServerLogin {
    const known = this.#servers.get(id)
    if (known) return known
    const { store, now, warn, secrets } = this.#deps
    const onChange = (record: LoginRecord | undefined) => {
      if (record) secrets.set(secretsOwner(id), secretsOf(record))
      this.#changed(id)
    }
    const login = new ServerLogin(id, {
      store,
      now,
      warn,
      redact: (text) => secrets.redact(text),
      flow: this.#context.flow,
      onChange,
    })
    this.#servers.set(id, login)
    return login
  }

  async #revoke(server: LoginServer, { issuer, client, tokens }: LoginRecord): Promise<void> {
    const token = tokens?.refresh_token ?? tokens?.access_token
    if (token === undefined) return
    await this.#context.flow
      .using(server, (http) => revokeToken({ http, issuer, client, token }))
      .catch((error: unknown) =>
        this.#deps.warn({ server_id: server.id, error }, 'a token could not be revoked'),
      )
  }

  #changed(id: string): void {
    const { state, pending_until, error } = this.stateOf(id)
    const error_code = error?.code ?? null
    this.#deps.facts.publish('http_server_login', { server_id: id, state, pending_until, error_code })
  }

  /** A server that is another one now starts anew: its tokens are not sent there, so they are not kept either. */
  async #redefined(id: string): Promise<void> {
    const { store, secrets, server } = this.#deps
    const record = store.find(id)
    const hasMoved = record !== undefined && record.binding !== bindingOf(await server(id))
    if (hasMoved) {
      const detail = { reason: 'server_updated' }
      await store.remove(id, { action: 'server_logout', subject: id, request_id: null, detail })
      secrets.delete(secretsOwner(id))
    }
    this.#of(id).restart(hasMoved)
    this.#changed(id)
  }

  #forget(id: string): void {
    this.#context.pending.cancel(id)
    this.#context.pending.take(id)
    this.#deps.secrets.delete(waitingOwner(id))
    this.#deps.store.forget(id)
    this.#servers.delete(id)
    this.#views.delete(id)
    this.#deps.secrets.delete(secretsOwner(id))
  }
}
