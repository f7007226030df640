import { AppError } from '../../../kernel/errors.ts'
import { listed, refusal } from './snippet-error.ts'
import { fromJson, HTTP_URL, type Named } from './snippet-find-servers.ts'
import { asArguments, NEEDS_SHELL, needsShell, type Word } from './snippet-shell.ts'

const PROMPT = String.raw`(?:(?:\$|>|%|PS [^>\n]{0,200}>)[ \t]+)?`
const ASSIGNED = String.raw`(?:[A-Za-z_]\w*=(?:"[^"\n]*"|'[^'\n]*'|[^\s"']*)[ \t]+)*`
const SCRIPT = String.raw`[^\n]*(?:[\\/]|\.[cm]?[jt]s\b|\.py\b|\.jar\b|\.dll\b|-m[ \t])`
/** Commands that start a server. Other commands of these programs install, build or pull. */
const LAUNCH = [
  String.raw`(?:npx|pnpx|bunx|uvx|dnx)[ \t]+(?!(?:--version|--help)\b)`,
  String.raw`(?:npm[ \t]+(?:exec|x)|(?:pnpm|yarn)[ \t]+dlx|bun[ \t]+(?:x|run)|pipx[ \t]+run|(?:deno|go)[ \t]+run)[ \t]`,
  String.raw`uv[ \t]+(?:--[\w-]+[ \t]+\S+[ \t]+){0,4}(?:run|tool[ \t]+run)[ \t]`,
  String.raw`(?:docker|podman)[ \t]+(?:(?:container[ \t]+)?(?:run|exec)|mcp[ \t]+gateway[ \t]+run)\b`,
  String.raw`(?:python[\d.]*|py)[ \t]+(?!-m[ \t]+(?:pip|venv|build|http\.server)\b)(?=${SCRIPT})`,
  String.raw`(?:node|java|dotnet|bun)[ \t]+(?=${SCRIPT})`,
  String.raw`cmd(?:\.exe)?[ \t]+\/[cC][ \t]`,
]
const ADD = String.raw`(?:claude|codex|gemini|qwen|copilot|amp|droid|grok|kimi)[ \t]+mcp[ \t]+add(?:-json)?[ \t]`
const EDITOR = String.raw`(?:code|code-insiders|codium|cursor|windsurf)[ \t]+--add-mcp[ \t=]`

const START = new RegExp(
  `[ \\t]*${PROMPT}(?:(?:env[ \\t]+)?${ASSIGNED}(?:${LAUNCH.join('|')})|${ADD}|${EDITOR})`,
  'y',
)
const PROMPT_WORD = /^(?:\$|>|%)$/
const ASSIGNMENT = /^([A-Za-z_]\w*)=(.*)$/s
/** Programs that add a server to an agent's file, or inspect one. */
const HELPERS =
  /^(?:@modelcontextprotocol\/inspector|@smithery\/cli|add-mcp|install-mcp|mcp-add|mcpm|@mcpmarket\/[\w-]+)(?:@.*)?$/

/** True if a command that starts or adds a server begins at this offset. */
export function startsCommand(text: string, at: number): boolean {
  START.lastIndex = at
  return START.test(text)
}

/** The server that a command line starts or adds. */
export function serversIn(words: readonly Word[]): Named[] {
  try {
    return read(withoutPrompt(words))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return [{ name: undefined, value: undefined, refuse: error.message }]
  }
}

function withoutPrompt(words: readonly Word[]): readonly Word[] {
  if (words[0]?.text === 'PS') return words.slice(words.findIndex(({ text }) => text.endsWith('>')) + 1)
  return PROMPT_WORD.test(words[0]?.text ?? '') ? words.slice(1) : words
}

function read(words: readonly Word[]): Named[] {
  if (words[1]?.text === 'mcp' && words[2]?.text.startsWith('add')) return readAdd(words)
  if (words[1]?.text.startsWith('--add-mcp')) return readEditor(words)
  return readLaunch(words)
}

/** `code --add-mcp '{"name": "x", "command": …}'` */
function readEditor(words: readonly Word[]): Named[] {
  const refuse = 'Cannot parse the JSON after --add-mcp; check its quotes'
  return words.flatMap(({ text }, index) => {
    if (text === '--add-mcp') return fromJson(undefined, words[index + 1]?.text ?? '', refuse)
    return text.startsWith('--add-mcp=') ? fromJson(undefined, text.slice('--add-mcp='.length), refuse) : []
  })
}

/** `KEY=value npx -y package` */
function readLaunch(words: readonly Word[]): Named[] {
  const all = asArguments(words)
  const rest = all[0] === 'env' ? all.slice(1) : all
  const first = rest.findIndex((word) => !ASSIGNMENT.test(word))
  const pairs = rest.slice(0, first).map((word) => ASSIGNMENT.exec(word)?.slice(1, 3) as [string, string])
  const [command, ...args] = rest.slice(first)
  const target = args.find((arg) => !arg.startsWith('-')) ?? ''
  if (HELPERS.test(target) && !args.includes('run')) {
    const refuse =
      "This command installs or inspects a server but does not start one; paste the server's configuration"
    return [{ name: undefined, value: undefined, refuse }]
  }
  return [{ name: undefined, value: { command, args, env: Object.fromEntries(pairs) } }]
}

type Option = 'env' | 'header' | 'type' | 'url' | 'token' | 'other'

/** The options of `claude|codex|gemini|… mcp add` with a value. All others are switches. */
const OPTIONS: ReadonlyMap<string, Option> = new Map([
  ...flags('env', '-e --env'),
  ...flags('header', '-H --header'),
  ...flags('type', '-t --transport --type'),
  ...flags('url', '--url'),
  ...flags('token', '--bearer-token-env-var'),
  ...flags('other', '-s --scope --timeout --description --include-tools --exclude-tools'),
  ...flags('other', '--client-id --callback-port'),
])
/** Ignored without a note: the scope has no meaning here. */
const SILENT = new Set(['-s', '--scope'])
const HEADER = /^([\w-]+):(?!\/\/)\s*(.*)$/s

interface Parsed {
  readonly positional: string[]
  readonly launch: readonly Word[]
  readonly env: [string, string][]
  readonly headers: [string, string][]
  readonly given: Map<Option, string>
  readonly ignored: string[]
}

/** `claude mcp add NAME [-e K=V] -- command args`, the same with a URL, or `add-json NAME JSON`. */
function readAdd(words: readonly Word[]): Named[] {
  const isJson = words[2]?.text === 'add-json'
  const { positional, launch, env, headers, given, ignored } = parseAdd(words.slice(3), isJson)
  const nameless = positional.length === 1 && HTTP_URL.test(positional[0] ?? '')
  const [name, target] = nameless ? [undefined, positional[0]] : positional
  if (isJson) return fromJson(name, target ?? '', 'Cannot parse the JSON in the command; check its quotes')
  const notes = ignored.length > 0 ? [`Unsupported options were ignored: ${listed(ignored)}`] : []
  const url = given.get('url') ?? target
  const type = given.get('type')
  if (url !== undefined && launch.length === 0) {
    const token = given.has('token') && { bearer_token_env_var: given.get('token') }
    const kind = type !== undefined && { type }
    return [{ name, value: { url, ...kind, headers: Object.fromEntries(headers), ...token }, notes }]
  }
  if (needsShell(launch)) return [{ name, value: undefined, refuse: NEEDS_SHELL }]
  const [command, ...args] = asArguments(launch)
  if (command === undefined) {
    const refuse = 'The command has neither a program nor a url; add one of them'
    return [{ name, value: undefined, refuse }]
  }
  // Without arguments, the command may be one string, as in: droid mcp add x "npx -y package".
  const value = { command, ...(args.length > 0 ? { args } : {}), env: Object.fromEntries(env) }
  return [{ name, value, notes }]
}

function parseAdd(words: readonly Word[], isJson: boolean): Parsed {
  const parsed: Parsed = { positional: [], launch: [], env: [], headers: [], given: new Map(), ignored: [] }
  for (let index = 0; index < words.length; index += 1) {
    const text = words[index]?.text ?? ''
    if (text === '--') return { ...parsed, launch: words.slice(index + 1) }
    if (/^-./.test(text)) {
      const [flag = '', inline] = text.startsWith('--') ? text.split(/=(.*)/s) : [text]
      const option = OPTIONS.get(flag)
      if (option !== undefined && inline === undefined) index += 1
      if (option !== undefined) take(parsed, option, inline ?? words[index]?.text ?? '')
      if ((option === undefined || option === 'other') && !SILENT.has(flag))
        parsed.ignored.push(optionName(flag))
      index += takeMore(parsed, option, words.slice(index + 1, index + 1 + MAX_MORE))
    } else if (parsed.positional.length === 1 && !isJson && !HTTP_URL.test(text)) {
      return { ...parsed, launch: words.slice(index) } // claude mcp add NAME npx -y package
    } else {
      parsed.positional.push(text)
    }
  }
  return parsed
}

const MAX_MORE = 32

/** Claude accepts several pairs after one -e, and several headers after one --header. */
function takeMore(parsed: Parsed, option: Option | undefined, next: readonly Word[]): number {
  if (option !== 'env' && option !== 'header') return 0
  const shape = option === 'env' ? ASSIGNMENT : HEADER
  const other = next.findIndex(({ text }) => !shape.test(text))
  const more = other === -1 ? next : next.slice(0, other)
  for (const { text } of more) take(parsed, option, text)
  return more.length
}

function take(parsed: Parsed, option: Option, value: string): void {
  if (option !== 'env' && option !== 'header') {
    parsed.given.set(option, value)
    return
  }
  const pair = (option === 'env' ? ASSIGNMENT : HEADER).exec(value)
  if (!pair && option === 'env') throw refusal('An env option has no value; write it as NAME=value')
  if (!pair) throw refusal('A header option has no value; write it as "Name: value"')
  const list = option === 'env' ? parsed.env : parsed.headers
  list.push([pair[1] ?? '', pair[2] ?? ''])
}

function flags(option: Option, names: string): [string, Option][] {
  return names.split(' ').map((name) => [name, option])
}

/** Only the name, because a value may follow an equal sign or a short option. */
function optionName(flag: string): string {
  return /^--[a-z][\w-]*$/i.test(flag) ? flag : flag.slice(0, 2)
}
