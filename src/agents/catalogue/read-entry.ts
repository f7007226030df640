import type { Agent, TransportName } from './agent-record.ts'
import { isMap, type Json, type JsonMap, valueAt } from './json-value.ts'
import type { Definition } from './server-definition.ts'
import {
  meaningOf,
  type Placeholder,
  pathsTo,
  TRANSPORTS,
  unsupportedTransport,
  withoutCmd,
} from './write-entry.ts'

interface ReadEntry {
  /** Null if the entry defines no server. Also set for an entry that this agent ignores. */
  readonly definition: Definition | null
  /** Null if the entry has no flag. */
  readonly enabled: boolean | null
  /** Why this agent ignores the entry. Never contains a value of the file. */
  readonly problem: string | null
}

/** Without a definition and a problem the entry is not a tool server (for example an extension) and is ignored. */
export function readEntry(agent: Agent, name: string, value: Json): ReadEntry {
  if (!isMap(value)) {
    const problem = `${agent.name} requires an object with named fields`
    return { definition: null, enabled: null, problem }
  }
  const enabled = enabledIn(agent, value)
  if (agent.reservedNames.includes(name) || isForeign(agent, value)) {
    return { definition: null, enabled, problem: null }
  }
  const nested = agent.nested && value[agent.nested.field]
  const { definition, problems } = isMap(nested) ? readNested(agent, nested) : readFlat(agent, value)
  return { definition, enabled, problem: problems.find((each) => each !== null) ?? null }
}

function enabledIn(agent: Agent, entry: JsonMap): boolean | null {
  const { disabled } = agent
  if (disabled.kind !== 'entry-flag') return null
  return ![disabled, ...disabled.elsewhere].some((flag) => entry[flag.field] === flag.value)
}

function isForeign(agent: Agent, entry: JsonMap): boolean {
  const transports = transportsIn(agent, entry)
  return agent.foreign.some(({ field, values }) => {
    const value = entry[field]
    return values
      ? typeof value === 'string' && values.includes(value)
      : value !== undefined && transports.length === 0
  })
}

interface Findings {
  readonly definition: Definition | null
  readonly problems: readonly (string | null)[]
}

function readFlat(agent: Agent, entry: JsonMap): Findings {
  const { transport, problem } = transportIn(agent, entry)
  if (transport === undefined) return { definition: null, problems: [problem] }
  const found = transport === 'stdio' ? commandIn(agent, entry) : remoteIn(agent, transport, entry)
  const missing = agent[transport]?.required.find((field) => valueAt(entry, [field]) === undefined)
  const problems = [
    problem,
    found.problem,
    missing === undefined ? null : `${agent.name} ignores an entry without '${missing}'`,
    Object.entries(agent.mistakes).find(([field]) => entry[field] !== undefined)?.[1] ?? null,
  ]
  return { definition: found.definition, problems }
}

/** `{"transport": {"type": …}}` has the same fields one level deeper and always a type. */
function readNested(agent: Agent, inner: JsonMap): Findings {
  const transport = TRANSPORTS.find((name) => agent.nested?.[name] === inner.type)
  if (!transport) {
    return { definition: null, problems: [`${agent.name} does not support the 'type' inside this entry`] }
  }
  const found = transport === 'stdio' ? commandIn(agent, inner) : remoteIn(agent, transport, inner)
  return { definition: found.definition, problems: [found.problem] }
}

interface Found {
  readonly definition: Definition | null
  readonly problem: string | null
}

function commandIn(agent: Agent, entry: JsonMap): Found {
  const [list] = pathsTo(agent, 'stdio', 'command+args')
  const isList = list !== undefined
  const field = (list ?? pathsTo(agent, 'stdio', 'command')[0] ?? ['command']).join('.')
  const value = used(agent, 'stdio', isList ? 'command+args' : 'command', entry) ?? entry.command
  const words = Array.isArray(value) ? stringsOf(value) : stringsOf([value ?? null, ...argsIn(agent, entry)])
  const [command, ...args] = words ?? []
  if (!words || command === undefined || command === '') {
    return { definition: null, problem: `${agent.name} cannot read this entry's command` }
  }
  const env = mapIn(used(agent, 'stdio', 'env', entry))
  const folder = used(agent, 'stdio', 'cwd', entry)
  const cwd = typeof folder === 'string' ? folder : null
  const definition: Definition = { type: 'stdio', ...withoutCmd({ command, args }), env: env ?? {}, cwd }
  const kind = isList
    ? 'a list of the program and its arguments'
    : 'a string, with the arguments in a separate list'
  if (valueAt(entry, field.split('.')) === undefined)
    return { definition, problem: readsFrom(agent, 'the command', field) }
  if (isList !== Array.isArray(value))
    return { definition, problem: `${agent.name} ignores this entry: its command must be ${kind}` }
  return { definition, problem: env ? null : wrongMap(agent, 'environment') }
}

function argsIn(agent: Agent, entry: JsonMap): readonly Json[] {
  const args = used(agent, 'stdio', 'args', entry) ?? entry.args
  if (args === undefined || args === null) return []
  return Array.isArray(args) ? args : [args]
}

function remoteIn(agent: Agent, type: Exclude<TransportName, 'stdio'>, entry: JsonMap): Found {
  const like = agent[type] ? type : 'http' // an unsupported transport would use the same fields
  const [own] = pathsTo(agent, like, 'url')
  const address = used(agent, like, 'url', entry)
  const url = typeof address === 'string' ? address : stringAt(entry, ['url'])
  if (url === undefined) {
    return { definition: null, problem: `${agent.name} cannot read this entry's URL` }
  }
  const headers = mapIn(agent[like] ? used(agent, like, 'headers', entry) : entry.headers)
  const elsewhere = own && address === undefined ? readsFrom(agent, 'the URL', own.join('.')) : null
  const problem = elsewhere ?? (headers ? null : wrongMap(agent, 'headers'))
  return { definition: { type, url, headers: headers ?? {} }, problem }
}

/** The value of a field with several names. An agent that still accepts an old name prefers it. */
function used(
  agent: Agent,
  transport: TransportName,
  placeholder: Placeholder,
  entry: JsonMap,
): Json | undefined {
  const path = usedPath(agent, transport, placeholder, entry)
  return path && valueAt(entry, path)
}

export function usedPath(
  agent: Agent,
  transport: TransportName,
  placeholder: Placeholder,
  entry: JsonMap,
): readonly string[] | undefined {
  return pathsTo(agent, transport, placeholder).findLast((path) => valueAt(entry, path) !== undefined)
}

function stringAt(entry: JsonMap, path: readonly string[]): string | undefined {
  const value = valueAt(entry, path)
  return typeof value === 'string' ? value : undefined
}

/** Values as strings, because in YAML and TOML a port is a number. Undefined if it is not a map of scalars. */
export function mapIn(value: Json | undefined): Record<string, string> | undefined {
  if (value === undefined || value === null) return {}
  if (!isMap(value)) return undefined
  const strings = stringsOf(Object.values(value))
  return strings && Object.fromEntries(Object.keys(value).map((key, index) => [key, strings[index] ?? '']))
}

function stringsOf(values: readonly Json[]): string[] | undefined {
  const plain = values.every((value) => ['string', 'number', 'boolean'].includes(typeof value))
  return plain ? values.map(String) : undefined
}

function readsFrom(agent: Agent, what: string, field: string): string {
  return `${agent.name} ignores this entry: it reads ${what} from '${field}'`
}

function wrongMap(agent: Agent, what: string): string {
  return `${agent.name} cannot read this entry's ${what}: every value must be a string`
}

/** Undefined if there is neither a command nor a URL. */
interface Guess<T extends TransportName | undefined = TransportName> {
  readonly transport: T
  readonly problem: string | null
}

/** The transport of an entry, from its type field and from the fields that it has. */
function transportIn(agent: Agent, entry: JsonMap): Guess<TransportName | undefined> {
  const present = transportsIn(agent, entry)
  const [first] = present
  if (!first) {
    return { transport: undefined, problem: `The entry has no command and no URL for ${agent.name}` }
  }
  const word = entry[agent.typeField ?? 'type']
  const found =
    typeof word === 'string' ? byType(agent, present, first, word) : byFields(agent, present, first)
  const { transport } = found
  if (!agent[transport]) return { transport, problem: unsupportedTransport(agent, transport) }
  const conflict = `The entry has a command and a URL, and ${agent.name} accepts only one of them`
  const hasBoth = present.includes('stdio') && present.length > 1
  return { transport, problem: hasBoth ? conflict : found.problem }
}

function byFields(agent: Agent, present: readonly TransportName[], first: TransportName): Guess {
  const untyped = present.find((name) => agent[name]?.untyped)
  if (untyped) return { transport: untyped, problem: null }
  const problem = `${agent.name} ignores an entry without '${agent.typeField ?? 'type'}'`
  return { transport: first, problem }
}

function byType(agent: Agent, present: readonly TransportName[], first: TransportName, word: string): Guess {
  const field = agent.typeField ?? 'type'
  const meaning = meaningOf(agent, word)
  const unknown = `${agent.name} does not support this value of '${field}'`
  if (!meaning) return { transport: first, problem: unknown }
  const { transport, accepted } = meaning
  // The agent never uses a transport that it does not support, whatever the fields are.
  const missing = agent[transport] === null && first !== 'stdio'
  if (present.includes(transport) || missing) return { transport, problem: accepted ? null : unknown }
  const problem = `In this entry '${field}' contradicts the other fields. ${agent.name} uses the other fields`
  return { transport: first, problem }
}

/**
 * Transports whose field exists under a name that this agent reads. Otherwise under the names that most agents use,
 * for an entry that was copied from one of them.
 */
function transportsIn(agent: Agent, entry: JsonMap): TransportName[] {
  const has = (name: TransportName, hole: 'command' | 'command+args' | 'url') =>
    pathsTo(agent, name, hole).some((path) => valueAt(entry, path) !== undefined)
  const own = TRANSPORTS.filter(
    (name) => has(name, 'command') || has(name, 'command+args') || has(name, 'url'),
  )
  if (own.length > 0) return own
  if (entry.command !== undefined) return ['stdio']
  return stringAt(entry, ['url']) === undefined ? [] : ['http', 'sse']
}
