import type { ScenarioRow } from './suite.mjs'

export const DOCUMENT_URL: string

/** What the client of a scenario saw. */
export interface Happened {
  readonly called: boolean
  readonly logins: number
  /** The scopes of each login. */
  readonly asked: readonly (readonly string[])[]
  /** Why it was refused. */
  readonly code: string | null
}

export interface LoginSuiteOptions {
  readonly revision: string
  readonly address: string
  readonly documentAddress: string
  readonly token: string
  readonly scenario?: string
}

export function runLoginSuite(
  options: LoginSuiteOptions,
): Promise<(ScenarioRow & { readonly happened: Happened | null })[]>
