import type { Check, MetricsStore } from '../metrics-store.ts'

const KEPT_CHECKS = 100

/** The last checks of every HTTP server, newest last. */
export class RecentChecks {
  readonly #byServer = new Map<string, Check[]>()
  #unsaved: Check[] = []

  constructor(stored: readonly Check[]) {
    for (const check of stored) this.#push(check)
  }

  add(check: Check): void {
    this.#push(check)
    this.#unsaved.push(check)
    // The store has failed for so long that most of these checks would not be kept anyway.
    if (this.#unsaved.length > 100 * KEPT_CHECKS) this.#unsaved = this.#unsaved.slice(-50 * KEPT_CHECKS)
  }

  of(server_id: string): readonly Check[] {
    return this.#byServer.get(server_id) ?? []
  }

  get unsaved(): readonly Check[] {
    return this.#unsaved
  }

  saved(): void {
    this.#unsaved = []
  }

  forget(server_id: string, store: MetricsStore): void {
    if (!this.#byServer.delete(server_id)) return
    this.#unsaved = this.#unsaved.filter((check) => check.server_id !== server_id)
    store.forgetChecks(server_id)
  }

  #push(check: Check): void {
    const checks = this.#byServer.get(check.server_id) ?? []
    checks.push(check)
    if (checks.length > KEPT_CHECKS) checks.shift()
    this.#byServer.set(check.server_id, checks)
  }
}
