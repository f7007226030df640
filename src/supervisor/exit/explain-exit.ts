import type { LastError } from '../../kernel/server-state.ts'
import { CAUSES } from './exit-causes.ts'
import { type Saying, sayings, USAGE } from './exit-lines.ts'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last lines of stderr of this start, oldest first, at most 40. */
  readonly stderr: readonly string[]
  /** What stood on stdout and was no message, last lines. */
  readonly noise: readonly string[]
  /** It had finished the handshake. */
  readonly wasRunning: boolean
  readonly args: readonly string[]
}

const MAX_QUOTE_CHARACTERS = 300
const MAX_HINT_CHARACTERS = 400

/** Why a process ended and what a person does next, told by its exit and by what it wrote. */
export function explainExit(ended: Ended): LastError {
  const said = [...sayings(ended.stderr), ...sayings(ended.noise)]
  const cause = lastSignal(ended) === 'from outside' ? undefined : known(ended, said)
  return cause ?? unknown(ended, said[0])
}

function known(ended: Ended, said: readonly Saying[]): LastError | undefined {
  // A log of hours has errors that ended nothing; only the most telling line is believed then.
  for (const { quote, text } of ended.wasRunning ? said.slice(0, 1) : said) {
    for (const { code, when, hint } of CAUSES) {
      const match = firstMatch(when, text)
      if (!match) continue
      return { code, message: `${howItEnded(ended)}: ${quoted(quote)}`, hint: short(hint(match, ended)) }
    }
  }
  return undefined
}

/** Nothing known was found in the lines: the exit itself has to tell. */
function unknown(ended: Ended, last: Saying | undefined): LastError {
  const how = howItEnded(ended)
  const origin = lastSignal(ended)
  if (origin !== undefined) {
    const message = last ? `${how}, it said before: ${quoted(last.quote)}` : how
    return { code: origin === 'from outside' ? 'killed' : 'crashed', message, hint: hintForSignal(ended) }
  }
  if (ended.code === 0) return endedByItself(ended, last)
  if (ended.code === 126 || ended.code === 127) {
    const message = `${how}: the shell did not find the program, or may not run it`
    const hint = 'Correct the program that the shell shall run, or give its full path'
    return { code: 'command_not_found', message: last ? `${how}: ${quoted(last.quote)}` : message, hint }
  }
  if (last && USAGE.test(last.quote)) {
    const hint = 'Correct args: it did not accept them and printed how it is called'
    return { code: 'bad_arguments', message: `${how}: ${quoted(last.quote)}`, hint }
  }
  if (last) {
    const hint = 'Read the lines before it in the log, or run the command in a terminal'
    return { code: 'exited', message: `${how}: ${quoted(last.quote)}`, hint }
  }
  const hint = 'Run the command in a terminal to see what it needs'
  return { code: 'exited', message: `${how} and did not say why`, hint }
}

function endedByItself({ wasRunning }: Ended, last: Saying | undefined): LastError {
  const end = last ? `, it said before: ${quoted(last.quote)}` : ''
  if (wasRunning) {
    const hint = 'Start it again, and read the end of its log if it ends once more'
    return { code: 'exited', message: `It ended by itself, without an error, after it was ready${end}`, hint }
  }
  const message = `It ended by itself without an error: the command does not stay running${end}`
  const hint = 'Check command and args: a tool server keeps running and speaks over stdin and stdout'
  return { code: 'exited', message, hint }
}

function howItEnded(ended: Ended): string {
  const when = ended.wasRunning ? 'after it was ready' : 'before it was ready'
  if (ended.signal !== null) return `It was ended by ${ended.signal} ${when}`
  const byShell = SHELL_CODES[ended.code ?? 0]
  const code = byShell ? `${ended.code} (${byShell})` : ended.code
  return code === null ? `It ended ${when}` : `It ended with exit code ${code} ${when}`
}

/** A shell, and docker, end with 128 and the number of the signal that ended their child. */
const SHELL_CODES: Readonly<Record<number, NodeJS.Signals>> = {
  130: 'SIGINT',
  132: 'SIGILL',
  134: 'SIGABRT',
  135: 'SIGBUS',
  136: 'SIGFPE',
  137: 'SIGKILL',
  139: 'SIGSEGV',
  143: 'SIGTERM',
}
const BY_ITSELF: ReadonlySet<string> = new Set(
  'SIGABRT SIGBUS SIGFPE SIGILL SIGPIPE SIGSEGV SIGSYS SIGTRAP'.split(' '),
)

const signalOf = ({ code, signal }: Ended) => signal ?? SHELL_CODES[code ?? 0]

/** A program gets some signals for what it did; the others come from outside, whatever it wrote before. */
function lastSignal(ended: Ended): 'by itself' | 'from outside' | undefined {
  const signal = signalOf(ended)
  return signal && (BY_ITSELF.has(signal) ? 'by itself' : 'from outside')
}

function hintForSignal(ended: Ended): string {
  const signal = signalOf(ended)
  if (signal === 'SIGKILL') return 'The system may have been short of memory: free some, then start it again'
  if (signal === 'SIGPIPE') return 'It wrote to something that had closed: start it again'
  if (lastSignal(ended) === 'from outside') return 'Another program or person ended it: start it again'
  return 'The program itself is broken: update it or install it again, and tell its author'
}

function firstMatch(patterns: readonly RegExp[], text: string): RegExpExecArray | undefined {
  for (const pattern of patterns) {
    const match = pattern.exec(text)
    if (match) return match
  }
  return undefined
}

const quoted = (line: string): string => cut(line, MAX_QUOTE_CHARACTERS)
const short = (hint: string): string => cut(hint, MAX_HINT_CHARACTERS)

/** Never between the two halves of one character. */
function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text
}
