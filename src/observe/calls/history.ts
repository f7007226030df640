import type { FactBus } from '../../kernel/facts.ts'
import type { CallStore } from './call-store.ts'

interface Deps {
  readonly store: Pick<CallStore, 'add' | 'flush'>
  readonly facts: FactBus
  /** Called when calls could not be stored. */
  readonly onLost: (error: unknown) => void
}

const FLUSH_MS = 500

/** Collects completed calls and stores them in batches. */
export class CallHistory {
  readonly #deps: Deps
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    const { add } = deps.store
    const flush = () => void this.flush()
    // On the path of every call.
    deps.facts.on('call_completed', (call) => {
      if (!add(call)) flush()
      else this.#timer ??= setTimeout(flush, FLUSH_MS).unref()
    })
  }

  /** Passes all calls to the store: its next request includes them. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    await this.#deps.store.flush().catch(this.#deps.onLost)
  }
}
