import { withForwarded } from '../../translate/forwarded-variables.ts'
import type {
  Definition,
  HttpDefinition,
  StdioDefinition,
} from '../../translate/translate-definition-references.ts'
import { listed, refusal, shown } from './snippet-error.ts'
import { type Fields, field, HTTP_URL, isFields, urlIn } from './snippet-find-servers.ts'
import { hasPlaceholder, placeholderNote } from './snippet-placeholders.ts'
import { argumentWords, commandWords } from './snippet-shell.ts'

/** Values of `type` and `transport`, in lower case without hyphens and underscores. */
const KINDS: Readonly<Record<string, 'stdio' | HttpDefinition['transport'] | 'websocket'>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'streamable_http',
  streamablehttp: 'streamable_http',
  streamable: 'streamable_http',
  sse: 'sse',
  remote: 'auto',
  auto: 'auto',
  ws: 'websocket',
  websocket: 'websocket',
}
const ENV_KEYS = ['env', 'environment', 'envs'] as const
const HEADER_KEYS = ['headers', 'http_headers'] as const
const HEADER_HOLDERS = ['requestInit', 'requestOptions'] as const
const CWD_KEYS = ['cwd', 'workingDirectory', 'working_directory'] as const
const TYPE_KEYS = ['type', 'transport', 'transportType'] as const

/** Fields that are read elsewhere, or have a meaning only for their agent. They get no note. */
const SILENT = new Set(['name', 'source', 'enabled', 'disabled', ...TYPE_KEYS])
/** Fields that refer to a value elsewhere, which the user has to add. Most of them are references already. */
const ADVICE: Readonly<Record<string, string>> = {
  bearer_token_env_var: 'bearer_token_env_var was ignored: add the header Authorization with the token',
  bearer_token: 'bearer_token was ignored: add the header Authorization with the token',
  env_http_headers: 'env_http_headers was ignored: add the headers with their values',
  env_vars: 'env_vars was ignored: add the variables to env with their values',
  env_keys: 'env_keys was ignored: add the variables to env with their values',
  envFile: 'envFile was ignored: add the variables from the file to env',
}

interface ReadEntry {
  readonly definition: Definition
  /** False: it is disabled in the snippet. */
  readonly enabled: boolean
  readonly notes: string[]
}

/** Reads one entry in any agent's format. Throws an AppError with the reason if it cannot be imported. */
export function readEntry(value: unknown): ReadEntry {
  const fields = flat(value)
  const notes: string[] = []
  const used = new Set<string>(SILENT)
  const written = isHttp(fields, notes) ? readHttp(fields, used, notes) : readStdio(fields, used, notes)
  const { definition, fields: forwarded } = withForwarded(written, fields)
  for (const name of forwarded) used.add(name)
  const isOff = field(fields, 'disabled') === true || field(fields, 'enabled') === false
  if (isOff) notes.push('It is disabled in the snippet, and stays off')
  const unused = Object.keys(fields).filter((key) => !used.has(key))
  const advised = unused.filter((key) => Object.hasOwn(ADVICE, key))
  notes.push(...advised.map((key) => ADVICE[key] ?? ''))
  const dropped = unused.filter((key) => !advised.includes(key))
  if (dropped.length > 0) notes.push(`Unsupported fields were ignored: ${listed(dropped)}`)
  notes.push(...notesAbout(definition))
  return { definition, enabled: !isOff, notes }
}

/** Cline nests all fields in `transport`, older Zed nests them in `command`, and an entry may be only a URL. */
function flat(value: unknown): Fields {
  if (typeof value === 'string' && HTTP_URL.test(value.trim())) return { url: value }
  if (!isFields(value)) throw refusal('It is not an object; write {"command": …} or {"url": …}')
  const { transport, command } = Object.fromEntries(Object.entries(value)) as Fields
  let fields = value
  if (isFields(transport))
    fields = Object.assign(Object.create(null), fields, { transport: undefined }, transport)
  if (isFields(command)) {
    const { path, ...rest } = Object.fromEntries(Object.entries(command)) as Fields
    fields = Object.assign(Object.create(null), fields, rest, { command: path })
  }
  return fields
}

function isHttp(fields: Fields, notes: string[]): boolean {
  const hasCommand = (field(fields, 'command') ?? field(fields, 'cmd') ?? '') !== ''
  const hasUrl = urlIn(fields) !== undefined
  const kind = kindOf(fields, notes)
  if (kind === 'websocket')
    throw refusal('It uses WebSocket, which is not supported; use its http or sse address')
  if (!hasCommand && !hasUrl) throw refusal('It has neither a command nor a url; add one of them')
  if (!hasCommand || !hasUrl) return hasUrl
  if (kind === undefined) throw refusal('It has both a command and a url; remove one, or set type')
  return kind !== 'stdio'
}

function kindOf(fields: Fields, notes: string[]) {
  const written = TYPE_KEYS.map((key) => field(fields, key)).find((value) => typeof value === 'string')
  if (written === undefined) return undefined
  const kind = String(written)
    .toLowerCase()
    .replace(/[-_\s]/g, '')
  if (Object.hasOwn(KINDS, kind)) return KINDS[kind]
  notes.push('Its type is unknown and was ignored')
  return undefined
}

function readHttp(fields: Fields, used: Set<string>, notes: string[]): HttpDefinition {
  const found = urlIn(fields)
  const url = (found?.url ?? '').trim().replace(/^https?:/i, (scheme) => scheme.toLowerCase())
  if (/^https?:\/\/[^/?#\s]*@/i.test(url)) {
    throw refusal('Its url contains a user name or password; use a header instead')
  }
  if (!HTTP_URL.test(url) && !REFERENCE_FIRST.test(url))
    throw refusal('Its url is not an http or https URL; use the full URL')
  for (const key of [found?.key ?? '', ...HEADER_KEYS, ...HEADER_HOLDERS]) used.add(key)
  const kind = kindOf(fields, [])
  const fallback = found?.key === 'httpUrl' ? 'streamable_http' : 'auto' // Gemini uses httpUrl only for this
  const transport = kind === 'sse' || kind === 'streamable_http' ? kind : fallback
  if (kind === 'stdio')
    notes.push('Its type is stdio, but it has only a url, so it was imported as an HTTP server')
  return { type: 'http', url, transport, headers: textMap(headersIn(fields), 'header', notes) }
}

/** `${BASE_URL}/mcp` */
const REFERENCE_FIRST = /^\$\{[^{}\s]+\}\S*$/

function headersIn(fields: Fields): unknown {
  const direct = firstOf(fields, HEADER_KEYS)
  if (direct !== undefined) return direct
  const holder = firstOf(fields, HEADER_HOLDERS)
  return isFields(holder) ? field(holder, 'headers') : undefined
}

function readStdio(fields: Fields, used: Set<string>, notes: string[]): StdioDefinition {
  for (const key of ['command', 'cmd', 'args', ...ENV_KEYS]) used.add(key)
  const [command = '', ...args] = launchOf(fields, notes)
  if (command.trim() === '') throw refusal('Its command is empty; set it to the program to run')
  const kind = kindOf(fields, [])
  if (kind !== undefined && kind !== 'stdio') {
    notes.push('Its type is remote, but it has only a command, so it was imported as a STDIO server')
  }
  const env = textMap(firstOf(fields, ENV_KEYS), 'env', notes)
  const cwd = firstOf(fields, CWD_KEYS)
  if (typeof cwd !== 'string' || cwd === '') return { type: 'stdio', command, args, env }
  for (const key of CWD_KEYS) used.add(key)
  return { type: 'stdio', command, args, env, cwd }
}

/** The command and its arguments as one list, for every way in which agents divide them. */
function launchOf(fields: Fields, notes: string[]): string[] {
  const written = field(fields, 'command') ?? field(fields, 'cmd')
  const args = field(fields, 'args')
  if (Array.isArray(written)) return [...textList(written, 'command', notes), ...argsOf(args, notes)]
  if (typeof written !== 'string') throw refusal('Its command is not a string; set it to the program to run')
  const command = written.trim()
  if (args !== undefined && args !== null) return [command, ...argsOf(args, notes)]
  const words = commandWords(command)
  if (words.length > 1)
    notes.push('Its command was one string and was split into the program and its arguments')
  return words
}

function argsOf(args: unknown, notes: string[]): string[] {
  if (args === undefined || args === null) return []
  if (Array.isArray(args)) return textList(args, 'argument', notes)
  if (typeof args !== 'string') throw refusal('Its args are not a list; write them as ["first", "second"]')
  notes.push('Its args were one string and were split at spaces')
  return args.trim() === '' ? [] : argumentWords(args)
}

function firstOf(fields: Fields, keys: readonly string[]): unknown {
  return keys.map((key) => field(fields, key)).find((value) => value !== undefined && value !== null)
}

const MAX_EXACT = 10n ** 40n

/** env or headers as a map of strings. Numbers and booleans are converted, with a note. */
function textMap(value: unknown, what: 'env' | 'header', notes: string[]): Record<string, string> {
  if (value === undefined || value === null) return {}
  const map = what === 'env' ? 'env' : 'headers'
  if (!isFields(value)) throw refusal(`Its ${map} must be an object; write {"NAME": "value"}`)
  const pairs = Object.entries(value).map(([key, item]) => {
    if (key === '__proto__' || key === '') throw refusal(`Its ${map} contains an invalid name; rename it`)
    return [key, textOf(item, `${what} ${shown(key)}`)] as const
  })
  const converted = Object.keys(value).filter((key) => typeof value[key] !== 'string')
  if (converted.length > 0) notes.push(`${CONVERTED}: ${what} ${listed(converted)}`)
  return Object.fromEntries(pairs)
}
const CONVERTED = 'Values without quotes were converted to strings'

function textList(value: readonly unknown[], what: string, notes: string[]): string[] {
  const texts = value.map((item, index) => textOf(item, `${what} ${index + 1}`))
  const converted = value.flatMap((item, index) => (typeof item === 'string' ? [] : `${what} ${index + 1}`))
  if (converted.length > 0) notes.push(`${CONVERTED}: ${listed(converted)}`)
  return texts
}

function textOf(value: unknown, label: string): string {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'bigint' && value < MAX_EXACT && value > -MAX_EXACT) return String(value)
  if (typeof value === 'number' && Number.isFinite(value)) {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return String(value)
  }
  if (typeof value === 'number' || typeof value === 'bigint') {
    throw refusal(`The number in ${label} is too large to be exact; put it in quotes`)
  }
  if (value === null) throw refusal(`The value of ${label} is null; use a string or remove it`)
  throw refusal(`The value of ${label} is not a string; put it in quotes`)
}

const MAX_NOTES = 20

/** Notes for the user before a server is added. */
function notesAbout(definition: Definition): string[] {
  return [...programNotes(definition), ...placeholderNotes(definition)]
}

function programNotes(definition: Definition): string[] {
  if (definition.type === 'http') return []
  const { command, args } = definition
  const notes: string[] = []
  if (/^cmd(?:\.exe)?$/i.test(command))
    notes.push('cmd exists only on Windows; on other systems, use the program after /c')
  if (args.some((arg) => /^mcp-remote(?:@|$)/.test(arg))) {
    notes.push('mcp-remote only forwards to a url; you can add that url as an HTTP server instead')
  }
  return notes
}

/** One note for each value that is a placeholder or empty. */
function placeholderNotes(definition: Definition): string[] {
  const open = [...textsOf(definition)].filter(([, value]) => hasPlaceholder(value))
  const notes = open.map(([label]) => placeholderNote(label))
  const empty = definition.type === 'stdio' ? Object.entries(definition.env).filter(([, v]) => v === '') : []
  notes.push(...empty.map(([key]) => `env ${shown(key)} is empty`))
  if (notes.length <= MAX_NOTES) return notes
  return [
    ...notes.slice(0, MAX_NOTES),
    `${notes.length - MAX_NOTES} more values contain a placeholder or are empty`,
  ]
}

function* textsOf(definition: Definition): Generator<readonly [label: string, value: string]> {
  if (definition.type === 'http') {
    yield ['url', definition.url]
    for (const [key, value] of Object.entries(definition.headers)) yield [`header ${shown(key)}`, value]
    return
  }
  yield ['command', definition.command]
  for (const [index, value] of definition.args.entries()) yield [`argument ${index + 1}`, value]
  for (const [key, value] of Object.entries(definition.env)) yield [`env ${shown(key)}`, value]
  if (definition.cwd !== undefined) yield ['cwd', definition.cwd]
}
