import type { Json } from '../formats/format.ts'
import { isMap, isSame, type JsonMap, valueAt } from '../formats/json-value.ts'
import type { Agent, System } from './catalogue.schema.ts'
import type { Definition } from './definition.ts'
import { keyOf } from './entry-name.ts'
import { type Hole, isHole, meaningOf, pathsTo, TRANSPORTS } from './entry-template.ts'
import { readEntry } from './read-entry.ts'
import { mapIn, usedPath } from './read-fields.ts'
import { forWindows, withoutCmd } from './windows-command.ts'
import { writeEntry } from './write-entry.ts'

/** One field of an entry and what it becomes; undefined takes it out. */
export interface FieldChange {
  readonly field: readonly string[]
  readonly value: Json | undefined
}

/**
 * The fewest changes that make the old entry say the new definition. What is right already is not touched, and what
 * belongs to the agent or its user (approvals, timeouts, OAuth) stays.
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

/** Written when the transport changes, or when what stands there means another one. */
function typeChange({ agent, old, wanted, before, definition }: Task): FieldChange[] {
  const field = agent.typeField ?? 'type'
  const said = old[field]
  const word = wanted[field]
  const own = agent[definition.type]
  if (said === undefined && own?.untyped && before?.type === definition.type) return []
  if (said === word || (typeof said === 'string' && own?.types.includes(said))) return []
  if (word !== undefined) return [{ field: [field], value: word }]
  const sameMeaning = typeof said === 'string' && meaningOf(agent, said)?.transport === definition.type
  return sameMeaning ? [] : [{ field: [field], value: undefined }]
}

/** Goose shows `My Server` and keeps it under `myserver`: the name it shows is its user's. */
function nameChange({ agent, name, old, wanted, definition }: Task): FieldChange[] {
  const [field] = pathsTo(agent, definition.type, 'name')
  if (!field) return []
  const said = valueAt(old, field)
  const same = typeof said === 'string' && keyOf(agent, said) === keyOf(agent, name)
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

/** Whoever wrote `cmd /c npx` on Windows had a reason, also where this agent would do without. */
function isWrapped({ agent, old }: Task): boolean {
  const [single] = pathsTo(agent, 'stdio', 'command')
  const [several] = pathsTo(agent, 'stdio', 'args')
  const command = single && valueAt(old, single)
  const args = several && valueAt(old, several)
  if (typeof command !== 'string' || !Array.isArray(args)) return false
  return withoutCmd({ command, args: args.map(String) }).command !== command
}

function plainChange({ agent, old, wanted, definition }: Task, hole: 'cwd' | 'url'): FieldChange[] {
  const [own] = pathsTo(agent, definition.type, hole)
  if (!own) return []
  return change(old, usedPath(agent, definition.type, hole, old) ?? own, valueAt(wanted, own))
}

/** Name by name, so that a comment beside another variable stays. */
function mapChanges({ agent, old, wanted, definition }: Task, hole: 'env' | 'headers'): FieldChange[] {
  const [own] = pathsTo(agent, definition.type, hole)
  if (!own) return []
  const path = usedPath(agent, definition.type, hole, old) ?? own
  const said = valueAt(old, path)
  const value = valueAt(wanted, own)
  const texts = isMap(said) ? mapIn(said) : undefined
  if (!texts || !isMap(value) || Object.keys(value).length === 0) {
    const bothEmpty = texts && Object.keys(texts).length === 0 && (value === undefined || isMap(value))
    return bothEmpty ? [] : change(old, path, value)
  }
  const names = new Set([...Object.keys(value), ...Object.keys(texts)])
  return [...names].flatMap((name) => {
    const after = Object.hasOwn(value, name) ? value[name] : undefined
    const before = Object.hasOwn(texts, name) ? texts[name] : undefined
    return after === before ? [] : [{ field: [...path, name], value: after }]
  })
}

function change(old: JsonMap, field: readonly string[], value: Json | undefined): FieldChange[] {
  const said = valueAt(old, field)
  const nothingToDo = isSame(said, value) || (value === undefined && isNothing(said))
  return nothingToDo ? [] : [{ field, value }]
}

function isNothing(value: Json | undefined): boolean {
  return value === null || (Array.isArray(value) && value.length === 0)
}

/** Fields without which the agent ignores the entry. */
function missing({ agent, old, wanted, definition }: Task): FieldChange[] {
  const transport = agent[definition.type]
  if (!transport) return []
  const fields = transport.required.filter(
    (field) => !isHole(transport.entry[field]) && field !== agent.typeField,
  )
  return fields
    .filter((field) => old[field] === undefined && wanted[field] !== undefined)
    .map((field) => ({ field: [field], value: wanted[field] }))
}

const COMMON = { stdio: ['command', 'args', 'env', 'cwd'], remote: ['url', 'headers'] } as const

/** What belongs to another transport. Some agents refuse their whole file when an entry has a command and a URL. */
function leftovers({ agent, old, before, definition }: Task): FieldChange[] {
  const changed = before !== null && before.type !== definition.type
  const others = TRANSPORTS.filter((name) => name !== definition.type).flatMap((name) =>
    fieldsOf(agent, name),
  )
  const common = changed ? COMMON[before.type === 'stdio' ? 'stdio' : 'remote'].map((field) => [field]) : []
  const paths = new Map([...others, ...common].map((path) => [path.join('\0'), path]))
  for (const path of fieldsOf(agent, definition.type)) paths.delete(path.join('\0'))
  // Goose has `envs` for a URL too, where it is its user's; what a command left in it is not.
  const kept = changed ? {} : (agent[definition.type]?.entry ?? {})
  return [...paths.values()]
    .filter((path) => valueAt(old, path) !== undefined && !Object.hasOwn(kept, path[0] ?? ''))
    .map((path) => ({ field: withEmptyParent(old, path), value: undefined }))
}

function fieldsOf(agent: Agent, transport: Definition['type']): (readonly string[])[] {
  const holes: Hole[] = ['command', 'args', 'command+args', 'env', 'cwd', 'url', 'headers']
  return holes.flatMap((hole) => pathsTo(agent, transport, hole))
}

/** `requestOptions` goes with its last field. */
function withEmptyParent(old: JsonMap, path: readonly string[]): readonly string[] {
  const parent = path.slice(0, -1)
  const around = valueAt(old, parent)
  return parent.length > 0 && isMap(around) && Object.keys(around).length === 1 ? parent : path
}
