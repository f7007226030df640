import type { RepairAction } from '../../kernel/repair-action.ts'
import type { SkippedScripts } from '../../kernel/server-plan.ts'
import type { LastError } from '../../kernel/server-state.ts'
import { CAUSES } from './exit-causes.ts'
import { type Excerpt, excerptsOf, USAGE } from './output-excerpts.ts'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** The last lines of stderr of this start, oldest first, at most 40. */
  readonly stderr: readonly string[]
  /** The last lines on stdout that are not MCP messages. */
  readonly noise: readonly string[]
  /** The handshake was complete. */
  readonly wasRunning: boolean
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>> | undefined
  /** It reaches only what it was granted. */
  readonly isIsolated?: boolean | undefined
  /** For a program of an installed package. */
  readonly skippedScripts?: SkippedScripts | undefined
  /** The memory of its container, in MiB. */
  readonly limitMb?: number | undefined
  readonly outOfMemory?: boolean
}

const MAX_QUOTE_CHARACTERS = 300
const MAX_HINT_CHARACTERS = 400

/** Why a process ended and what to do, from its exit status and its output. */
export function explainExit(ended: Ended): LastError {
  const limit = memoryLimitReached(ended)
  if (limit) return limit
  const excerpts = [...excerptsOf(ended.stderr), ...excerptsOf(ended.noise)]
  const known = lastSignal(ended) === 'external' ? undefined : knownCause(ended, excerpts)
  return known ?? unknownCause(ended, excerpts[0])
}

/** An engine says that the limit of a container ended it; some do not. */
function memoryLimitReached(ended: Ended): LastError | undefined {
  const { limitMb, outOfMemory, code } = ended
  if (!outOfMemory || limitMb === undefined || SHELL_CODES[code ?? 0] !== 'SIGKILL') return undefined
  const when = ended.wasRunning ? 'after it was ready' : 'before it was ready'
  return {
    code: 'out_of_memory',
    message: `The process was ended ${when} because it used more than ${limitMb} MiB`,
    hint: 'Raise isolation_options.memory_mb, or reduce what the server loads, then start it again',
    action: { kind: 'change_isolation' },
  }
}

function knownCause(ended: Ended, excerpts: readonly Excerpt[]): LastError | undefined {
  // The log of a long run contains harmless errors too, so only the most specific excerpt counts.
  for (const { quote, text } of ended.wasRunning ? excerpts.slice(0, 1) : excerpts) {
    for (const { code, when, hint, action } of CAUSES) {
      const match = firstMatch(when, text)
      if (!match) continue
      const missing = nativePartMissing(ended.skippedScripts, code, text, ended.stderr)
      if (missing) return missing
      return {
        code,
        message: `${howItEnded(ended)}: ${quoted(quote)}`,
        hint: short(hint(match, ended)),
        action: typeof action === 'function' ? action(match, ended) : action,
      }
    }
  }
  return undefined
}

/** Explained by the exit status alone, because no known cause is in the output. */
function unknownCause(ended: Ended, last: Excerpt | undefined): LastError {
  const how = howItEnded(ended)
  const origin = lastSignal(ended)
  if (origin !== undefined) {
    const message = last ? `${how}. Last output: ${quoted(last.quote)}` : how
    return { code: origin === 'external' ? 'killed' : 'crashed', message, ...remedyForSignal(ended) }
  }
  if (ended.code === 0) return exitedNormally(ended, last)
  if (ended.code === 126 || ended.code === 127) {
    const message = `${how}: the shell could not find or run the program`
    const hint = 'Check the program that the shell runs, or use its full path'
    const said = last ? `${how}: ${quoted(last.quote)}` : message
    return { code: 'command_not_found', message: said, hint, action: { kind: 'edit_command' } }
  }
  if (last && USAGE.test(last.quote)) {
    const hint = 'Check args: the command printed its usage instead of starting'
    const action = { kind: 'edit_arguments' } as const
    return { code: 'bad_arguments', message: `${how}: ${quoted(last.quote)}`, hint, action }
  }
  if (last) {
    const hint = 'Read the previous lines in the log, or run the command in a terminal'
    return { code: 'exited', message: `${how}: ${quoted(last.quote)}`, hint, action: SEE_LOG }
  }
  const hint = 'Run the command in a terminal to see what it needs'
  return {
    code: 'exited',
    message: `${how} without an error message`,
    hint,
    action: { kind: 'edit_command' },
  }
}

function exitedNormally({ wasRunning }: Ended, last: Excerpt | undefined): LastError {
  const output = last ? `. Last output: ${quoted(last.quote)}` : ''
  if (wasRunning) {
    const hint = 'Start it again. If it exits again, read the end of its log'
    return {
      code: 'exited',
      message: `The process exited without an error after it was ready${output}`,
      hint,
      action: { kind: 'start' },
    }
  }
  const message = `The process exited without an error: the command does not keep running${output}`
  const hint = 'Check command and args: a tool server keeps running and communicates over stdin and stdout'
  return { code: 'exited', message, hint, action: { kind: 'edit_command' } }
}

const SEE_LOG: RepairAction = { kind: 'see_log' }

function howItEnded(ended: Ended): string {
  const when = ended.wasRunning ? 'after it was ready' : 'before it was ready'
  if (ended.signal !== null) return `The process was ended by ${ended.signal} ${when}`
  const byShell = SHELL_CODES[ended.code ?? 0]
  const code = byShell ? `${ended.code} (${byShell})` : ended.code
  return code === null ? `The process ended ${when}` : `The process exited with code ${code} ${when}`
}

/** Shells and docker exit with 128 plus the number of the signal that ended their child. */
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
const CRASH_SIGNALS: ReadonlySet<string> = new Set(
  'SIGABRT SIGBUS SIGFPE SIGILL SIGPIPE SIGSEGV SIGSYS SIGTRAP'.split(' '),
)

const signalOf = ({ code, signal }: Ended) => signal ?? SHELL_CODES[code ?? 0]

/** Some signals are caused by the program itself; all others come from another process. */
function lastSignal(ended: Ended): 'crash' | 'external' | undefined {
  const signal = signalOf(ended)
  return signal && (CRASH_SIGNALS.has(signal) ? 'crash' : 'external')
}

function remedyForSignal(ended: Ended): Pick<LastError, 'hint' | 'action'> {
  const signal = signalOf(ended)
  if (signal === 'SIGKILL' && ended.limitMb !== undefined) {
    const hint = `It may have used more than ${ended.limitMb} MiB: raise isolation_options.memory_mb, then start it again`
    return { hint, action: { kind: 'change_isolation' } }
  }
  const again = (hint: string): Pick<LastError, 'hint' | 'action'> => ({ hint, action: { kind: 'start' } })
  if (signal === 'SIGKILL')
    return again('The system may have run out of memory: free some, then start it again')
  if (signal === 'SIGPIPE') return again('It wrote to a closed pipe: start it again')
  if (lastSignal(ended) === 'external') return again('Another program or a user ended it: start it again')
  const hint = 'The program crashed: update or reinstall it, or report the error to its author'
  return { hint, action: SEE_LOG }
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

/** Never splits a surrogate pair. */
function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text
}

/** Causes that a file which an install script would have made can have. */
const FILE_CAUSES: readonly string[] = ['module_not_found', 'command_not_found', 'file_not_found']
const MAX_NAMED = 3

/** The error of a server whose package was installed without its install scripts, if that is the cause. */
function nativePartMissing(
  skipped: SkippedScripts | undefined,
  code: string,
  excerpt: string,
  output: readonly string[],
): LastError | undefined {
  if (!skipped || skipped.of.length === 0) return undefined
  const namedIn = (text: string) => skipped.of.find((name) => text.includes(`/node_modules/${name}/`))
  const isItsFile = FILE_CAUSES.includes(code) && (/\.node\b/.test(excerpt) || namedIn(excerpt) !== undefined)
  if (code !== 'native_module' && !isItsFile) return undefined
  const named = namedIn(excerpt) ?? namedIn(output.join('\n'))
  const names = named === undefined ? skipped.of.slice(0, MAX_NAMED) : [named]
  const whose = names.map((name) => `'${name}'`).join(' or ')
  return {
    code: 'native_part_missing',
    message: `The native part of ${whose} is missing: '${skipped.package}' was installed without install scripts`,
    hint: `Install '${skipped.package}' again with its install scripts, if you trust it`,
    action: { kind: 'allow_scripts', package: skipped.package },
  }
}
