import type { Json } from '../formats/format.ts'
import { isMap } from '../formats/json-value.ts'
import type { Agent, Transport, TransportName } from './catalogue.schema.ts'

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
