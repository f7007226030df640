import type { Facts } from '../../kernel/facts.ts'
import { LEVEL_RANK, LEVELS, type Level, type LogEntry } from '../../kernel/log.ts'
import { plainText } from '../../kernel/secrets/plain-text.ts'
import { type GateRules, type Line, LineGate, SERVER_GATE } from './line-gate.ts'

interface Deps {
  /** Returns false when the log did not accept the line. */
  readonly push: (entry: LogEntry, repeat: number) => boolean
  readonly now: () => number
  readonly rules?: GateRules
}

const FLUSH_EVERY_MS = 1000

/** Turns server output into log lines: one rate limit per server, the level detected from the text. */
export class ServerLines {
  readonly #deps: Deps
  readonly #gates = new Map<string, LineGate>()
  readonly #waiting = new Set<LineGate>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  add({ server_id, stream, text, cut, instance }: Facts['server_line']): void {
    if (text === '' && cut === 0) return
    const gate = this.#gateOf(server_id)
    gate.push({ ts: this.#deps.now(), stream, text, cut, instance })
    this.#flushSoon(gate)
  }

  /** Writes repeats and drop notices. What the log does not accept is retried a second later. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const gates = [...this.#waiting]
    this.#waiting.clear()
    for (const gate of gates) {
      gate.flush()
      if (gate.unreported > 0) this.#flushSoon(gate)
    }
  }

  /** How many lines of the server were dropped. */
  dropped(server_id: string): number {
    return this.#gates.get(server_id)?.dropped ?? 0
  }

  /** Counts a line that the log accepted but could not store as dropped. */
  lost(server_id: string, repeat: number): void {
    const gate = this.#gates.get(server_id)
    if (!gate) return
    gate.drop(repeat)
    this.#flushSoon(gate)
  }

  /** Counts stored lines that were deleted because the disk is nearly full. */
  discarded(server_id: string, lines: number): void {
    this.#gateOf(server_id).lose(lines)
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

function entryOf(server_id: string, { ts, stream, text, cut, instance }: Line): LogEntry {
  const message = plainText(text)
  return {
    ts,
    level: levelOf(message),
    source: 'server',
    stream,
    server_id,
    message,
    ...(instance !== undefined && { data: { instance } }),
    ...(cut > 0 && { cut }),
  }
}

const WORDS: Readonly<Record<Level, readonly string[]>> = {
  trace: ['trace'],
  debug: ['verbose', 'debug'],
  info: ['info', 'notice', 'log'],
  warn: ['warn', 'warning'],
  error: ['err', 'error', 'exception'],
  fatal: ['critical', 'crit', 'alert', 'emerg', 'emergency', 'panic', 'fatal'],
}
const NAMES = Object.values(WORDS).flat().join('|')

/** `[warn]`, `WARN:`, `level=error`, `"level":"info"` near the start of a line. */
const NAMED = new RegExp(
  `(?:\\blevel"?\\s*[=:]\\s*"?|[[(<|]\\s*)(${NAMES})\\b|\\b(${NAMES})\\s*[:\\])|>]`,
  'i',
)
/** A word in capitals counts as a level without punctuation: `ERROR root`. */
const CAPITALS = new RegExp(`(?:^|\\s)(${NAMES.toUpperCase()})(?:\\s|$)`)
/** What runtimes print for an uncaught error. */
const THROWN =
  /^(?:Uncaught |Unhandled)?\s*(?:[A-Z]\w*)?(?:Error|Exception)\b(?::|$)|^Traceback \(most recent call last\)|^npm ERR!|^panic: |^thread '.*' panicked/
const PINO = /"level"\s*:\s*([1-6]0)\b/
const HEAD = 120

/** Detects the level of a program's output line from its text. Being on stderr does not make it an error. */
export function levelOf(line: string): Level {
  const head = line.slice(0, HEAD)
  const number = head.startsWith('{') ? PINO.exec(head)?.[1] : undefined
  if (number !== undefined) return LEVELS.find((level) => LEVEL_RANK[level] === Number(number)) ?? 'info'
  if (THROWN.test(head)) return 'error'
  const named = NAMED.exec(head)
  const word = (named?.[1] ?? named?.[2] ?? CAPITALS.exec(head)?.[1] ?? 'info').toLowerCase()
  return LEVELS.find((level) => WORDS[level].includes(word)) ?? 'info'
}
