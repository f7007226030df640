import type { Json } from '../formats/format.ts'
import { isMap, type JsonMap, valueAt } from '../formats/json-value.ts'
import type { Agent, TransportName } from './catalogue.schema.ts'
import type { Definition } from './definition.ts'
import { type Placeholder, pathsTo } from './entry-template.ts'
import { withoutCmd } from './windows-command.ts'

interface Found {
  readonly definition: Definition | null
  readonly problem: string | null
}

export function commandIn(agent: Agent, entry: JsonMap): Found {
  const asList = pathsTo(agent, 'stdio', 'command+args')
  const field = (asList[0] ?? pathsTo(agent, 'stdio', 'command')[0] ?? ['command']).join('.')
  const value = used(agent, 'stdio', asList.length > 0 ? 'command+args' : 'command', entry) ?? entry.command
  const words = Array.isArray(value) ? stringsOf(value) : stringsOf([value ?? null, ...argsIn(agent, entry)])
  const [command, ...args] = words ?? []
  if (!words || command === undefined || command === '') {
    return { definition: null, problem: `${agent.name} cannot read this entry's command` }
  }
  const env = mapIn(used(agent, 'stdio', 'env', entry))
  const folder = used(agent, 'stdio', 'cwd', entry)
  const cwd = typeof folder === 'string' ? folder : null
  const definition: Definition = { type: 'stdio', ...withoutCmd({ command, args }), env: env ?? {}, cwd }
  return { definition, problem: wrongField() ?? wrongKind() ?? (env ? null : wrongMap(agent, 'environment')) }

  function wrongField(): string | null {
    return valueAt(entry, field.split('.')) === undefined ? readsFrom(agent, 'the command', field) : null
  }
  function wrongKind(): string | null {
    if (asList.length > 0 === Array.isArray(value)) return null
    const kind =
      asList.length > 0
        ? 'a list of the program and its arguments'
        : 'a string, with the arguments in a separate list'
    return `${agent.name} ignores this entry: its command must be ${kind}`
  }
}

function argsIn(agent: Agent, entry: JsonMap): readonly Json[] {
  const args = used(agent, 'stdio', 'args', entry) ?? entry.args
  if (args === undefined || args === null) return []
  return Array.isArray(args) ? args : [args]
}

export function remoteIn(agent: Agent, type: Exclude<TransportName, 'stdio'>, entry: JsonMap): Found {
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

export function stringAt(entry: JsonMap, path: readonly string[]): string | undefined {
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
