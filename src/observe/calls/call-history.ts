import type { FactBus } from '../../kernel/fact-bus.ts'
import { LEVEL_RANK, type Log, type Threshold } from '../../kernel/log.ts'
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

/** Logs calls: failed ones as warnings, and those of agents at debug level when they succeed. */
export function logCalls(facts: FactBus, log: Log, threshold: Threshold): void {
  const gatewayLog = log.child({ source: 'gateway' })
  facts.on('call_completed', (call) => {
    const { agent_type, server_id, tool, request_id, status, error_code } = call
    const isAgent = agent_type !== null
    if (status === 'ok' && (!isAgent || LEVEL_RANK[threshold.level] > LEVEL_RANK.debug)) return
    const fields = {
      agent_type: agent_type ?? undefined,
      server_id: server_id ?? undefined,
      tool,
      request_id,
      duration_ms: call.duration_ms === null ? undefined : Math.round(call.duration_ms),
    }
    const callLog = isAgent ? gatewayLog : log
    if (status === 'ok') callLog.debug(fields, 'call answered')
    else if (status === 'cancelled')
      callLog.info(fields, `call cancelled by the ${isAgent ? 'agent' : 'client'}`)
    else {
      const why = SAID_BY_SERVER[error_code ?? ''] ?? call.error_message ?? error_code
      callLog.warn({ ...fields, error_code }, `call failed: ${why}`)
    }
  })
}

/** The log is public, and what a server says about an error may contain what it was asked for. The history of calls has the text. */
const SAID_BY_SERVER: Readonly<Record<string, string>> = {
  tool_error: 'the tool reported an error',
  remote: 'the server responded with an error',
}
