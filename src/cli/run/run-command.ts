import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { type Config, readConfig } from '../../kernel/config/config.ts'
import { readFlags } from '../../kernel/config/up-flags.ts'
import { EXIT } from '../../kernel/exit-codes.ts'
import { columns, hanging } from './columns.ts'
import type { Command } from './command.ts'
import type { Answer, Context, Given, Value } from './command-context.ts'
import { Failure } from './failure.ts'
import {
  type Line,
  plain,
  type Span,
  type Style,
  styleOf,
  textOf,
  widthOf,
  writtenLine,
} from './printed-line.ts'
import { readGiven } from './read-arguments.ts'
import { findAddress } from './service-address.ts'
import { ServiceClient } from './service-client.ts'

/**
 * Runs a command: its answer goes to stdout, a failure to stderr with its exit code, or with `--json` to both. Resolves with
 * `help` if that is what the words ask for.
 */
export async function runCommand(
  command: Command,
  argv: readonly string[],
  { file, typed }: Main,
  subcommands: readonly string[] = [],
): Promise<'help' | undefined> {
  const { stdout, stderr, env } = process
  const wants = (flag: string) => argv.slice(0, endOfFlags(argv)).includes(flag)
  const isJson = wants('--json') || wants('--json=true')
  const errors = styleOf(stderr, env, wants('--ascii'))
  try {
    const given = readGiven(command, argv, subcommands)
    if (given === 'help') return given
    const run = await command.load?.()
    const style = styleOf(stdout, env, given.is('ascii'))
    const output = { given, isJson: given.is('json'), style, errors, typed }
    const { context, close } = contextOf(output, file)
    try {
      const answer = await run?.(context)
      if (answer) print(answer, output)
    } finally {
      close()
    }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { code, exit } = error
    const [detail, hint] = [typed(error.message), error.hint && typed(error.hint)]
    if (isJson) stdout.write(`${jsonText({ code, detail, hint })}\n`)
    stderr.write(writtenLine(`toolroom: ${plain(detail)}${hintText(hint)}`, errors))
    process.exitCode = EXIT[exit]
  }
  return undefined
}

interface Main {
  readonly file: string
  /** A text of ours with commands as they are typed on this computer. */
  readonly typed: (text: string) => string
}

interface Output extends Pick<Main, 'typed'> {
  readonly given: Given
  readonly isJson: boolean
  readonly style: Style
  /** The style of stderr. */
  readonly errors: Style
}

function contextOf({ given, isJson, style, errors, typed }: Output, mainFile: string) {
  const { stdout, stderr, env } = process
  let config: Config | undefined
  let service: ServiceClient | undefined
  const context: Context = {
    given,
    mainFile,
    get config() {
      config ??= configHere(mainFile)
      return config
    },
    get service() {
      service ??= new ServiceClient(given.flag('url'), context.config)
      return service
    },
    get api() {
      return context.service.api
    },
    terminal: { isTty: stdout.isTTY === true, width: style.width, typed },
    note: (line) => void stderr.write(writtenLine(typedLine(line, typed), errors)),
    emit: (json, line, row) => {
      if (isJson) stdout.write(`${jsonText(json)}\n`)
      else stdout.write(row && given.is('plain') ? plainRow(row) : writtenLine(line, style))
    },
    during: (phase, work) => during(phase, work, { stream: stderr, style: errors, env }),
    confirm: async (question) => {
      if (!given.is('yes')) await (await import('./ask-on-terminal.ts')).confirm(question)
    },
  }
  return { context, close: () => service?.close() }
}

/** The settings that the service of this user has, or would have with these flags of `up`. */
export const configHere = (mainFile: string, words: readonly string[] = []): Config =>
  readConfig({
    flags: readFlags(words),
    platform: { os: process.platform, home: homedir(), env: process.env },
    packageRoot: dirname(dirname(mainFile)),
  })

/** Whether a service uses the data folder of this user. */
export const isRunning = (mainFile: string): boolean =>
  findAddress(configHere(mainFile).folders.data) !== undefined

function print(answer: Answer, { given, isJson, style, errors, typed }: Output): void {
  const { stdout, stderr } = process
  const { json, title = [], table, next, exit, isVerbatim } = answer
  const lines = (answer.lines ?? []).map((line) => (isVerbatim ? line : typedLine(line, typed)))
  if (isJson) stdout.write(`${jsonText(json)}\n`)
  else if (given.is('plain')) stdout.write(plainRows(answer).map(plainRow).join(''))
  else {
    const shown = [...title, ...(table ? columns(table, style.width) : []), ...lines]
    stdout.write(shown.map((line) => writtenLine(line, style)).join(''))
  }
  if (next !== undefined && !isJson && stdout.isTTY && stderr.isTTY)
    for (const line of nextLines(typed(next), errors.width)) stderr.write(writtenLine(line, errors))
  if (exit !== undefined) process.exitCode = EXIT[exit]
}

/** `next: …    undo: …` on two lines where one is too short. */
const nextLines = (next: string, width = Number.POSITIVE_INFINITY): string[] =>
  widthOf(next) <= width ? [next] : next.split(/ {4}(?=undo: )/).flatMap((line) => hanging('', line, width))

const typedLine = (line: Line, typed: Main['typed']): Line =>
  typeof line === 'string'
    ? typed(line)
    : line.map((span) => {
        if (typeof span === 'string') return typed(span)
        return typeof span === 'object' && span !== null ? { text: typed(span.text), tone: span.tone } : span
      })

const plainRows = ({ plain: given, table, lines = [] }: Answer): readonly (readonly (Value | Span)[])[] =>
  given ?? table?.rows ?? lines.map((line) => [typeof line === 'string' ? line : line.map(textOf).join('')])

/** Tabs and line breaks within a value become spaces. */
const plainRow = (row: readonly (Value | Span)[]): string =>
  `${row.map((value) => plain(textOf(typeof value === 'boolean' ? String(value) : value))).join('\t')}\n`

/** JSON in which no character can move the cursor: a terminal may obey C1 controls and directional marks. */
const jsonText = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u007f-\u009f\p{Cf}\u2028\u2029]/gu, (found) =>
    Array.from(
      { length: found.length },
      (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join(''),
  )

/** A hint of the API is a sentence of its own. */
const hintText = (hint: string | null): string =>
  hint === null ? '' : `${/^[a-z]/.test(hint) ? ':' : '.'} ${plain(hint)}`

const endOfFlags = (argv: readonly string[]): number =>
  argv.includes('--') ? argv.indexOf('--') : argv.length

const SHOWN_AFTER_MS = 1000
const REFRESH_MS = 1000

interface Options {
  readonly stream: NodeJS.WriteStream
  readonly style: Style
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Waits for `work`, and shows the phase if that takes more than a second: on a terminal in one line with the elapsed time,
 * which is erased in the end, otherwise once.
 */
async function during<T>(phase: string, work: Promise<T>, { stream, style, env }: Options): Promise<T> {
  const startedAt = performance.now()
  const isLive = stream.isTTY && env.TERM !== 'dumb'
  let isShown = false
  const show = () => {
    const seconds = Math.floor((performance.now() - startedAt) / 1000)
    if (isLive) stream.write(`\r\u001b[K${writtenLine(`◐ ${phase} … ${seconds} s`, style).trimEnd()}`)
    else if (!isShown) stream.write(writtenLine(`${phase} …`, style))
    isShown = true
  }
  let timer = setTimeout(function tick() {
    show()
    timer = setTimeout(tick, REFRESH_MS)
  }, SHOWN_AFTER_MS)
  try {
    return await work
  } finally {
    clearTimeout(timer)
    if (isLive && isShown) stream.write('\r\u001b[K')
  }
}
