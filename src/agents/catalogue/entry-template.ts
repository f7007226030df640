import type { Json } from '../formats/format.ts'
import { isMap } from '../formats/json-value.ts'
import type { Agent, Transport, TransportName } from './catalogue.schema.ts'

/** The fields of a template: for each hole the path to it. */
export interface Shape {
  readonly transport: TransportName
  readonly holes: ReadonlyMap<Hole, readonly string[]>
}
export type Hole = 'name' | 'command' | 'args' | 'command+args' | 'env' | 'cwd' | 'url' | 'headers'

export const TRANSPORTS: readonly TransportName[] = ['stdio', 'http', 'sse']

/** What agents, and people, call the transports. Read everywhere; an agent may take only some of the words. */
const WORDS: Readonly<Record<string, TransportName>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamable_http: 'http',
  streamableHttp: 'http',
  remote: 'http',
  sse: 'sse',
}

export function shapeOf(transport: TransportName, { entry }: Transport): Shape {
  const holes = new Map<Hole, readonly string[]>()
  const look = (value: Json, path: readonly string[]) => {
    if (isHole(value)) holes.set(value.slice(1, -1) as Hole, path)
    if (isMap(value)) for (const [name, inner] of Object.entries(value)) look(inner, [...path, name])
  }
  look(entry, [])
  return { transport, holes }
}

/** The names under which a hole's value may stand, the written one first. Aliases stand at the top of the entry. */
export function pathsTo(agent: Agent, transport: TransportName, hole: Hole): readonly (readonly string[])[] {
  const fields = agent[transport]
  if (!fields) return []
  const own = shapeOf(transport, fields).holes.get(hole)
  const aliases = (fields.aliases as Readonly<Record<string, readonly string[]>>)[hole] ?? []
  return [...(own ? [own] : []), ...aliases.map((alias) => [alias])]
}

/** The transport that a word means: to this agent, or else to anybody. */
export function meaningOf(
  agent: Agent,
  word: string,
): { transport: TransportName; taken: boolean } | undefined {
  const own = TRANSPORTS.find((name) => agent[name]?.types.includes(word))
  if (own) return { transport: own, taken: true }
  const common = Object.hasOwn(WORDS, word) ? WORDS[word] : undefined
  return common && { transport: common, taken: agent.typeField === null }
}

export function isHole(value: Json | undefined): value is string {
  return typeof value === 'string' && /^<[a-z+]+>$/.test(value)
}
