import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { readCallback } from '../../net/oauth/authorization.ts'
import { OAuthFailure } from '../../net/oauth/oauth-failure.ts'
import { exchangeCode } from '../../net/oauth/tokens.ts'
import { hidePending, type LoginContext, secretsOwner } from './login-context.ts'
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
  async finish(query: URLSearchParams, cookie: string | undefined): Promise<LoginOutcome> {
    const { pending, deps } = this.#context
    const found = pending.byState(query.get('state') ?? '')
    if (found && deps.publicUrl() !== null && cookie !== found.cookie)
      throw new AppError('login_unknown', 'This browser did not start the login', {
        hint: "Start it again from Toolroom's own page, in this browser",
      })
    return this.#finish(found, query, { request_id: null })
  }

  /** The same with the address that the browser was sent to, pasted by a person. */
  async paste(key: string, url: string, by: Caller): Promise<LoginOutcome> {
    const { pending, deps } = this.#context
    const server = await deps.server(key)
    const query = URL.canParse(url) ? new URL(url).searchParams : new URLSearchParams()
    const found = pending.byState(query.get('state') ?? '')
    if (found && found.server_id !== server.id) throw unknownLogin()
    return this.#finish(found, query, by)
  }

  /**
   * The login is forgotten before its code is used, because issuers revoke the tokens at a second use. A second callback
   * gets the outcome of the first.
   */
  #finish(found: PendingLogin | undefined, query: URLSearchParams, by: Caller): Promise<LoginOutcome> {
    const { pending } = this.#context
    if (!found) return pending.finished(query.get('state') ?? '') ?? Promise.reject(unknownLogin())
    const id = newId()
    const outcome = this.#complete(found, query, id, by)
    pending.finish(found, outcome, id)
    return outcome
  }

  async #complete(
    found: PendingLogin,
    query: URLSearchParams,
    id: string,
    by: Caller,
  ): Promise<LoginOutcome> {
    const { deps, of, changed } = this.#context
    const { server_id, issuer } = found
    const server = await deps.server(server_id)
    const common = { id, server_id, server_name: server.name }
    try {
      const { code } = readCallback(query, { state: found.state, issuer })
      hidePending(this.#context, found, code)
      if (bindingOf(server) !== found.binding) throw changedMeanwhile(server.name)
      await this.#exchange(server, found, code, by)
    } catch (error) {
      const problem = of(server_id).fail(found, error)
      const detail = { issuer: issuer.issuer, code: problem.code }
      await deps.audit({ action: 'server_login_failed', subject: server_id, ...by, detail })
      changed(server_id)
      return { ...common, ok: false, tools: null, problem }
    }
    return { ...common, ok: true, ...(await deps.connect(server_id)) }
  }

  async #exchange(server: LoginServer, found: PendingLogin, code: string, by: Caller): Promise<void> {
    const { deps, flow, of, changed } = this.#context
    const { issuer, client, redirect_uri: redirectUri, resource, scopes, verifier, binding } = found
    const dpopKey = found.dpop_key
    flow.answered(found)
    const tokens = await flow.using(server, (http) =>
      exchangeCode({ http, issuer, client, redirectUri, code, verifier, resource, dpopKey }),
    )
    const login = of(server.id)
    const record: LoginRecord = {
      ...{ server_id: server.id, binding, issuer, client, resource, tokens },
      challenge: login.challengeOf(server),
      asked: scopes,
      obtained_at: deps.now(),
      problem: null,
      isRefused: false,
      step_ups: login.stepUpsAfter(server),
    }
    deps.secrets.set(secretsOwner(server.id), secretsOf(record))
    const detail = { issuer: issuer.issuer, scopes: tokens.scopes ?? scopes }
    await deps.store.save(record, { action: 'server_login_completed', subject: server.id, ...by, detail })
    login.settle()
    changed(server.id)
  }
}

const unknownLogin = (): AppError =>
  new AppError('login_unknown', 'No login is waiting for this answer', {
    hint: 'It was completed already, or is older than 10 minutes. Start it again',
  })

const changedMeanwhile = (name: string): OAuthFailure =>
  new OAuthFailure('resource_mismatch', `'${name}' was changed during the login`, 'Start the login again')
