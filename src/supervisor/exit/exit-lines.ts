import { stripVTControlCharacters } from 'node:util'

/** Something in the output that may name the cause. */
export interface Saying {
  /** The decisive line as it stood there, with those that belong to its sentence. */
  readonly quote: string
  /** The quote and what stood around it: the code of the error, its cause, who required the module. */
  readonly text: string
}

const MAX_LINE_CHARACTERS = 2000
const MAX_TEXT_CHARACTERS = 4000

/** What the lines say about the end, the most telling first. */
export function sayings(raw: readonly string[]): Saying[] {
  const lines = raw.flatMap(readable)
  // What ended the program by its own report leaves no room for other lines.
  const last = uncaught(lines) ?? pythonTraceback(lines) ?? panic(lines)
  if (last) return [last]
  const shaped = [nodeTrace(lines), npmErrors(lines), indentedReport(lines), zodIssue(lines)].filter(
    (found) => !!found,
  )
  const plain = lines.filter((line) => !DECORATION.some((pattern) => pattern.test(line))).reverse()
  const telling = [
    ...plain.filter((line) => TELLING.test(line)),
    ...plain.filter((line) => !TELLING.test(line)),
  ]
  const usage = plain.length === 0 ? lines.filter((line) => USAGE.test(line)).slice(0, 1) : []
  return [...shaped, ...[...telling, ...usage].map((line) => saying([line]))]
}

function readable(raw: string): string[] {
  const text = stripVTControlCharacters(raw.slice(0, MAX_LINE_CHARACTERS))
  return text.split(/[\r\n\u2028\u2029]/).filter((line) => line.trim() !== '')
}

function saying(sentence: readonly string[], around: readonly string[] = [], glue = ' '): Saying {
  const quote = sentence.map((line) => line.trim()).join(glue)
  const text = [quote, ...around.map((line) => line.trim())].join(' ')
  return { quote, text: text.slice(0, MAX_TEXT_CHARACTERS) }
}

/** Node prints its version last when an error was not caught. */
function uncaught(lines: readonly string[]): Saying | undefined {
  const end = lines.findLastIndex((line) => /^Node\.js v\d/.test(line))
  return end < 0 ? undefined : errorBefore(lines, end)
}

/** An error that the program caught and printed with its stack. */
function nodeTrace(lines: readonly string[]): Saying | undefined {
  const frame = lines.findLastIndex((line) => /^ {4}at /.test(line))
  return frame < 0 ? undefined : errorBefore(lines, frame)
}

const ERROR_HEAD =
  /^(?:Uncaught |\[)?[\w.$]{0,80}(?:Error|Exception|Rejection)(?: \[[\w-]{1,60}\])?(?::|$)|^\S.{0,200}?\b[A-Z]?[\w.$]{0,60}Error(?: \[[\w-]{1,60}\])?: /
const END_OF_SENTENCE = /^\s+at |^Require stack:|^Emitted |^Node\.js v|^ {2}\[?\w+\]?: |^}/

/** `Error: …` stands above its stack; a message of several lines goes on until the stack begins. */
function errorBefore(lines: readonly string[], end: number): Saying | undefined {
  const head = lines.slice(0, end).findLastIndex((line) => ERROR_HEAD.test(line))
  if (head < 0) return undefined
  const after = lines.slice(head + 1)
  const stop = after.findIndex((line) => END_OF_SENTENCE.test(line))
  const cause = after.find((line) => /^ {2}\[cause\]: /.test(line))
  const sentence = lines.slice(head, head + 1 + Math.max(0, stop))
  const around = after.filter((line) => /^\s+code: '|^- /.test(line)).slice(0, 4)
  return saying(cause === undefined ? sentence : [...sentence, cause], around)
}

/** The first line that is not indented after the last `File "…", line 1` is the exception. */
function pythonTraceback(raw: readonly string[]): Saying | undefined {
  const lines = raw.map((line) => line.replace(/^ +[|+] /, '')) // an exception group draws a tree
  const frame = lines.findLastIndex((line) => /^Traceback \(most|^ {2}File ".{1,500}, line \d+/.test(line))
  const head = lines.findIndex((line, index) => index > frame && /^\S/.test(line))
  if (frame < 0 || head < 0) return undefined
  const goesOn = /:$|\bvalidation errors? for /.test(lines[head] ?? '')
  return saying(lines.slice(head, head + (goesOn ? 3 : 1)))
}

/** Of Rust the place and, since 1.73 on a line of its own, the message; of Go one line above its goroutines. */
function panic(lines: readonly string[]): Saying | undefined {
  const rust = lines.findLastIndex((line) => /^thread '.{0,200}panicked at /.test(line))
  if (rust >= 0) return saying(lines.slice(rust, rust + (lines[rust]?.endsWith(':') ? 2 : 1)))
  const go = lines.find((line) => /^(?:panic|fatal error): /.test(line))
  return go !== undefined && lines.some((line) => /^goroutine \d/.test(line)) ? saying([go]) : undefined
}

const NPM = /^npm (?:error|ERR!) /
const NPM_BOOKKEEPING =
  /^npm (?:error|ERR!) +(?:code|errno|syscall|path|command|at|engine Unsupported|Lifecycle|A complete log|Log files|You can rerun)\b/

/** The code, and the first line with more than bookkeeping. */
function npmErrors(all: readonly string[]): Saying | undefined {
  const lines = all.filter((line) => NPM.test(line) && line.replace(NPM, '').trim() !== '')
  const code = lines.find((line) => /^\S+ \S+ code E\w/.test(line))
  // A script that failed said so itself, before npm repeats it.
  if (code?.endsWith('ELIFECYCLE')) return undefined
  const compiler = lines.find((line) => /gyp ERR! stack \w*Error/.test(line))
  const most = compiler ?? lines.find((line) => !NPM_BOOKKEEPING.test(line))
  const sentence = [code, most].filter((line) => line !== undefined)
  return sentence.length > 0 ? saying(sentence, lines, '; ') : undefined
}

/** uv, clap and cargo: `error: …` or `× …`, then indented lines that say more. */
function indentedReport(lines: readonly string[]): Saying | undefined {
  const head = lines.findLastIndex((line) => /^error: |^ {0,2}× /.test(line))
  if (head < 0) return undefined
  const after = lines.slice(head + 1, head + 6)
  const end = after.findIndex((line) => !/^ {2}/.test(line) || /^ +help: /.test(line))
  return saying(lines.slice(head, head + 1 + (end < 0 ? after.length : end)))
}

/** A long list of issues pushes the name of the error out of the lines that are kept. */
function zodIssue(lines: readonly string[]): Saying | undefined {
  const issue = lines.findIndex((line) => /^\s+path: \[ '/.test(line))
  return issue < 0 ? undefined : saying(lines.slice(issue, issue + 2))
}

const TELLING =
  /error|exception|fatal|fail|cannot|can't|could not|denied|refused|missing|require|not found|invalid|unable|must /i

/** How it is called: decisive only when nothing else stands there. */
export const USAGE = /^\s*usage:/i

/** Lines that stand around a cause and never are one. */
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
