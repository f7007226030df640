import type { Facts } from '../../kernel/fact-bus.ts'
import { LEVEL_RANK, LEVELS, type Level, type LogEntry } from '../../kernel/log.ts'
import { plainText } from '../../kernel/secrets/strip-terminal-codes.ts'
import { type Line, LineRateLimit, type RateRules, SERVER_RATE } from './line-rate-limit.ts'

interface Deps {
  /** Returns false when the log did not accept the line. */
  readonly push: (entry: LogEntry, repeat: number) => boolean
  readonly now: () => number
  readonly rules?: RateRules
}

const FLUSH_EVERY_MS = 1000

/** Turns server output into log lines: one rate limit per server, the level detected from the text. */
export class ServerLines {
  readonly #deps: Deps
  readonly #limits = new Map<string, LineRateLimit>()
  readonly #waiting = new Set<LineRateLimit>()
  #timer: NodeJS.Timeout | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  add({ server_id, stream, text, cut, instance }: Facts['server_line']): void {
    if (text === '' && cut === 0) return
    const limit = this.#limitOf(server_id)
    limit.push({ ts: this.#deps.now(), stream, text, cut, instance })
    this.#flushSoon(limit)
  }

  /** Writes repeats and drop notices. What the log does not accept is retried a second later. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const limits = [...this.#waiting]
    this.#waiting.clear()
    for (const limit of limits) {
      limit.flush()
      if (limit.unreported > 0) this.#flushSoon(limit)
    }
  }

  /** How many lines of the server were dropped. */
  dropped(server_id: string): number {
    return this.#limits.get(server_id)?.dropped ?? 0
  }

  /** Counts a line that the log accepted but could not store as dropped. */
  lost(server_id: string, repeat: number): void {
    const limit = this.#limits.get(server_id)
    if (!limit) return
    limit.drop(repeat)
    this.#flushSoon(limit)
  }

  /** Counts stored lines that were deleted because the disk is nearly full. */
  discarded(server_id: string, lines: number): void {
    this.#limitOf(server_id).lose(lines)
  }

  forget(server_id: string): void {
    const limit = this.#limits.get(server_id)
    limit?.flush()
    this.#limits.delete(server_id)
    if (limit) this.#waiting.delete(limit)
  }

  #flushSoon(limit: LineRateLimit): void {
    this.#waiting.add(limit)
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_EVERY_MS)
  }

  #limitOf(server_id: string): LineRateLimit {
    const known = this.#limits.get(server_id)
    if (known) return known
    const { push, now, rules = SERVER_RATE } = this.#deps
    const limit = new LineRateLimit({
      rules,
      clock: () => performance.now(),
      write: (line, repeat) => push(entryOf(server_id, line), repeat),
      onDropped: (lines) => {
        const message = `${lines} lines were dropped because there were too many`
        return push({ ts: now(), level: 'warn', source: 'server', server_id, message }, 1)
      },
    })
    this.#limits.set(server_id, limit)
    return limit
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
