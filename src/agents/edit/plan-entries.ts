import { AppError } from '../../kernel/errors.ts'
import type { ConfigFile } from '../catalogue/catalogue.ts'
import { type Switch, switchOf } from '../catalogue/enable-switch.ts'
import { GATEWAY_ENTRY } from '../catalogue/gateway-entry.ts'
import { hashOf, isMap, type Json, type Path, valueAt, withValue } from '../catalogue/json-value.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import { type Definition, NotSupported } from '../catalogue/server-definition.ts'
import { updateOf } from '../catalogue/update-entry.ts'
import { checkName, keyOf, writeEntry } from '../catalogue/write-entry.ts'

import type { ConfigTarget } from '../files/config-target.ts'
import type { FileRecord, OwnedEntry, TakenEntry } from '../files/ownership.ts'
import type { Content } from '../files/read-config.ts'
import type { Operation } from '../formats/config-format.ts'
import { containersIn, type Entry } from '../read/read-entries.ts'
import type { DesiredEntry } from './desired-entry.ts'

/** An operation on another file of the agent, such as its list of disabled servers. */
export interface OtherFileOperation extends Operation {
  readonly file: string
  readonly format: ConfigFile['format']
  readonly dialect: ConfigFile['dialect']
}

/** Everything that one request changes, computed from one content of the file. */
export interface Plan {
  /** Of the gateway entry and the entries that it replaces. They come first. */
  readonly gatewayOperations: readonly Operation[]
  readonly operations: readonly Operation[]
  readonly otherFiles: readonly OtherFileOperation[]
  /** The managed entries after the change. */
  readonly entries: FileRecord['entries']
  readonly added: readonly string[]
  readonly updated: readonly string[]
  readonly removed: readonly string[]
  /** The entries that the gateway entry replaces, after the change. */
  readonly taken: readonly TakenEntry[]
  /** Entries that this change takes over. */
  readonly takenNow: readonly string[]
  /** Entries that were taken over and are back in the file. */
  readonly restored: readonly string[]
  /** Entries whose tools the agent gets from the gateway, too. */
  readonly doubled: readonly Doubled[]
  readonly warnings: readonly string[]
  /** The bytes that the file gets instead of an edit; null removes it. */
  readonly exact?: Buffer | null | undefined
}

export interface Doubled {
  readonly name: string
  readonly server_id: string
  readonly tools: readonly string[]
}

/** The file before the change. */
export interface CurrentConfig {
  readonly content: Content | undefined
  readonly root: Json | undefined
  readonly entries: readonly Entry[]
  readonly owned: FileRecord['entries']
  readonly taken: readonly TakenEntry[]
}

interface Draft {
  gatewayOperations: Operation[]
  operations: Operation[]
  otherFiles: OtherFileOperation[]
  owned: Map<string, OwnedEntry>
  added: string[]
  updated: string[]
  removed: string[]
  taken: readonly TakenEntry[]
  restored: string[]
  warnings: string[]
}

/** Adds or updates the desired entries, and removes others: by name, or with `replace` all that are managed. */
export function planSet(
  target: ConfigTarget,
  current: CurrentConfig,
  desired: readonly DesiredEntry[],
  { replace, remove = [] }: { readonly replace: boolean; readonly remove?: readonly string[] | undefined },
): Plan {
  const draft = draftOf(current)
  for (const each of desired) putEntry(target, current, each, draft)
  for (const name of remove) removeEntry(target, current, keyOf(target.agent, name), draft)
  if (replace) {
    const kept = new Set(desired.map(({ name }) => keyOf(target.agent, name)))
    for (const name of Object.keys(current.owned))
      if (!kept.has(name)) removeEntry(target, current, name, draft)
  }
  return planOf(draft)
}

/** Without names, all managed entries are removed. */
export function planRemove(
  target: ConfigTarget,
  current: CurrentConfig,
  names: readonly string[] | undefined,
): Plan {
  const draft = draftOf(current)
  for (const name of names ?? managedIn(current))
    removeEntry(target, current, keyOf(target.agent, name), draft)
  return planOf(draft)
}

/**
 * Removes everything of ours, and returns what was parked. Entries that were there before us and that we have updated get
 * their former value from `originals`.
 */
export function planRestore(
  target: ConfigTarget,
  current: CurrentConfig,
  originals: ReadonlyMap<string, Json>,
): Plan {
  const draft = draftOf(current)
  for (const name of managedIn(current)) {
    const existing = current.entries.find((entry) => entry.name === name)
    const original = originals.get(name)
    if (!existing || original === undefined || name === GATEWAY_ENTRY)
      removeEntry(target, current, name, draft)
    else {
      const operations = fieldChanges(existing.path, existing.value, original)
      draft.operations.push(...operations)
      draft.owned.delete(name)
      if (operations.length > 0) draft.updated.push(name)
    }
  }
  restoreTaken(current, draft)
  return planOf(draft)
}

/** Those that were taken over come first: the gateway entry would bring them back. */
const managedIn = ({ owned, taken }: CurrentConfig): string[] => [
  ...taken.flatMap((entry) => (entry.owned ? [entry.name] : [])),
  ...Object.keys(owned),
]

const draftOf = ({ owned, taken }: CurrentConfig): Draft => ({
  gatewayOperations: [],
  operations: [],
  otherFiles: [],
  owned: new Map(Object.entries(owned)),
  added: [],
  updated: [],
  removed: [],
  taken,
  restored: [],
  warnings: [],
})

const planOf = ({ owned, ...rest }: Draft): Plan => ({
  ...rest,
  entries: Object.fromEntries(owned),
  takenNow: [],
  doubled: [],
})

function putEntry(target: ConfigTarget, current: CurrentConfig, desired: DesiredEntry, draft: Draft): void {
  const { agent } = target
  const problem = checkName(agent, desired.name)
  if (problem !== null) throw invalidName(problem)
  const key = keyOf(agent, desired.name)
  const existing = current.entries.find(({ name }) => name === key)
  const parked = draft.owned.get(key)?.parked ?? null
  const definition = desired.definition(existing?.definition ?? parkedDefinition(target, key, parked))
  const path = existing?.path ?? newPath(target, current, key)
  let value = entryValue(target, desired.name, existing?.value ?? parked, definition)
  const isOff = desired.enabled === false || (desired.enabled === undefined && !existing && parked !== null)
  const change = isOff || desired.enabled === true ? switchTo(target, key, !isOff, path) : undefined
  if (change?.kind === 'in_entry') value = withValue(value, [change.field], change.value) as Json
  if (change?.kind === 'elsewhere') addSwitch(target, change, draft)
  if (change?.kind === 'none' && isOff) {
    draft.warnings.push(`${change.reason}. Toolroom keeps the entry '${key}' until it is enabled again`)
    if (existing) operationsOf(draft, key).push({ path, value: undefined })
    draft.owned.set(key, { server_id: desired.server_id, hash: hashOf(value), parked: value })
    draft[existing ? 'updated' : 'added'].push(key)
    return
  }
  const operations = existing ? fieldChanges(path, existing.value, value) : [{ path, value }]
  operationsOf(draft, key).push(...operations)
  draft.owned.set(key, {
    server_id: desired.server_id ?? draft.owned.get(key)?.server_id ?? null,
    hash: hashOf(value),
    parked: null,
  })
  if (!existing) draft.added.push(key)
  else if (operations.length > 0 || change?.kind === 'elsewhere') draft.updated.push(key)
}

/** Fields of the old entry that are not part of a definition stay: approvals, timeouts, unknown fields. */
function entryValue(
  { agent, platform }: ConfigTarget,
  name: string,
  before: Json | null,
  definition: Definition,
): Json {
  try {
    if (!isMap(before)) return writeEntry(agent, name, definition, platform.os)
    return updateOf(agent, name, before, definition, platform.os).reduce<Json>(
      (value, { field, value: next }) => withValue(value, field, next) ?? {},
      before,
    )
  } catch (error) {
    if (error instanceof NotSupported) throw new AppError('not_supported', error.message)
    throw error
  }
}

/** Field by field, so that comments between the fields stay. */
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

function removeEntry(target: ConfigTarget, current: CurrentConfig, key: string, draft: Draft): void {
  const existing = current.entries.find(({ name }) => name === key)
  if (key === GATEWAY_ENTRY) restoreTaken(current, draft)
  else if (!existing) forgetTaken(target, key, draft)
  if (!existing && !draft.owned.has(key)) return
  if (existing) {
    operationsOf(draft, key).push({ path: existing.path, value: undefined })
    const change = existing.enabled === false ? switchTo(target, key, true, existing.path) : undefined
    if (change?.kind === 'elsewhere') addSwitch(target, change, draft)
  }
  draft.owned.delete(key)
  draft.removed.push(key)
}

const operationsOf = (draft: Draft, key: string): Operation[] =>
  key === GATEWAY_ENTRY ? draft.gatewayOperations : draft.operations

/** The entry does not come back. The operation concerns the file without the take-over. */
function forgetTaken({ config }: ConfigTarget, key: string, draft: Draft): void {
  const found = draft.taken.find(({ name, scope }) => name === key && scope === config.scope)
  if (!found) return
  draft.taken = draft.taken.filter((entry) => entry !== found)
  draft.operations.push({ path: found.path, value: undefined })
  draft.removed.push(key)
}

/** An entry that another program added again meanwhile stays as it is. */
function restoreTaken(current: CurrentConfig, draft: Draft): void {
  for (const { name, path, value, owned } of draft.taken) {
    const present = valueAt(current.root, path)
    if (present === undefined) {
      draft.gatewayOperations.push({ path, value })
      draft.restored.push(name)
    } else if (hashOf(present) !== hashOf(value))
      draft.warnings.push(
        `'${name}' is in the file again, with other settings. It stays, and the entry from before the take-over is in the backups`,
      )
    if (owned && !draft.owned.has(name)) draft.owned.set(name, owned)
  }
  draft.taken = []
}

/** The switch depends on the key path under which the entry is, where the agent reads several. */
function switchTo(
  { agent, config, platform, project }: ConfigTarget,
  key: string,
  enabled: boolean,
  path: Path,
): Switch {
  const keyPath = path.slice(0, -1).filter((step) => typeof step === 'string')
  return switchOf(agent, { ...config, keyPath }, key, enabled, platform, project)
}

function addSwitch(
  { config }: ConfigTarget,
  { path: file, format, dialect, at: path, value }: Extract<Switch, { kind: 'elsewhere' }>,
  draft: Draft,
): void {
  if (file === config.path) draft.operations.push({ path, value })
  else draft.otherFiles.push({ file, format, dialect, path, value })
}

/** Under the key path that the file uses already, where the agent reads several. */
function newPath({ agent, config }: ConfigTarget, { root }: CurrentConfig, key: string): Path {
  const [found] = containersIn(agent, config, root)
  const at = found ?? config.keyPath
  return [...at, config.nameField === null ? key : { field: config.nameField, is: key }]
}

function parkedDefinition({ agent }: ConfigTarget, key: string, parked: Json | null): Definition | null {
  return parked === null ? null : readEntry(agent, key, parked).definition
}

const invalidName = (problem: string): AppError =>
  new AppError('invalid_input', problem, { errors: [{ path: '/servers', message: problem }] })
