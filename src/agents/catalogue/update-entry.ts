import type { Agent, System } from './agent-record.ts'
import { isMap, isSame, type Json, type JsonMap, valueAt } from './json-value.ts'
import { mapIn, readEntry, usedPath } from './read-entry.ts'
import type { Definition } from './server-definition.ts'
import {
  forWindows,
  isPlaceholder,
  keyOf,
  meaningOf,
  type Placeholder,
  pathsTo,
  TRANSPORTS,
  withoutCmd,
  writeEntry,
} from './write-entry.ts'

/** The new value of one field of an entry; undefined removes the field. */
export interface FieldChange {
  readonly field: readonly string[]
  readonly value: Json | undefined
}

/**
 * The fewest changes that turn the old entry into the new definition. Correct fields are not touched, and fields that
 * belong to the agent or its user (approvals, timeouts, OAuth) stay.
 */
export function updateOf(
  agent: Agent,
  name: string,
  old: Record<string, Json>,
  definition: Definition,
  os: System,
): FieldChange[] {
  const wanted = writeEntry(agent, name, definition, os)
  const nested = agent.nested && old[agent.nested.field]
  const before = readEntry(agent, name, old).definition
  if (!agent.nested || !isMap(nested)) return changes({ agent, name, old, wanted, before, definition, os })
  const { field } = agent.nested
  const inner = { ...wanted, type: agent.nested[definition.type] }
  const found = changes({ agent, name, old: nested, wanted: inner, before, definition, os })
  return found.map((change) => ({ ...change, field: [field, ...change.field] }))
}

interface Task {
  readonly agent: Agent
  readonly name: string
  readonly old: JsonMap
  readonly wanted: JsonMap
  readonly before: Definition | null
  readonly definition: Definition
  readonly os: System
}

function changes(task: Task): FieldChange[] {
  const { definition } = task
  return [
    ...typeChange(task),
    ...nameChange(task),
    ...(definition.type === 'stdio' ? commandChanges(task, definition) : plainChange(task, 'url')),
    ...plainChange(task, 'cwd'),
    ...mapChanges(task, 'env'),
    ...mapChanges(task, 'headers'),
    ...missing(task),
    ...leftovers(task),
  ]
}

/** The type is written if the transport changes, or if the current type means another transport. */
function typeChange({ agent, old, wanted, before, definition }: Task): FieldChange[] {
  const field = agent.typeField ?? 'type'
  const current = old[field]
  const word = wanted[field]
  const own = agent[definition.type]
  if (current === undefined && own?.untyped && before?.type === definition.type) return []
  if (current === word || (typeof current === 'string' && own?.types.includes(current))) return []
  if (word !== undefined) return [{ field: [field], value: word }]
  const sameMeaning = typeof current === 'string' && meaningOf(agent, current)?.transport === definition.type
  return sameMeaning ? [] : [{ field: [field], value: undefined }]
}

/** Goose shows `My Server` and stores it under `myserver`. The shown name belongs to its user. */
function nameChange({ agent, name, old, wanted, definition }: Task): FieldChange[] {
  const [field] = pathsTo(agent, definition.type, 'name')
  if (!field) return []
  const current = valueAt(old, field)
  const same = typeof current === 'string' && keyOf(agent, current) === keyOf(agent, name)
  return same ? [] : [{ field, value: valueAt(wanted, field) }]
}

type Stdio = Extract<Definition, { type: 'stdio' }>

function commandChanges(task: Task, { command, args }: Stdio): FieldChange[] {
  const { agent, old, wanted, before, os } = task
  const [list] = pathsTo(agent, 'stdio', 'command+args')
  const [single] = pathsTo(agent, 'stdio', 'command')
  const rightKind = list ? Array.isArray(valueAt(old, list)) : typeof valueAt(old, single ?? []) === 'string'
  const same = before?.type === 'stdio' && before.command === command && isSame(before.args, args)
  if (same && rightKind) return []
  if (list) return [{ field: list, value: valueAt(wanted, list) }]
  const [several] = pathsTo(agent, 'stdio', 'args')
  const written = isWrapped(task) && os === 'win32' ? forWindows({ command, args }) : undefined
  const first = written?.command ?? (single && valueAt(wanted, single))
  const rest = written?.args ?? (several && valueAt(wanted, several))
  return [...(single ? change(old, single, first) : []), ...(several ? change(old, several, rest) : [])]
}

/** An existing `cmd /c npx` on Windows is kept, even if this agent does not need it. */
function isWrapped({ agent, old }: Task): boolean {
  const [single] = pathsTo(agent, 'stdio', 'command')
  const [several] = pathsTo(agent, 'stdio', 'args')
  const command = single && valueAt(old, single)
  const args = several && valueAt(old, several)
  if (typeof command !== 'string' || !Array.isArray(args)) return false
  return withoutCmd({ command, args: args.map(String) }).command !== command
}

function plainChange({ agent, old, wanted, definition }: Task, placeholder: 'cwd' | 'url'): FieldChange[] {
  const [own] = pathsTo(agent, definition.type, placeholder)
  if (!own) return []
  return change(old, usedPath(agent, definition.type, placeholder, old) ?? own, valueAt(wanted, own))
}

/** Name by name, so that comments beside other variables stay. */
function mapChanges({ agent, old, wanted, definition }: Task, placeholder: 'env' | 'headers'): FieldChange[] {
  const [own] = pathsTo(agent, definition.type, placeholder)
  if (!own) return []
  const path = usedPath(agent, definition.type, placeholder, old) ?? own
  const current = valueAt(old, path)
  const value = valueAt(wanted, own)
  const strings = isMap(current) ? mapIn(current) : undefined
  if (!strings || !isMap(value) || Object.keys(value).length === 0) {
    const bothEmpty = strings && Object.keys(strings).length === 0 && (value === undefined || isMap(value))
    return bothEmpty ? [] : change(old, path, value)
  }
  const names = new Set([...Object.keys(value), ...Object.keys(strings)])
  return [...names].flatMap((name) => {
    const after = Object.hasOwn(value, name) ? value[name] : undefined
    const before = Object.hasOwn(strings, name) ? strings[name] : undefined
    return after === before ? [] : [{ field: [...path, name], value: after }]
  })
}

function change(old: JsonMap, field: readonly string[], value: Json | undefined): FieldChange[] {
  const current = valueAt(old, field)
  const nothingToDo = isSame(current, value) || (value === undefined && isNothing(current))
  return nothingToDo ? [] : [{ field, value }]
}

function isNothing(value: Json | undefined): boolean {
  return value === null || (Array.isArray(value) && value.length === 0)
}

/** Required fields that the old entry lacks. */
function missing({ agent, old, wanted, definition }: Task): FieldChange[] {
  const transport = agent[definition.type]
  if (!transport) return []
  const fields = transport.required.filter(
    (field) => !isPlaceholder(transport.entry[field]) && field !== agent.typeField,
  )
  return fields
    .filter((field) => old[field] === undefined && wanted[field] !== undefined)
    .map((field) => ({ field: [field], value: wanted[field] }))
}

const COMMON = { stdio: ['command', 'args', 'env', 'cwd'], remote: ['url', 'headers'] } as const

/** Fields of other transports. Some agents reject their whole file if an entry has both a command and a URL. */
function leftovers({ agent, old, before, definition }: Task): FieldChange[] {
  const changed = before !== null && before.type !== definition.type
  const others = TRANSPORTS.filter((name) => name !== definition.type).flatMap((name) =>
    fieldsOf(agent, name),
  )
  const common = changed ? COMMON[before.type === 'stdio' ? 'stdio' : 'remote'].map((field) => [field]) : []
  const paths = new Map([...others, ...common].map((path) => [path.join('\0'), path]))
  for (const path of fieldsOf(agent, definition.type)) paths.delete(path.join('\0'))
  // Goose supports `envs` for a URL too. It is removed only if it is left over from a command.
  const kept = changed ? {} : (agent[definition.type]?.entry ?? {})
  return [...paths.values()]
    .filter((path) => valueAt(old, path) !== undefined && !Object.hasOwn(kept, path[0] ?? ''))
    .map((path) => ({ field: withEmptyParent(old, path), value: undefined }))
}

function fieldsOf(agent: Agent, transport: Definition['type']): (readonly string[])[] {
  const placeholders: Placeholder[] = ['command', 'args', 'command+args', 'env', 'cwd', 'url', 'headers']
  return placeholders.flatMap((each) => pathsTo(agent, transport, each))
}

/** A map such as `requestOptions` is removed with its last field. */
function withEmptyParent(old: JsonMap, path: readonly string[]): readonly string[] {
  const parent = path.slice(0, -1)
  const around = valueAt(old, parent)
  return parent.length > 0 && isMap(around) && Object.keys(around).length === 1 ? parent : path
}
