import type { Json } from '../formats/format.ts'
import { isMap, type JsonMap, valueAt } from '../formats/json-value.ts'
import type { Agent } from './catalogue.schema.ts'
import type { Definition } from './definition.ts'
import { TRANSPORTS } from './entry-template.ts'
import { transportIn, transportsIn } from './entry-transport.ts'
import { commandIn, remoteIn } from './read-fields.ts'

export interface ReadEntry {
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
