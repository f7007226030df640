import type { Facts } from '../kernel/facts.ts'
import type { LogEntry } from '../kernel/log.ts'
import { type GateRules, type Line, LineGate, SERVER_GATE } from './line-gate.ts'
import { levelOf } from './line-level.ts'

interface Deps {
  /** False when the log cannot take it now. */
  readonly push: (entry: LogEntry, repeat: number) => boolean
  readonly now: () => number
  readonly rules?: GateRules
}

const FLUSH_EVERY_MS = 1000

/** What servers write becomes lines of the log: through a gate per server, with a level by what it says. */
export class ServerLines {
  readonly #deps: Deps
  readonly #gates = new Map<string, LineGate>()
  readonly #waiting = new Set<LineGate>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  heard({ server_id, stream, text, cut }: Facts['server_line']): void {
    if (text === '' && cut === 0) return
    const gate = this.#gateOf(server_id)
    gate.push({ ts: this.#deps.now(), stream, text, cut })
    this.#flushSoon(gate)
  }

  /** Repeats and drops become lines. What the log cannot take now is said a second later. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const gates = [...this.#waiting]
    this.#waiting.clear()
    for (const gate of gates) {
      gate.flush()
      if (gate.unsaid > 0) this.#flushSoon(gate)
    }
  }

  counts(server_id: string): LineGate['counts'] | undefined {
    return this.#gates.get(server_id)?.counts
  }

  /** A line that had been taken, so many times, and could not be stored. */
  lost(server_id: string, repeat: number): void {
    const gate = this.#gates.get(server_id)
    if (!gate) return
    gate.lost(repeat)
    this.#flushSoon(gate)
  }

  forget(server_id: string): void {
    const gate = this.#gates.get(server_id)
    gate?.flush()
    this.#gates.delete(server_id)
    if (gate) this.#waiting.delete(gate)
  }

  #flushSoon(gate: LineGate): void {
    this.#waiting.add(gate)
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_EVERY_MS)
  }

  #gateOf(server_id: string): LineGate {
    const known = this.#gates.get(server_id)
    if (known) return known
    const { push, now, rules = SERVER_GATE } = this.#deps
    const gate = new LineGate({
      rules,
      clock: () => performance.now(),
      write: (line, repeat) => push(entryOf(server_id, line), repeat),
      onDropped: (lines) => {
        const message = `${lines} lines were dropped because there were too many`
        return push({ ts: now(), level: 'warn', source: 'server', server_id, message }, 1)
      },
    })
    this.#gates.set(server_id, gate)
    return gate
  }
}

function entryOf(server_id: string, { ts, stream, text, cut }: Line): LogEntry {
  const entry = { ts, level: levelOf(text), source: 'server', stream, server_id, message: text } as const
  return cut > 0 ? { ...entry, cut } : entry
}
