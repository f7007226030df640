import { type JsonMap, valueAt } from '../formats/json-value.ts'
import type { Agent, TransportName } from './catalogue.schema.ts'
import { meaningOf, pathsTo, TRANSPORTS } from './entry-template.ts'
import { textAt } from './read-fields.ts'
import { whyNot } from './write-entry.ts'

interface Found {
  /** Undefined when there is neither a command nor a URL. */
  readonly transport: TransportName | undefined
  readonly problem: string | null
}

/** Which transport an entry means: what it says it is, held against the fields that it has. */
export function transportIn(agent: Agent, entry: JsonMap): Found {
  const present = transportsIn(agent, entry)
  const [first] = present
  if (!first) {
    return { transport: undefined, problem: `The entry has no command and no URL for ${agent.name}` }
  }
  const word = entry[agent.typeField ?? 'type']
  const found =
    typeof word === 'string' ? byWord(agent, present, first, word) : byFields(agent, present, first)
  const both = present.includes('stdio') && present.length > 1
  const twoThings = both ? `The entry has a command and a URL, and ${agent.name} expects one of them` : null
  const { transport } = found
  return { transport, problem: stranger(agent, transport) ?? twoThings ?? found.problem }
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

function byWord(agent: Agent, present: readonly TransportName[], first: TransportName, word: string): Guess {
  const field = agent.typeField ?? 'type'
  const meaning = meaningOf(agent, word)
  const unknown = `${agent.name} does not know what this entry's '${field}' says`
  if (!meaning) return { transport: first, problem: unknown }
  const said = meaning.transport
  // It will not speak a transport that it does not have, whatever the fields are.
  const missing = agent[said] === null && first !== 'stdio'
  if (present.includes(said) || missing) return { transport: said, problem: meaning.taken ? null : unknown }
  const problem = `In this entry '${field}' and the other fields contradict each other: ${agent.name} goes by the other fields`
  return { transport: first, problem }
}

function stranger(agent: Agent, transport: TransportName): string | null {
  return agent[transport] ? null : whyNot(agent, transport)
}

/**
 * Transports whose own field is there, under one of the names that this agent reads; else under the names that most
 * agents use, for an entry that was copied from one of them.
 */
export function transportsIn(agent: Agent, entry: JsonMap): TransportName[] {
  const has = (name: TransportName, hole: 'command' | 'command+args' | 'url') =>
    pathsTo(agent, name, hole).some((path) => valueAt(entry, path) !== undefined)
  const own = TRANSPORTS.filter(
    (name) => has(name, 'command') || has(name, 'command+args') || has(name, 'url'),
  )
  if (own.length > 0) return own
  if (entry.command !== undefined) return ['stdio']
  return textAt(entry, ['url']) === undefined ? [] : ['http', 'sse']
}
