import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { memo } from '../../kernel/memo.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Authorizer, AuthRefusal, AuthToken } from '../../net/authorizer.ts'
import { proofSigner } from '../../net/oauth/dpop.ts'
import { OAuthFailure } from '../../net/oauth/oauth-failure.ts'
import { refreshTokens, type TokenSet } from '../../net/oauth/tokens.ts'
import { bearerChallenge, type Challenge } from '../../net/oauth/www-authenticate.ts'
import type { LoginFlow } from './login-flow.ts'
import {
  bindingOf,
  type LoginProblem,
  type LoginRecord,
  type LoginServer,
  type LoginStore,
} from './login-record.ts'
import type { AuthView } from './logins.schema.ts'
import type { PendingLogin } from './pending-logins.ts'
import { problemOf, RefreshAttempts } from './refresh-attempts.ts'

interface Deps {
  readonly store: Pick<LoginStore, 'find' | 'save' | 'removeClient'>
  readonly flow: LoginFlow
  readonly now: () => number
  /** Masks secrets: the host of a URL may contain one. */
  readonly redact: (text: string) => string
  readonly warn: (details: object, message: string) => void
  /** The state has changed. With a record, its secrets are new. */
  readonly onChange: (record: LoginRecord | undefined) => void
}

/** Renewed when this part of the life of a token is left, and at least 30 s before its end. */
const RENEW_PART = 0.2
const RENEW_MS = 30_000
const MAX_STEP_UPS = 2

/** The login at one server: the token for its requests, and what its refusals mean. */
export class ServerLogin {
  readonly #id: string
  readonly #deps: Deps
  readonly #refresher: RefreshAttempts
  /** What the server said when it asked for a login. */
  challenge: Challenge | undefined
  #wasRefused = false
  #current: { readonly binding: string; readonly isOwn: boolean; token: AuthToken | undefined } = {
    binding: '',
    isOwn: false,
    token: undefined,
  }
  /** The server wants more scopes than the token has. */
  #needsMore = false
  /** Why the last login did not succeed. */
  #refusal: LoginProblem | null = null
  /** The issuer refused `offline_access`. */
  withoutOffline = false

  constructor(id: string, deps: Deps) {
    this.#id = id
    this.#deps = deps
    this.#refresher = new RefreshAttempts(deps.now)
  }

  /** The stored login, unless it belongs to another definition of the server. */
  record(server: LoginServer): LoginRecord | undefined {
    const record = this.#deps.store.find(this.#id)
    return record?.binding === bindingOf(server) ? record : undefined
  }

  /** The last challenge of this server, also if that was in an earlier run. */
  challengeOf(server: LoginServer): Challenge | undefined {
    return this.challenge ?? this.record(server)?.challenge
  }

  /** Tokens are bound to the definition of the server: those of another one are not sent. */
  authorizerFor(server: LoginServer): Authorizer {
    const binding = bindingOf(server)
    if (this.#current.binding !== binding) {
      this.#current.token = undefined
      this.#current = { binding, isOwn: isClientCredentials(server), token: undefined }
    }
    this.#show()
    return {
      current: this.#current,
      authorization: async () => {
        await this.#renew(server)
        return headerOf(this.record(server))
      },
      refused: (refusal) => this.#refused(server, refusal),
    }
  }

  /** Shows the current token to those that send requests. */
  #show(): void {
    const { binding, isOwn } = this.#current
    const record = this.#deps.store.find(this.#id)
    const tokens = record?.binding === binding ? record.tokens : null
    if (record && tokens)
      this.#current.token = { header: headerOf(record), renewAt: renewAt(record), signer: signerOf(tokens) }
    else this.#current.token = isOwn ? { header: undefined, renewAt: 0 } : undefined
  }

  #changed(record?: LoginRecord): void {
    this.#show()
    this.#deps.onChange(record)
  }

  async #refused(
    server: LoginServer,
    { status, challenge, sent, isRepeated }: AuthRefusal,
  ): Promise<boolean> {
    const bearer = bearerChallenge(challenge)
    if (status === 403) {
      if (bearer?.params.error === 'insufficient_scope') await this.#wantMore(server, bearer)
      return false
    }
    this.challenge = bearer
    const isNew = !this.#wasRefused
    this.#wasRefused = true
    const record = this.record(server)
    if (!record?.tokens) {
      if (isNew) this.#changed()
      return false
    }
    if (headerOf(record) !== sent) return true // it was renewed meanwhile
    if (isRepeated) await this.#end(server, record, 'The server refused a new token')
    else if (record.tokens.refresh_token === null && !isClientCredentials(server))
      await this.#end(server, record, 'The server refused the token, and the issuer gave no refresh token')
    else await this.#renew(server)
    const next = this.record(server)
    return next?.tokens != null && headerOf(next) !== sent
  }

  /** The number of logins for more scopes in a row, when one has just been completed. */
  stepUpsAfter(server: LoginServer): number {
    const record = this.record(server)
    return this.#needsMore && record && !record.isRefused ? record.step_ups + 1 : 0
  }

  /** A login has failed. Tokens that there are stay. */
  fail({ scopes }: PendingLogin, error: unknown): LoginProblem {
    const isScope = error instanceof OAuthFailure && error.code === 'invalid_scope'
    if (isScope && scopes.includes('offline_access')) this.withoutOffline = true
    const problem = isScope ? { ...problemOf(error), code: 'scope_refused' } : problemOf(error)
    this.#deps.warn({ server_id: this.#id, code: problem.code }, `the login failed: ${problem.message}`)
    this.#refusal = problem
    return problem
  }

  refuse(failure: OAuthFailure): void {
    this.#refusal = problemOf(failure)
  }

  /** A login has begun: why the last one failed does not matter any more. */
  begin(): void {
    this.#refusal = null
  }

  /** A login was completed, or ended by its user. */
  settle(): void {
    this.#needsMore = false
    this.#refusal = null
    this.#show()
  }

  /** The definition has changed. What was refused may be possible now, and another server has challenges of its own. */
  restart(hasMoved: boolean): void {
    if (hasMoved) this.#wasRefused = false
    this.challenge = undefined
    this.withoutOffline = false
    this.settle()
  }

  view({
    oauth,
    hasHeader,
  }: Pick<LoginServer, 'oauth' | 'hasHeader'>): Omit<AuthView, 'pending_until' | 'confirm_until'> {
    const record = this.#deps.store.find(this.#id)
    const isOwn = oauth?.grant === 'client_credentials'
    const state = this.#stateOf(record, hasHeader)
    const hasLogin = isOwn || state !== 'none' || record !== undefined
    return {
      state,
      method: hasHeader ? 'header' : isOwn ? 'client_credentials' : hasLogin ? 'login' : 'none',
      scopes: [...(record?.tokens ? (record.tokens.scopes ?? record.asked) : [])],
      wanted_scopes: [...this.#wanted(record, oauth?.scopes)],
      expires_at: record?.tokens?.expires_at ? isoTime(record.tokens.expires_at) : null,
      issuer: record?.issuer.issuer ?? oauth?.issuer ?? null,
      client: clientOf(record, oauth),
      error: hasHeader ? null : this.#shown(this.#refusal ?? record?.problem ?? this.#refresher.problem),
    }
  }

  #shown(problem: LoginProblem | null): LoginProblem | null {
    const { redact } = this.#deps
    return (
      problem && {
        code: problem.code,
        message: redact(problem.message),
        hint: problem.hint && redact(problem.hint),
      }
    )
  }

  #stateOf(record: LoginRecord | undefined, hasHeader: boolean): AuthView['state'] {
    if (hasHeader) return 'none'
    if (record?.isRefused || (this.#refusal && !record?.tokens)) return 'refused'
    if (record) return record.tokens === null ? 'expired' : this.#needsMore ? 'needs_login' : 'logged_in'
    return this.#wasRefused ? 'needs_login' : 'none'
  }

  #wanted(record: LoginRecord | undefined, configured: readonly string[] | undefined): Set<string> {
    const asked = this.challenge?.params.scope?.split(' ').filter((scope) => scope !== '') ?? []
    return new Set(configured ?? [...(record?.asked ?? []), ...asked])
  }

  #renew(server: LoginServer): Promise<void> {
    return this.#refresher.run(
      () => (isClientCredentials(server) ? this.#obtain(server) : this.#refresh(server)),
      (error) => this.#onFailure(server, error),
    )
  }

  async #obtain(server: LoginServer): Promise<void> {
    const record = { ...(await this.#deps.flow.obtain(server, this.challengeOf(server))), step_ups: 0 }
    this.#refusal = null
    await this.#save(record)
  }

  async #refresh(server: LoginServer): Promise<void> {
    const record = this.record(server)
    const refreshToken = record?.tokens?.refresh_token
    if (!record?.tokens || !refreshToken) return
    const { client, resource, tokens } = record
    const { flow, now, store } = this.#deps
    const isReplaced = () => store.find(this.#id) !== record // by a logout or another login
    const renewing = flow.using(server, async (http) => {
      const usual = record.issuer
      // The issuer may have moved its endpoints.
      const issuer = this.#refresher.hasFailed
        ? (await flow.discover(http, server, { challenge: this.challengeOf(server), record })).issuer
        : usual
      if (issuer.issuer !== usual.issuer)
        throw new OAuthFailure(
          'invalid_grant',
          `The server now trusts ${issuer.issuer}, not ${usual.issuer}`,
          'Log in again',
        )
      const dpopKey = tokens.dpop_key
      const refreshed = await refreshTokens({ http, issuer, client, refreshToken, resource, dpopKey })
      return { issuer, refreshed }
    })
    const next = await renewing.catch((error: unknown) => {
      if (!isReplaced()) throw error
    })
    if (!next || isReplaced()) return
    const { refreshed, issuer } = next
    const kept = {
      ...refreshed,
      scopes: refreshed.scopes ?? tokens.scopes,
      account: refreshed.account ?? tokens.account,
    }
    await this.#save({ ...record, issuer, tokens: kept, obtained_at: now(), problem: null })
  }

  /** Committed before the tokens are used: the issuer may accept the old refresh token no longer. */
  async #save(record: LoginRecord, audit: AuditEntry | null = null): Promise<void> {
    await this.#deps.store.save(record, audit)
    this.#changed(record)
  }

  /** The issuer or the server has ended the login. */
  #saveEnded(record: LoginRecord, problem: LoginProblem, isRefused = record.isRefused): Promise<void> {
    const detail = { issuer: record.issuer.issuer, code: problem.code }
    const audit = { action: 'server_login_ended', subject: this.#id, request_id: null, detail }
    return this.#save({ ...record, tokens: null, problem, isRefused }, audit)
  }

  /** Only the issuer's own word ends a login, never a failure of the network. */
  async #onFailure(server: LoginServer, error: unknown): Promise<void> {
    const problem = problemOf(error)
    this.#deps.warn({ server_id: this.#id, code: problem.code, error }, 'a token could not be renewed')
    const record = this.record(server)
    const code = error instanceof OAuthFailure ? error.code : undefined
    if (isClientCredentials(server)) {
      if (code !== undefined && code !== 'unavailable') this.#refusal = problem
      this.#changed()
    } else if (record && code === 'invalid_client') {
      const isGiven = record.client.kind === 'given'
      if (!isGiven)
        await this.#deps.store.removeClient(
          this.#deps.flow.registration(server, record.issuer, record.resource),
        )
      const refused = { ...problem, code: isGiven ? 'client_refused' : problem.code }
      await this.#saveEnded(record, refused, isGiven)
    } else if (record && code !== undefined && code !== 'unavailable') {
      await this.#saveEnded(record, problem)
    } else this.#changed()
  }

  /** Client credentials are no login: the next request gets a new token. */
  #end(server: LoginServer, record: LoginRecord, message: string): Promise<void> {
    const problem = { code: 'invalid_grant', message, hint: 'Log in again' }
    if (isClientCredentials(server)) return this.#save({ ...record, tokens: null, problem })
    return this.#saveEnded(record, problem)
  }

  async #wantMore(server: LoginServer, challenge: Challenge): Promise<void> {
    this.challenge = challenge
    const record = this.record(server)
    if (!record?.tokens) return
    if (record.step_ups < MAX_STEP_UPS) {
      this.#needsMore = true
      return this.#changed()
    }
    const message = `The server still wants more scopes after ${record.step_ups} logins that asked for them`
    const problem = {
      code: 'scope_refused',
      message,
      hint: 'Check at the issuer which scopes your account may have',
    }
    await this.#save({ ...record, problem, isRefused: true })
  }
}

const isClientCredentials = ({ oauth }: LoginServer): boolean => oauth?.grant === 'client_credentials'

/** A registration that the issuer does not know any more is forgotten. */
function clientOf(record: LoginRecord | undefined, oauth: LoginServer['oauth']): AuthView['client'] {
  if (record) return record.problem?.code === 'invalid_client' ? null : record.client.kind
  return oauth?.client_id === undefined ? null : 'given'
}

const headerOf = (record: LoginRecord | undefined): string | undefined =>
  record?.tokens ? `${record.tokens.dpop_key ? 'DPoP' : 'Bearer'} ${record.tokens.access_token}` : undefined

/** The nonces of the server stay with the token. */
const signerOf = memo(
  ({ dpop_key, access_token }: TokenSet) => dpop_key && proofSigner(dpop_key, access_token),
)

function renewAt({ tokens, obtained_at }: LoginRecord): number {
  if (!tokens || tokens.expires_at === null) return Number.POSITIVE_INFINITY
  const life = tokens.expires_at - obtained_at
  return tokens.expires_at - Math.min(Math.max(life * RENEW_PART, RENEW_MS), life / 2) // 10 s are used for 5 s
}
