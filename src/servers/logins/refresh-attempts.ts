import { OAuthFailure } from '../../net/oauth/oauth-failure.ts'
import type { LoginProblem } from './login-record.ts'

const FIRST_PAUSE_MS = 2000
const LONGEST_PAUSE_MS = 300_000

/** Renews the tokens of one server: one request at a time, with growing pauses after failures that may pass. */
export class RefreshAttempts {
  readonly #now: () => number
  #flight: Promise<void> | undefined
  #failures = 0
  #retryAt = 0
  /** Why the last attempt failed, while another one follows. */
  problem: LoginProblem | null = null

  constructor(now: () => number) {
    this.#now = now
  }

  /** Whether the last attempt failed. */
  get hasFailed(): boolean {
    return this.#failures > 0
  }

  /** Never rejects. All that ask during an attempt wait for the same one. */
  run(renew: () => Promise<void>, onError: (error: unknown) => Promise<void>): Promise<void> {
    if (this.#flight !== undefined) return this.#flight
    if (this.#now() < this.#retryAt) return Promise.resolve()
    this.#flight = this.#attempt(renew, onError).finally(() => {
      this.#flight = undefined
    })
    return this.#flight
  }

  async #attempt(renew: () => Promise<void>, onError: (error: unknown) => Promise<void>): Promise<void> {
    try {
      await renew()
      this.#settle()
    } catch (error) {
      const isPassing = !(error instanceof OAuthFailure) || error.code === 'unavailable'
      if (isPassing) this.#postpone(error)
      else this.#settle()
      await onError(error)
    }
  }

  #settle(): void {
    this.#failures = 0
    this.#retryAt = 0
    this.problem = null
  }

  #postpone(error: unknown): void {
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 10), LONGEST_PAUSE_MS)
    const asked = error instanceof OAuthFailure ? (error.retryAfterS ?? 0) * 1000 : 0
    this.#failures += 1
    this.#retryAt = this.#now() + Math.max(pause, Math.min(asked, LONGEST_PAUSE_MS))
    this.problem = problemOf(error)
  }
}

export function problemOf(error: unknown): LoginProblem {
  if (error instanceof OAuthFailure) return { code: error.code, message: error.message, hint: error.hint }
  return {
    code: 'internal_error',
    message: 'Toolroom could not process the answer',
    hint: "See Toolroom's log",
  }
}
