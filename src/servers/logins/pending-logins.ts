import { randomBytes } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'
import type { ProofKey } from '../../net/oauth/dpop.ts'
import type { IssuerInfo } from '../../net/oauth/issuer-metadata.ts'
import type { OAuthClient } from '../../net/oauth/oauth-clients.ts'
import type { LoginOutcome } from './login-record.ts'

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
  readonly expires_at: number
}

interface Finished {
  readonly id: string
  readonly outcome: Promise<LoginOutcome>
}

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
    this.#tickets.delete(serverId)
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

  /** The ticket of a server, which opens its start page. One a server, however many calls wait for the login. */
  ticketOf(serverId: string): { ticket: string; expires_at: number } {
    const known = this.#tickets.get(serverId)
    const isValid = known !== undefined && known.expires_at > this.#now()
    const issued = { ticket: isValid ? known.ticket : newId(), expires_at: this.#now() + LOGIN_MS }
    this.#tickets.set(serverId, issued)
    return issued
  }

  serverOf(ticket: string): string | undefined {
    for (const [serverId, issued] of this.#tickets)
      if (issued.ticket === ticket) return issued.expires_at > this.#now() ? serverId : undefined
    return undefined
  }
}
