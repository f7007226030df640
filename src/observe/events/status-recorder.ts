import type { FactBus } from '../../kernel/fact-bus.ts'

/** A server has entered a state. */
export interface StatusChange {
  readonly ts: number
  readonly server_id: string
  readonly status: string
  readonly cause: string
}

interface Deps {
  readonly facts: FactBus
  readonly save: (changes: readonly StatusChange[]) => Promise<void>
  readonly redact: (text: string) => string
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

/** Changes within this time are saved in one transaction. A crash of Toolroom loses those of the last one. */
const SAVE_AFTER_MS = 1000
/** While they cannot be saved, only the newest are kept. */
const MAX_UNSAVED = 1000
const MAX_CAUSE = 500

/** Records the states of servers of both kinds. */
export class StatusRecorder {
  readonly #deps: Deps
  readonly #stops: readonly (() => void)[]
  /** Of HTTP servers: their checks are frequent, and most of them change nothing. */
  readonly #statuses = new Map<string, string>()
  #unsaved: StatusChange[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    const { facts } = deps
    this.#stops = [
      facts.on('server_status', ({ server_id, state, cause }) => this.#add(server_id, state.status, cause)),
      facts.on('http_server_check', ({ server_id, status, error_code }) => {
        if (this.#statuses.get(server_id) === status) return
        this.#statuses.set(server_id, status)
        this.#add(server_id, status, error_code ?? 'checked')
      }),
      facts.on('server_removed', ({ server_id }) => this.#statuses.delete(server_id)),
    ]
  }

  /** Saves what was recorded so far. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const changes = this.#unsaved
    this.#unsaved = []
    if (changes.length === 0) return
    try {
      await this.#deps.save(changes)
    } catch (error) {
      this.#unsaved = [...changes, ...this.#unsaved].slice(-MAX_UNSAVED)
      this.#deps.onError(error)
    }
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    await this.flush()
  }

  #add(server_id: string, status: string, cause: string): void {
    const { now, redact } = this.#deps
    this.#unsaved.push({ ts: now(), server_id, status, cause: redact(cause).slice(0, MAX_CAUSE) })
    this.#timer ??= setTimeout(() => void this.flush(), SAVE_AFTER_MS)
  }
}
