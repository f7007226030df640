import { AppError } from '../../kernel/errors.ts'
import { type Definition, NotSupported } from '../catalogue/definition.ts'
import { switchOf } from '../catalogue/enable-switch.ts'
import { checkName, keyOf } from '../catalogue/entry-name.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import { updateOf } from '../catalogue/update-entry.ts'
import { writeEntry } from '../catalogue/write-entry.ts'
import type { Json, Path } from '../formats/format.ts'
import { hashOf, isMap, withValue } from '../formats/json-value.ts'
import { containersIn, type Entry, type Where } from '../read/read-entries.ts'
import type { Operation } from './apply-operations.ts'
import type { Wanted } from './desired-entry.ts'
import type { FileRecord, Owned } from './ownership.ts'

/** An operation on another file of the agent, such as its list of servers that are off. */
export interface Elsewhere extends Operation {
  readonly file: string
  readonly format: Where['place']['format']
  readonly dialect: Where['place']['dialect']
}

/** All that is to be done for one request, computed from one content of the file. */
export interface Plan {
  readonly operations: readonly Operation[]
  readonly elsewhere: readonly Elsewhere[]
  readonly entries: FileRecord['entries']
  readonly added: readonly string[]
  readonly updated: readonly string[]
  readonly removed: readonly string[]
  readonly warnings: readonly string[]
}

export interface Now {
  readonly root: Json | undefined
  readonly entries: readonly Entry[]
  readonly owned: FileRecord['entries']
}

interface Draft {
  operations: Operation[]
  elsewhere: Elsewhere[]
  owned: Map<string, Owned>
  added: string[]
  updated: string[]
  removed: string[]
  warnings: string[]
}

export function planSet(where: Where, now: Now, wanted: readonly Wanted[], replace: boolean): Plan {
  const draft = draftOf(now)
  for (const each of wanted) putEntry(where, now, each, draft)
  if (replace) {
    const kept = new Set(wanted.map(({ name }) => keyOf(where.agent, name)))
    for (const name of Object.keys(now.owned)) if (!kept.has(name)) takeOut(where, now, name, draft)
  }
  return planOf(draft)
}

/** Undefined names: all that we manage. */
export function planRemove(where: Where, now: Now, names: readonly string[] | undefined): Plan {
  const draft = draftOf(now)
  for (const name of names ?? Object.keys(now.owned)) takeOut(where, now, keyOf(where.agent, name), draft)
  return planOf(draft)
}

const draftOf = ({ owned }: Now): Draft => ({
  operations: [],
  elsewhere: [],
  owned: new Map(Object.entries(owned)),
  added: [],
  updated: [],
  removed: [],
  warnings: [],
})

const planOf = ({ owned, ...rest }: Draft): Plan => ({ ...rest, entries: Object.fromEntries(owned) })

function putEntry(where: Where, now: Now, wanted: Wanted, draft: Draft): void {
  const { agent } = where
  const problem = checkName(agent, wanted.name)
  if (problem !== null) throw notAName(problem)
  const key = keyOf(agent, wanted.name)
  const there = now.entries.find(({ name }) => name === key)
  const parked = draft.owned.get(key)?.parked ?? null
  const definition = wanted.definition(there?.definition ?? parkedDefinition(where, key, parked))
  const path = there?.path ?? newPath(where, now, key)
  const before = there?.value ?? parked
  let value = entryValue(where, wanted.name, before, definition)
  const isOff = wanted.enabled === false || (wanted.enabled === undefined && !there && parked !== null)
  const off = isOff || wanted.enabled === true ? switchTo(where, key, !isOff, path) : undefined
  if (off?.kind === 'in_entry') value = withValue(value, [off.field], off.value) as Json
  if (off?.kind === 'elsewhere') addElsewhere(where, off, draft)
  if (off?.kind === 'none' && isOff) {
    draft.warnings.push(`${off.reason}; the entry '${key}' is kept by Toolroom until it is enabled again`)
    if (there) draft.operations.push({ path, value: undefined })
    draft.owned.set(key, { server_id: wanted.server_id, hash: hashOf(value), parked: value })
    draft[there ? 'updated' : 'added'].push(key)
    return
  }
  const operations = there ? fieldChanges(path, there.value, value) : [{ path, value }]
  draft.operations.push(...operations)
  draft.owned.set(key, {
    server_id: wanted.server_id ?? draft.owned.get(key)?.server_id ?? null,
    hash: hashOf(value),
    parked: null,
  })
  if (!there) draft.added.push(key)
  else if (operations.length > 0 || off?.kind === 'elsewhere') draft.updated.push(key)
}

/** Everything the old entry says beyond our own fields stays: approvals, time limits, what we do not know. */
function entryValue(
  { agent, platform }: Where,
  name: string,
  before: Json | null,
  definition: Definition,
): Json {
  try {
    if (!isMap(before ?? undefined)) return writeEntry(agent, name, definition, platform.os)
    const changes = updateOf(agent, name, before as Record<string, Json>, definition, platform.os)
    return changes.reduce<Json>(
      (value, { field, value: next }) => withValue(value, field, next) ?? {},
      before as Json,
    )
  } catch (error) {
    if (error instanceof NotSupported) throw new AppError('not_supported', error.message)
    throw error
  }
}

/** Field by field, so that comments between the fields survive. */
function fieldChanges(path: Path, before: Json, after: Json, depth = 0): Operation[] {
  if (!isMap(before) || !isMap(after) || depth > 1)
    return hashOf(before) === hashOf(after) ? [] : [{ path, value: after }]
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name))
  return [
    ...gone.map((name) => ({ path: [...path, name], value: undefined })),
    ...Object.entries(after).flatMap(([name, value]) => {
      const old = Object.hasOwn(before, name) ? before[name] : undefined
      return old === undefined
        ? [{ path: [...path, name], value }]
        : fieldChanges([...path, name], old, value, depth + 1)
    }),
  ]
}

function takeOut(where: Where, now: Now, key: string, draft: Draft): void {
  const there = now.entries.find(({ name }) => name === key)
  if (!there && !draft.owned.has(key)) return
  if (there) {
    draft.operations.push({ path: there.path, value: undefined })
    const on = there.enabled === false ? switchTo(where, key, true, there.path) : undefined
    if (on?.kind === 'elsewhere') addElsewhere(where, on, draft)
  }
  draft.owned.delete(key)
  draft.removed.push(key)
}

/** In the words of the place where the entry really stands, if the agent looks for entries in several. */
function switchTo({ agent, place, platform, project }: Where, key: string, enabled: boolean, path: Path) {
  const keyPath = path.slice(0, -1).filter((step) => typeof step === 'string')
  return switchOf(agent, { ...place, keyPath }, key, enabled, platform, project)
}

function addElsewhere(
  where: Where,
  to: Extract<ReturnType<typeof switchTo>, { kind: 'elsewhere' }>,
  draft: Draft,
): void {
  if (to.path === where.place.path) draft.operations.push({ path: to.at, value: to.value })
  else
    draft.elsewhere.push({
      file: to.path,
      format: to.format,
      dialect: to.dialect,
      path: to.at,
      value: to.value,
    })
}

/** Where the agent's own entries are, if it looks in several places of the file. */
function newPath({ agent, place }: Where, { root }: Now, key: string): Path {
  const [found] = containersIn(agent, place, root)
  const at = found ?? place.keyPath
  return [...at, place.nameField === null ? key : { field: place.nameField, is: key }]
}

function parkedDefinition({ agent }: Where, key: string, parked: Json | null): Definition | null {
  return parked === null ? null : readEntry(agent, key, parked).definition
}

const notAName = (problem: string): AppError =>
  new AppError('invalid_input', problem, { errors: [{ path: '/servers', message: problem }] })
