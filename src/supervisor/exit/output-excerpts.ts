import { stripVTControlCharacters } from 'node:util'

/** A part of the output that may contain the cause. */
export interface Excerpt {
  /** The decisive line, with the lines that continue it. */
  readonly quote: string
  /** The quote and its context: the error code, the cause, the requiring module. */
  readonly text: string
}

/** With the sign for a cut. */
const MAX_LINE_CHARACTERS = 2001
const MAX_TEXT_CHARACTERS = 4000

/** The parts of the output that may explain the exit, the most specific first. */
export function excerptsOf(raw: readonly string[]): Excerpt[] {
  const lines = raw.flatMap(readable)
  // A report of the runtime itself is conclusive.
  const last = uncaught(lines) ?? pythonTraceback(lines) ?? panic(lines)
  if (last) return [last]
  const shaped = [nodeTrace(lines), npmErrors(lines), indentedReport(lines), zodIssue(lines)].filter(
    (found) => !!found,
  )
  const plain = lines.filter((line) => !DECORATION.some((pattern) => pattern.test(line))).reverse()
  const ranked = [
    ...plain.filter((line) => ERROR_WORDS.test(line)),
    ...plain.filter((line) => !ERROR_WORDS.test(line)),
  ]
  const usage = plain.length === 0 ? lines.filter((line) => USAGE.test(line)).slice(0, 1) : []
  return [...shaped, ...[...ranked, ...usage].map((line) => excerpt([line]))]
}

function readable(raw: string): string[] {
  const text = stripVTControlCharacters(raw.slice(0, MAX_LINE_CHARACTERS))
  return text.split(/[\r\n\u2028\u2029]/).filter((line) => line.trim() !== '')
}

function excerpt(lines: readonly string[], context: readonly string[] = [], separator = ' '): Excerpt {
  const quote = lines.map((line) => line.trim()).join(separator)
  const text = [quote, ...context.map((line) => line.trim())].join(' ')
  return { quote, text: text.slice(0, MAX_TEXT_CHARACTERS) }
}

/** Node prints its version last after an uncaught error. */
function uncaught(lines: readonly string[]): Excerpt | undefined {
  const end = lines.findLastIndex((line) => /^Node\.js v\d/.test(line))
  return end < 0 ? undefined : errorBefore(lines, end)
}

/** An error that the program caught and printed with its stack. */
function nodeTrace(lines: readonly string[]): Excerpt | undefined {
  const frame = lines.findLastIndex((line) => /^ {4}at /.test(line))
  return frame < 0 ? undefined : errorBefore(lines, frame)
}

const ERROR_HEAD =
  /^(?:Uncaught |\[)?[\w.$]{0,80}(?:Error|Exception|Rejection)(?: \[[\w-]{1,60}\])?(?::|$)|^\S.{0,200}?\b[A-Z]?[\w.$]{0,60}Error(?: \[[\w-]{1,60}\])?: /
const END_OF_MESSAGE = /^\s+at |^Require stack:|^Emitted |^Node\.js v|^ {2}\[?\w+\]?: |^}/

/** `Error: …` above its stack. A message may have several lines, up to the stack. */
function errorBefore(lines: readonly string[], end: number): Excerpt | undefined {
  const head = lines.slice(0, end).findLastIndex((line) => ERROR_HEAD.test(line))
  if (head < 0) return undefined
  const after = lines.slice(head + 1)
  const stop = after.findIndex((line) => END_OF_MESSAGE.test(line))
  const cause = after.find((line) => /^ {2}\[cause\]: /.test(line))
  const message = lines.slice(head, head + 1 + Math.max(0, stop))
  const context = after.filter((line) => /^\s+code: '|^- /.test(line)).slice(0, 4)
  return excerpt(cause === undefined ? message : [...message, cause], context)
}

/** The exception is the first line without indentation after the last `File "…", line 1`. */
function pythonTraceback(raw: readonly string[]): Excerpt | undefined {
  const lines = raw.map((line) => line.replace(/^ +[|+] /, '')) // an exception group draws a tree
  const frame = lines.findLastIndex((line) => /^Traceback \(most|^ {2}File ".{1,500}, line \d+/.test(line))
  const head = lines.findIndex((line, index) => index > frame && /^\S/.test(line))
  if (frame < 0 || head < 0) return undefined
  const isContinued = /:$|\bvalidation errors? for /.test(lines[head] ?? '')
  return excerpt(lines.slice(head, head + (isContinued ? 3 : 1)))
}

/** Rust: the location and, since 1.73 on the next line, the message. Go: one line above the goroutines. */
function panic(lines: readonly string[]): Excerpt | undefined {
  const rust = lines.findLastIndex((line) => /^thread '.{0,200}panicked at /.test(line))
  if (rust >= 0) return excerpt(lines.slice(rust, rust + (lines[rust]?.endsWith(':') ? 2 : 1)))
  const go = lines.find((line) => /^(?:panic|fatal error): /.test(line))
  return go !== undefined && lines.some((line) => /^goroutine \d/.test(line)) ? excerpt([go]) : undefined
}

const NPM = /^npm (?:error|ERR!) /
const NPM_BOOKKEEPING =
  /^npm (?:error|ERR!) +(?:code|errno|syscall|path|command|at|engine Unsupported|Lifecycle|A complete log|Log files|You can rerun)\b/

/** The code, and the first line that is not bookkeeping. */
function npmErrors(all: readonly string[]): Excerpt | undefined {
  const lines = all.filter((line) => NPM.test(line) && line.replace(NPM, '').trim() !== '')
  const code = lines.find((line) => /^\S+ \S+ code E\w/.test(line))
  // The script printed its own error before npm.
  if (code?.endsWith('ELIFECYCLE')) return undefined
  const compiler = lines.find((line) => /gyp ERR! stack \w*Error/.test(line))
  const reason = compiler ?? lines.find((line) => !NPM_BOOKKEEPING.test(line))
  const message = [code, reason].filter((line) => line !== undefined)
  return message.length > 0 ? excerpt(message, lines, '; ') : undefined
}

/** uv, clap and cargo: `error: …` or `× …`, followed by indented details. */
function indentedReport(lines: readonly string[]): Excerpt | undefined {
  const head = lines.findLastIndex((line) => /^error: |^ {0,2}× /.test(line))
  if (head < 0) return undefined
  const after = lines.slice(head + 1, head + 6)
  const end = after.findIndex((line) => !/^ {2}/.test(line) || /^ +help: /.test(line))
  return excerpt(lines.slice(head, head + 1 + (end < 0 ? after.length : end)))
}

/** A long list of issues pushes the name of the error out of the kept lines. */
function zodIssue(lines: readonly string[]): Excerpt | undefined {
  const issue = lines.findIndex((line) => /^\s+path: \[ '/.test(line))
  return issue < 0 ? undefined : excerpt(lines.slice(issue, issue + 2))
}

const ERROR_WORDS =
  /error|exception|fatal|fail|cannot|can't|could not|denied|refused|missing|require|not found|invalid|unable|must /i

/** Used only if the output contains nothing else. */
export const USAGE = /^\s*usage:/i

/** Lines that are never the cause. */
const DECORATION: readonly RegExp[] = [
  /^[^\p{L}\p{N}]*$/u,
  /^\s+at\s/,
  /^(?:node:|internal\/|file:\/\/|\/|\[eval\]|[A-Z]:\\).{0,500}:\d+$/,
  /^\s*(?:throw|return|triggerUncaughtException)\b/,
  /^(?:Node\.js v\d|Require stack:|Emitted '|- \/|\(node:\d+\) |\(Use `node |Debugger )/,
  /^\s+(?:errno|code|syscall|address|port|requireStack|spawnargs|url|hostname|pid|signal): /,
  /^\s*(?:usage|options|commands|arguments|positionals|examples?):/i,
  /^\s+-{1,2}\w/,
  /^(?:Run|See|Try|Use) ['"`].{0,100}help/,
  /^For (?:more|further) information/,
  /^\s*[[(]?(?:note|help|hint|info|warn|warning|debug|notice|trace)\b/i,
  /\bWARN(?:ING)?\b|\busing (?:the )?defaults?\b/,
  /^npm (?:warn|WARN|notice|info)\b/,
  /^npm (?:error|ERR!)\s*(?:$|A complete log|Log files|You can rerun)/,
  /^\s*\d+: /,
  /^\s*(?:-{3,}|<---|={3,})/,
  /^goroutine \d|^exit status \d|^stack backtrace:/,
  /^During handling of|^The above exception/,
]
