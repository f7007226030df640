import type { Agent, System, Transport, TransportName } from './agent-record.ts'
import { isMap, type Json, type JsonMap, PROTOTYPE_NAMES } from './json-value.ts'
import { type Definition, NotSupported } from './server-definition.ts'

/** The entry in the notation of this agent. Throws `NotSupported` if its file cannot express the definition. */
export function writeEntry(
  agent: Agent,
  name: string,
  definition: Definition,
  os: System,
): Record<string, Json> {
  const transport = transportFor(agent, definition)
  const values = valuesOf(agent, name, definition, os)
  return fill(transport.entry, values, [...transport.required, ...transport.always]) ?? {}
}

function transportFor(agent: Agent, definition: Definition): Transport {
  const transport = agent[definition.type]
  if (!transport) throw new NotSupported(unsupportedTransport(agent, definition.type))
  const hasFolder = definition.type === 'stdio' && definition.cwd !== null
  if (hasFolder && !Object.values(transport.entry).includes('<cwd>')) {
    throw new NotSupported(
      `${agent.name} does not support a working folder. Leave out 'cwd' and use absolute paths in the command and its arguments`,
    )
  }
  return transport
}

const TRANSPORT_NAMES = { stdio: 'local commands', http: 'Streamable HTTP', sse: 'SSE' } as const

export function unsupportedTransport(agent: Agent, type: Definition['type']): string {
  const advice = agent.advice ?? 'Use a local command that connects to the server'
  return `${agent.name} does not support ${TRANSPORT_NAMES[type]} in its file. ${advice}`
}

type Values = Readonly<Record<string, Json>>

function valuesOf(agent: Agent, name: string, definition: Definition, os: System): Values {
  if (definition.type !== 'stdio') return { name, url: definition.url, headers: { ...definition.headers } }
  const { command, args } = agent.needsCmd && os === 'win32' ? forWindows(definition) : definition
  const { env, cwd } = definition
  return { name, command, args: [...args], 'command+args': [command, ...args], env: { ...env }, cwd }
}

/** Undefined if all its placeholders are empty. */
function fill(template: JsonMap, values: Values, kept: readonly string[]): Record<string, Json> | undefined {
  const fields = Object.entries(template).flatMap(([field, value]): [string, Json][] => {
    const filled = fillOne(value, values)
    if (filled === undefined) return []
    const left = isEmpty(filled) && isPlaceholder(value) && !kept.includes(field)
    return left ? [] : [[field, filled]]
  })
  return fields.length === 0 && Object.keys(template).length > 0 ? undefined : Object.fromEntries(fields)
}

function fillOne(value: Json, values: Values): Json | undefined {
  if (isPlaceholder(value)) return values[value.slice(1, -1)]
  return isMap(value) ? fill(value, values, []) : value
}

function isEmpty(value: Json): boolean {
  return value === null || (typeof value === 'object' && Object.keys(value).length === 0)
}

export type Placeholder = 'name' | 'command' | 'args' | 'command+args' | 'env' | 'cwd' | 'url' | 'headers'

export const TRANSPORTS: readonly TransportName[] = ['stdio', 'http', 'sse']

/** Common names of the transports. An agent may accept only some of them. */
const TYPE_NAMES: Readonly<Record<string, TransportName>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamable_http: 'http',
  streamableHttp: 'http',
  remote: 'http',
  sse: 'sse',
}

/** The path of each placeholder in a template. */
export function placeholdersIn({ entry }: Transport): ReadonlyMap<Placeholder, readonly string[]> {
  const placeholders = new Map<Placeholder, readonly string[]>()
  const look = (value: Json, path: readonly string[]) => {
    if (isPlaceholder(value)) placeholders.set(value.slice(1, -1) as Placeholder, path)
    if (isMap(value)) for (const [name, inner] of Object.entries(value)) look(inner, [...path, name])
  }
  look(entry, [])
  return placeholders
}

/** The paths where a value may be, the one to write first. Aliases are at the top of the entry. */
export function pathsTo(
  agent: Agent,
  transport: TransportName,
  placeholder: Placeholder,
): readonly (readonly string[])[] {
  const fields = agent[transport]
  if (!fields) return []
  const own = placeholdersIn(fields).get(placeholder)
  const aliases = (fields.aliases as Readonly<Record<string, readonly string[]>>)[placeholder] ?? []
  return [...(own ? [own] : []), ...aliases.map((alias) => [alias])]
}

/** The transport that a type name means to this agent, or else commonly. */
export function meaningOf(
  agent: Agent,
  word: string,
): { transport: TransportName; accepted: boolean } | undefined {
  const own = TRANSPORTS.find((name) => agent[name]?.types.includes(word))
  if (own) return { transport: own, accepted: true }
  const common = Object.hasOwn(TYPE_NAMES, word) ? TYPE_NAMES[word] : undefined
  return common && { transport: common, accepted: agent.typeField === null }
}

export function isPlaceholder(value: Json | undefined): value is string {
  return typeof value === 'string' && /^<[a-z+]+>$/.test(value)
}

interface Command {
  readonly command: string
  readonly args: readonly string[]
}

/** On Windows these are `.cmd` files, which need a shell. */
const SCRIPTS = ['npx', 'npm', 'pnpm', 'yarn', 'bunx']

export function forWindows({ command, args }: Command): Command {
  return SCRIPTS.includes(command) ? { command: 'cmd', args: ['/c', command, ...args] } : { command, args }
}

/** The reverse, on every system, because files are shared between computers. */
export function withoutCmd({ command, args }: Command): Command {
  const [flag = '', script = '', ...rest] = args
  const wrapped = /^cmd(\.exe)?$/i.test(command) && /^\/c$/i.test(flag) && SCRIPTS.includes(script)
  return wrapped ? { command: script, args: rest } : { command, args }
}

const MAX_NAME = 128

/** Why an entry of this agent cannot have this name; null if it can. The message never repeats unsafe characters. */
export function checkName(agent: Agent, name: string): string | null {
  if (name === '' || keyOf(agent, name) === '') return 'A server name must not be empty'
  if (name.length > MAX_NAME) return `A server name must not be longer than ${MAX_NAME} characters`
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the pattern finds
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(name)) {
    return 'A server name must not contain control characters or line breaks'
  }
  if (!name.isWellFormed()) return 'A server name must be valid Unicode'
  const key = keyOf(agent, name)
  if (PROTOTYPE_NAMES.includes(key)) return `'${key}' cannot be used as a server name. Choose another name`
  if (agent.reservedNames.includes(key)) {
    return `'${key}' has a special meaning in ${agent.name}'s file. Choose another name`
  }
  return null
}

/** The key of the entry in the file. */
export function keyOf(agent: Agent, name: string): string {
  return agent.nameRule === 'as-is' ? name : name.toLowerCase().replace(/\s+/g, '')
}
