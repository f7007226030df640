import type { Json } from '../formats/format.ts'
import { isMap, type JsonMap } from '../formats/json-value.ts'
import type { Agent, System, Transport } from './catalogue.schema.ts'
import { type Definition, NotSupported } from './definition.ts'
import { isPlaceholder } from './entry-template.ts'
import { forWindows } from './windows-command.ts'

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
