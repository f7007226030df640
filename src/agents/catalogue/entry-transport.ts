import { type JsonMap, valueAt } from '../formats/json-value.ts'
import type { Agent, TransportName } from './catalogue.schema.ts'
import { meaningOf, pathsTo, TRANSPORTS } from './entry-template.ts'
import { stringAt } from './read-fields.ts'
import { unsupportedTransport } from './write-entry.ts'

interface Found {
  /** Undefined if there is neither a command nor a URL. */
  readonly transport: TransportName | undefined
  readonly problem: string | null
}

/** The transport of an entry, from its type field and from the fields that it has. */
export function transportIn(agent: Agent, entry: JsonMap): Found {
  const present = transportsIn(agent, entry)
  const [first] = present
  if (!first) {
    return { transport: undefined, problem: `The entry has no command and no URL for ${agent.name}` }
  }
  const word = entry[agent.typeField ?? 'type']
  const found =
    typeof word === 'string' ? byType(agent, present, first, word) : byFields(agent, present, first)
  const both = present.includes('stdio') && present.length > 1
  const conflict = both
    ? `The entry has a command and a URL, and ${agent.name} accepts only one of them`
    : null
  const { transport } = found
  return { transport, problem: unsupported(agent, transport) ?? conflict ?? found.problem }
}

interface Guess {
  readonly transport: TransportName
  readonly problem: string | null
}

function byFields(agent: Agent, present: readonly TransportName[], first: TransportName): Guess {
  const untyped = present.find((name) => agent[name]?.untyped)
  if (untyped) return { transport: untyped, problem: null }
  return {
    transport: first,
    problem: `${agent.name} ignores an entry without '${agent.typeField ?? 'type'}'`,
  }
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

function unsupported(agent: Agent, transport: TransportName): string | null {
  return agent[transport] ? null : unsupportedTransport(agent, transport)
}

/**
 * Transports whose field exists under a name that this agent reads. Otherwise under the names that most agents use,
 * for an entry that was copied from one of them.
 */
export function transportsIn(agent: Agent, entry: JsonMap): TransportName[] {
  const has = (name: TransportName, hole: 'command' | 'command+args' | 'url') =>
    pathsTo(agent, name, hole).some((path) => valueAt(entry, path) !== undefined)
  const own = TRANSPORTS.filter(
    (name) => has(name, 'command') || has(name, 'command+args') || has(name, 'url'),
  )
  if (own.length > 0) return own
  if (entry.command !== undefined) return ['stdio']
  return stringAt(entry, ['url']) === undefined ? [] : ['http', 'sse']
}
