import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import { OAuthFailure } from '../../net/oauth/oauth-failure.ts'
import { hidePending, type LoginContext } from './login-context.ts'
import { bindingOf, type LoginProblem, type LoginServer } from './login-record.ts'
import type { LoginStart } from './logins.schema.ts'
import type { PendingLogin, TicketHolder } from './pending-logins.ts'
import { problemOf } from './refresh-attempts.ts'

export interface BeginOptions {
  readonly scopes?: readonly string[] | undefined
  /** Register a new client first. */
  readonly fresh?: boolean | undefined
}

/** What the start page shows. */
export interface TicketView {
  readonly server_id: string
  readonly server_name: string
  /** Null when it could not be found out: see `problem`. */
  readonly issuer: string | null
  /** Other servers with a login there. */
  readonly issuer_used_by: readonly string[]
  readonly scopes: string[]
  readonly problem: LoginProblem | null
}

/** The first half of a login: from the request of a person to the page of the issuer. */
export class LoginStarter {
  readonly #context: LoginContext

  constructor(context: LoginContext) {
    this.#context = context
  }

  /** While a login is pending, it is returned again. */
  async begin(
    key: string,
    options: BeginOptions,
    by: Caller,
    holder: TicketHolder = 'owner',
  ): Promise<{ isNew: boolean; start: LoginStart }> {
    const { deps, pending, flow, of, changed } = this.#context
    const server = await deps.server(key)
    assertPossible(server)
    const known = pending.of(server.id)
    const isOwn = holder === 'anyone' || !known?.needs_confirmation
    const isSame = isOwn && !options.fresh && !options.scopes && known?.binding === bindingOf(server)
    if (known && isSame) return { isNew: false, start: this.#startOf(known) }
    const login = of(server.id)
    try {
      if (!login.challenge && !login.record(server)) await deps.connect(server.id) // the server says where to log in
      const next = await flow.begin(server, {
        challenge: login.challengeOf(server),
        record: login.record(server),
        scopes: options.scopes,
        isFresh: options.fresh ?? false,
        withoutOffline: login.withoutOffline,
      })
      const detail = { issuer: next.issuer.issuer, scopes: next.scopes, client: next.client.kind }
      await deps.audit({ action: 'server_login_started', subject: server.id, ...by, detail })
      pending.add(next)
      hidePending(this.#context, next)
      login.begin()
      changed(server.id)
      return { isNew: true, start: this.#startOf(next) }
    } catch (error) {
      throw this.#refusal(server, error)
    }
  }

  /** A ticket for the start page. It starts nothing by itself. */
  ticketOf(id: string, by: TicketHolder = 'anyone'): { start_url: string; expires_at: number } {
    const { deps, pending } = this.#context
    const { ticket, expires_at } = pending.ticketOf(id, by)
    const base = deps.publicUrl() ?? deps.address()
    return { start_url: `${base.replace(/\/$/, '')}/oauth/start/${ticket}`, expires_at }
  }

  /** What the start page shows. Registers nothing. */
  async describe(ticket: string): Promise<TicketView | undefined> {
    const { deps, pending, flow, of } = this.#context
    const found = pending.holderOf(ticket)
    if (found === undefined) return undefined
    const id = found.serverId
    const server = await deps.server(id)
    const common = { server_id: id, server_name: server.name, problem: null }
    const known = pending.of(id)
    if (known) {
      const { issuer } = known.issuer
      return { ...common, issuer, issuer_used_by: this.#othersAt(issuer, id), scopes: [...known.scopes] }
    }
    const login = of(id)
    const challenge = login.challengeOf(server)
    const { withoutOffline } = login
    const request = { challenge, record: login.record(server), scopes: undefined, withoutOffline }
    try {
      const { resource, issuer } = await flow.using(server, (http) => flow.discover(http, server, request))
      return {
        ...common,
        issuer: issuer.issuer,
        issuer_used_by: this.#othersAt(issuer.issuer, id),
        scopes: flow.scopesFor(server, request, resource, issuer),
      }
    } catch (error) {
      return { ...common, issuer: null, issuer_used_by: [], scopes: [], problem: problemOf(error) }
    }
  }

  /** Other servers with a login at an issuer: a person should know when a server leads to the issuer of another one. */
  #othersAt(issuer: string, id: string): string[] {
    const logins = this.#context.deps.store.all()
    return logins
      .filter(
        (record) => record.server_id !== id && record.issuer.issuer === issuer && record.tokens !== null,
      )
      .map(({ server_id }) => server_id)
  }

  /** The button of the start page: begins the login, or goes on with the pending one. */
  async go(ticket: string): Promise<{ authorization_url: string; cookie: string | null } | undefined> {
    const { deps, pending } = this.#context
    const found = pending.holderOf(ticket)
    if (found === undefined) return undefined
    const { serverId: id, by } = found
    await this.begin(id, {}, { request_id: null }, by)
    const known = pending.of(id)
    if (!known) return undefined
    if (by === 'anyone') pending.add({ ...known, needs_confirmation: true })
    const cookie = deps.publicUrl() === null ? null : known.cookie
    return { authorization_url: known.authorization_url, cookie }
  }

  #startOf({
    authorization_url,
    redirect_uri,
    issuer,
    scopes,
    expires_at,
    server_id,
  }: PendingLogin): LoginStart {
    const { start_url } = this.ticketOf(server_id, 'owner')
    const isPublic = this.#context.deps.publicUrl() !== null
    return {
      authorization_url: isPublic ? start_url : authorization_url, // the callback needs the cookie of the start page
      start_url,
      redirect_uri,
      issuer: issuer.issuer,
      issuer_used_by: this.#othersAt(issuer.issuer, server_id),
      scopes: [...scopes],
      expires_at: isoTime(expires_at),
    }
  }

  #refusal(server: LoginServer, error: unknown): unknown {
    if (!(error instanceof OAuthFailure)) return error
    const redact = (text: string) => this.#context.deps.secrets.redact(text)
    const { code } = error
    const [message, hint] = [redact(error.message), redact(error.hint)]
    if (code === 'unavailable') return new AppError('login_unavailable', message, { hint, cause: error })
    const { of, changed } = this.#context
    of(server.id).refuse(error)
    changed(server.id)
    return new AppError('login_refused', message, {
      hint,
      cause: error,
      members: { last_error: { code, message, hint } },
    })
  }
}

function assertPossible({ name, hasHeader, oauth }: LoginServer): void {
  const refuse = (why: string, hint: string) =>
    new AppError('login_not_possible', `'${name}' ${why}`, { hint })
  if (hasHeader)
    throw refuse('has a configured Authorization header, which is sent instead', 'Remove the header first')
  if (oauth?.grant === 'client_credentials')
    throw refuse(
      'uses client credentials, so Toolroom logs in by itself',
      'Test the connection: it shows what the issuer answers',
    )
}
