import type { LoginProblem } from './login-record.ts'

/** How a login ended, for the page that the browser shows. */
export interface LoginOutcome {
  /** Names the outcome in the address of that page. */
  readonly id: string
  readonly server_id: string
  readonly server_name: string
  readonly ok: boolean
  /** The number of tools, when the server could be connected. */
  readonly tools: number | null
  /** Why the login failed, or why the server could not be connected after it. */
  readonly problem: LoginProblem | null
}
