import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { readCallback } from '../../net/oauth/authorization.ts'
import { OAuthFailure } from '../../net/oauth/oauth-failure.ts'
import { exchangeCode } from '../../net/oauth/tokens.ts'
import { hidePending, type LoginContext, secretsOwner } from './login-context.ts'
import { placeIn } from './login-flow.ts'
import {
  bindingOf,
  type LoginOutcome,
  type LoginRecord,
  type LoginServer,
  secretsOf,
} from './login-record.ts'
import { newId, type PendingLogin } from './pending-logins.ts'

/** The second half of a login: the browser comes back with a code, which is exchanged for tokens. */
export class LoginCallback {
  readonly #context: LoginContext

  constructor(context: LoginContext) {
    this.#context = context
  }

  /** `cookie`: of the browser that came through the start page. It is needed if others can reach this service. */
  async finish(
    query: URLSearchParams,
    { cookie, place }: { readonly cookie: string | undefined; readonly place: string | null },
  ): Promise<LoginOutcome> {
    const { pending, deps } = this.#context
    const found = pending.byState(query.get('state') ?? '')
    if (found && deps.publicUrl() !== null && cookie !== found.cookie)
      throw new AppError('login_unknown', 'This browser did not start the login', {
        hint: "Start it again from Toolroom's own page, in this browser",
      })
    return this.#finish(found, query, place, { request_id: null })
  }

  /** The same with the address that the browser was sent to, pasted by a person. */
  async paste(key: string, url: string, by: Caller): Promise<LoginOutcome> {
    const { pending, deps } = this.#context
    const server = await deps.server(key)
    const query = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams()
    const found = pending.byState(query.get('state') ?? '')
    if (found && found.server_id !== server.id) throw unknownLogin()
    return this.#finish(found, query, placeIn(url), by)
  }

  /**
   * The login is forgotten before its code is used, because issuers revoke the tokens at a second use. A second callback
   * gets the outcome of the first.
   */
  #finish(
    found: PendingLogin | undefined,
    query: URLSearchParams,
    place: string | null,
    by: Caller,
  ): Promise<LoginOutcome> {
    const { pending } = this.#context
    if (!found) return pending.finished(query.get('state') ?? '') ?? Promise.reject(unknownLogin())
    const id = newId()
    const outcome = this.#complete(found, query, { id, place, by })
    pending.finish(found, outcome, id)
    return outcome
  }

  async #complete(
    found: PendingLogin,
    query: URLSearchParams,
    { id, place, by }: { readonly id: string; readonly place: string | null; readonly by: Caller },
  ): Promise<LoginOutcome> {
    const { deps, of, changed } = this.#context
    const { server_id, issuer } = found
    const server = await deps.server(server_id)
    const common = { id, server_id, server_name: server.name, unconfirmed: false }
    let account: string | null = null
    try {
      if (place !== placeIn(found.redirect_uri)) throw fromAnother(issuer.issuer)
      const { code } = readCallback(query, { state: found.state, issuer })
      hidePending(this.#context, found, code)
      if (bindingOf(server) !== found.binding) throw changedMeanwhile(server.name)
      const record = await this.#exchange(server, found, code)
      account = record.tokens?.account ?? null
      if (found.needs_confirmation) this.#wait(record)
      else await this.keep(record, by)
    } catch (error) {
      const problem = of(server_id).fail(found, error)
      const detail = { issuer: issuer.issuer, code: problem.code }
      await deps.audit({ action: 'server_login_failed', subject: server_id, ...by, detail })
      changed(server_id)
      return { ...common, ok: false, account, tools: null, problem }
    }
    if (found.needs_confirmation)
      return { ...common, ok: true, account, unconfirmed: true, tools: null, problem: null }
    return { ...common, ok: true, account, ...(await deps.connect(server_id)) }
  }

  async #exchange(server: LoginServer, found: PendingLogin, code: string): Promise<LoginRecord> {
    const { deps, flow, of } = this.#context
    const { issuer, client, redirect_uri: redirectUri, resource, scopes, verifier, binding } = found
    const dpopKey = found.dpop_key
    flow.answered(found)
    const tokens = await flow.using(server, (http) =>
      exchangeCode({ http, issuer, client, redirectUri, code, verifier, resource, dpopKey }),
    )
    const login = of(server.id)
    return {
      ...{ server_id: server.id, binding, issuer, client, resource, tokens },
      challenge: login.challengeOf(server),
      asked: scopes,
      obtained_at: deps.now(),
      problem: null,
      isRefused: false,
      step_ups: login.stepUpsAfter(server),
    }
  }

  /** An agent could have logged in with an account of its own choice: nothing is sent with it yet. */
  #wait(record: LoginRecord): void {
    const { deps, pending, changed } = this.#context
    deps.secrets.set(waitingOwner(record.server_id), secretsOf(record))
    pending.wait(record.server_id, record)
    changed(record.server_id)
  }

  /** From now on, the tokens are used. */
  async keep(record: LoginRecord, by: Caller): Promise<void> {
    const { deps, of, changed } = this.#context
    const { server_id, issuer, tokens, asked } = record
    deps.secrets.set(secretsOwner(server_id), secretsOf(record))
    const detail = { issuer: issuer.issuer, scopes: tokens?.scopes ?? asked }
    await deps.store.save(record, { action: 'server_login_completed', subject: server_id, ...by, detail })
    of(server_id).settle()
    changed(server_id)
  }
}

/** The owner of the secrets of tokens that wait for a confirmation. */
export const waitingOwner = (serverId: string): string => `${secretsOwner(serverId)}:waiting`

const unknownLogin = (): AppError =>
  new AppError('login_unknown', 'No login is waiting for this answer', {
    hint: 'It was completed already, or is older than 10 minutes. Start it again',
  })

/** Nothing of the callback is shown: its code is that of another issuer. */
const fromAnother = (issuer: string): OAuthFailure =>
  new OAuthFailure(
    'issuer_mismatch',
    `The callback does not come from ${new URL(issuer).host}`,
    'Start the login again. If it persists, do not log in: the issuer leads to another one',
  )

const changedMeanwhile = (name: string): OAuthFailure =>
  new OAuthFailure('resource_mismatch', `'${name}' was changed during the login`, 'Start the login again')
