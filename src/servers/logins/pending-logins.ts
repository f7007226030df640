import { randomBytes } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'
import type { ProofKey } from '../../net/oauth/dpop.ts'
import type { IssuerInfo } from '../../net/oauth/issuer-metadata.ts'
import type { OAuthClient } from '../../net/oauth/oauth-clients.ts'
import type { LoginOutcome, LoginRecord } from './login-record.ts'

/** A login that waits for the browser. */
export interface PendingLogin {
  readonly server_id: string
  readonly binding: string
  readonly authorization_url: string
  readonly state: string
  readonly verifier: string
  readonly issuer: IssuerInfo
  readonly client: OAuthClient
  readonly redirect_uri: string
  readonly resource: string | null
  readonly scopes: readonly string[]
  /** The server accepts only tokens that are bound to a key. */
  readonly dpop_key: ProofKey | undefined
  /** Of the browser that came through the start page. */
  readonly cookie: string
  /** It went through a page that agents can open, so a person has to confirm the account. */
  readonly needs_confirmation: boolean
  readonly expires_at: number
}

/** The tokens of a login that a person has to confirm. They are not used before. */
export interface WaitingTokens {
  readonly record: LoginRecord
  readonly expires_at: number
}

interface Finished {
  readonly id: string
  readonly outcome: Promise<LoginOutcome>
}

/** Agents are given tickets, too. Those of the owner are given only to who has the token. */
export type TicketHolder = 'owner' | 'anyone'

export const LOGIN_MS = 10 * 60_000
const MAX_PENDING = 64
const MAX_FINISHED = 64
const ID_BYTES = 16

export const newId = (): string => randomBytes(ID_BYTES).toString('base64url')

/** Logins between their start and their callback, in memory: one a server, and the last that have ended. */
export class PendingLogins {
  readonly #now: () => number
  readonly #pending = new Map<string, PendingLogin>()
  readonly #finished = new Map<string, Finished>()
  readonly #waiting = new Map<string, WaitingTokens>()
  readonly #tickets = new Map<string, { readonly ticket: string; readonly expires_at: number }>()

  constructor(now: () => number) {
    this.#now = now
  }

  of(serverId: string): PendingLogin | undefined {
    const pending = this.#pending.get(serverId)
    if (!pending || pending.expires_at > this.#now()) return pending
    this.#pending.delete(serverId)
    return undefined
  }

  add(pending: PendingLogin): void {
    for (const id of this.#pending.keys()) this.of(id) // forgets those that are late
    if (this.#pending.size >= MAX_PENDING && !this.#pending.has(pending.server_id))
      throw new AppError('limit_reached', `${MAX_PENDING} logins are waiting for a browser`, {
        hint: 'Finish or cancel one of them first',
      })
    this.#pending.set(pending.server_id, pending)
  }

  cancel(serverId: string): void {
    this.#pending.delete(serverId)
    for (const by of ['anyone', 'owner']) this.#tickets.delete(`${by} ${serverId}`)
  }

  byState(state: string): PendingLogin | undefined {
    for (const pending of this.#pending.values())
      if (pending.state === state) return this.of(pending.server_id)
    return undefined
  }

  /** Ends a pending login. Its code can be used only once, so a second callback gets the outcome of the first. */
  finish({ server_id, state }: PendingLogin, outcome: Promise<LoginOutcome>, id: string): void {
    this.cancel(server_id)
    this.#finished.set(state, { id, outcome })
    const [oldest] = this.#finished.keys()
    if (this.#finished.size > MAX_FINISHED && oldest !== undefined) this.#finished.delete(oldest)
  }

  finished(state: string): Promise<LoginOutcome> | undefined {
    return this.#finished.get(state)?.outcome
  }

  outcome(id: string): Promise<LoginOutcome> | undefined {
    return [...this.#finished.values()].find((each) => each.id === id)?.outcome
  }

  /** Replaces those that wait already. */
  wait(serverId: string, record: LoginRecord): void {
    this.#waiting.set(serverId, { record, expires_at: this.#now() + LOGIN_MS })
  }

  /** The tokens that wait for a confirmation. */
  waiting(serverId: string): WaitingTokens | undefined {
    const waiting = this.#waiting.get(serverId)
    if (!waiting || waiting.expires_at > this.#now()) return waiting
    this.#waiting.delete(serverId)
    return undefined
  }

  /** The same, which do not wait any longer. */
  take(serverId: string): WaitingTokens | undefined {
    const waiting = this.waiting(serverId)
    this.#waiting.delete(serverId)
    return waiting
  }

  /**
   * The ticket of a server, which opens its start page. One a server for all agents, however many calls wait for the login,
   * and one for those who have the token.
   */
  ticketOf(serverId: string, by: TicketHolder): { ticket: string; expires_at: number } {
    const key = `${by} ${serverId}`
    const known = this.#tickets.get(key)
    const isValid = known !== undefined && known.expires_at > this.#now()
    const issued = { ticket: isValid ? known.ticket : newId(), expires_at: this.#now() + LOGIN_MS }
    this.#tickets.set(key, issued)
    return issued
  }

  /** Whose ticket it is. */
  holderOf(ticket: string): { readonly serverId: string; readonly by: TicketHolder } | undefined {
    for (const [key, issued] of this.#tickets) {
      if (issued.ticket !== ticket) continue
      const [by = '', serverId = ''] = key.split(' ', 2)
      const isValid = issued.expires_at > this.#now()
      return isValid ? { serverId, by: by === 'owner' ? 'owner' : 'anyone' } : undefined
    }
    return undefined
  }
}
