import { LEVEL_RANK, LEVELS, type Level } from '../../kernel/log.ts'

const WORDS: Readonly<Record<string, Level>> = {
  trace: 'trace',
  verbose: 'debug',
  debug: 'debug',
  info: 'info',
  notice: 'info',
  log: 'info',
  warn: 'warn',
  warning: 'warn',
  err: 'error',
  error: 'error',
  exception: 'error',
  critical: 'fatal',
  crit: 'fatal',
  alert: 'fatal',
  emerg: 'fatal',
  emergency: 'fatal',
  panic: 'fatal',
  fatal: 'fatal',
}
const NAMES = Object.keys(WORDS).join('|')

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
  const word = named?.[1] ?? named?.[2] ?? CAPITALS.exec(head)?.[1]
  return (word && WORDS[word.toLowerCase()]) || 'info'
}
