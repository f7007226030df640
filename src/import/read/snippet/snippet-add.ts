import { HTTP_URL } from './snippet-definition.ts'
import { listed, refusal } from './snippet-error.ts'
import type { Named } from './snippet-find.ts'
import { fromJson } from './snippet-link.ts'
import { asArguments, NEEDS_SHELL, needsShell, type Word } from './snippet-shell.ts'

type Option = 'env' | 'header' | 'type' | 'url' | 'token' | 'other'

/** The options of `claude|codex|gemini|… mcp add` with a value. All others are switches. */
const OPTIONS: Readonly<Record<string, Option>> = {
  '-e': 'env',
  '--env': 'env',
  '-H': 'header',
  '--header': 'header',
  '-t': 'type',
  '--transport': 'type',
  '--type': 'type',
  '--url': 'url',
  '--bearer-token-env-var': 'token',
  '-s': 'other',
  '--scope': 'other',
  '--timeout': 'other',
  '--description': 'other',
  '--include-tools': 'other',
  '--exclude-tools': 'other',
  '--client-id': 'other',
  '--callback-port': 'other',
}
/** Ignored without a note: the scope has no meaning here. */
const SILENT = new Set(['-s', '--scope'])
const PAIR = /^([A-Za-z_]\w*)=(.*)$/s
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
export function readAdd(words: readonly Word[]): Named[] {
  const { positional, launch, env, headers, given, ignored } = parseAdd(
    words.slice(3),
    words[2]?.text === 'add-json',
  )
  const nameless = positional.length === 1 && HTTP_URL.test(positional[0] ?? '')
  const [name, target] = nameless ? [undefined, positional[0]] : positional
  if (words[2]?.text === 'add-json') {
    return fromJson(name, target ?? '', 'Cannot parse the JSON in the command; check its quotes')
  }
  const notes = ignored.length > 0 ? [`Unsupported options were ignored: ${listed(ignored)}`] : []
  const url = given.get('url') ?? target
  const type = given.get('type')
  if (url !== undefined && launch.length === 0) {
    const token = given.has('token') ? { bearer_token_env_var: given.get('token') } : {}
    const value = {
      url,
      ...(type === undefined ? {} : { type }),
      headers: Object.fromEntries(headers),
      ...token,
    }
    return [{ name, value, notes }]
  }
  if (needsShell(launch)) return [{ name, value: undefined, refuse: NEEDS_SHELL }]
  const [command, ...args] = asArguments(launch)
  if (command === undefined) {
    return [
      { name, value: undefined, refuse: 'The command has neither a program nor a url; add one of them' },
    ]
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
      const option = Object.hasOwn(OPTIONS, flag) ? OPTIONS[flag] : undefined
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
  const shape = option === 'env' ? PAIR : HEADER
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
  const pair = (option === 'env' ? PAIR : HEADER).exec(value)
  if (!pair && option === 'env') throw refusal('An env option has no value; write it as NAME=value')
  if (!pair) throw refusal('A header option has no value; write it as "Name: value"')
  const list = option === 'env' ? parsed.env : parsed.headers
  list.push([pair[1] ?? '', pair[2] ?? ''])
}

/** Only the name, because a value may follow an equal sign or a short option. */
function optionName(flag: string): string {
  return /^--[a-z][\w-]*$/i.test(flag) ? flag : flag.slice(0, 2)
}
