export const REVISIONS: readonly string[]

export interface ScenarioRow {
  readonly name: string
  readonly required: boolean
  readonly passed: boolean
  readonly reason: string | null
  /** Warnings of the suite, and checks it could not run. */
  readonly warnings: readonly string[]
  /** The number of successful checks. */
  readonly checks: number
}

export interface SuiteReport {
  /** Every required scenario passed. */
  readonly ok: boolean
  readonly revision: string
  readonly url: string
  readonly suite_version: string
  readonly node_version: string
  readonly duration_ms: number
  readonly required: { readonly passed: number; readonly total: number }
  readonly scenarios: readonly ScenarioRow[]
}

export interface SuiteOptions {
  readonly url: string
  readonly revision: string
  /** Added to every request of the suite, by a forwarder. */
  readonly headers?: Readonly<Record<string, string>>
  readonly scenario?: string
  readonly deadlineMs?: number
}

export function runSuite(options: SuiteOptions): Promise<SuiteReport>
export function listScenarios(revision: string): Promise<{ name: string; required: boolean }[]>
