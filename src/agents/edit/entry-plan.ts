import { AppError } from '../../kernel/errors.ts'
import type { ConfigFile, ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { type Switch, switchOf } from '../catalogue/enable-switch.ts'
import { GATEWAY_ENTRY } from '../catalogue/gateway-entry.ts'
import { hashOf, isMap, type Json, type Path, valueAt, withValue } from '../catalogue/json-value.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import { type Definition, NotSupported } from '../catalogue/server-definition.ts'
import { updateOf } from '../catalogue/update-entry.ts'
import { checkName, keyOf, writeEntry } from '../catalogue/write-entry.ts'
import type { FileRecord, OwnedEntry, TakenEntry } from '../files/ownership-store.ts'
import type { Content } from '../files/read-config.ts'
import type { Operation } from '../formats/apply-operations.ts'
import { driftOf } from '../read/drift.ts'
import { containersIn, type Entry, stepTo } from '../read/read-entries.ts'
import type { DesiredEntry } from './desired-entry.ts'
import type { ChangeReport } from './edit.schema.ts'

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
  /** Entries that another program has changed or removed, and that stay so. */
  readonly accepted?: readonly string[]
  /** The servers that the agent sees at the gateway after the change, and what it can use before and after. */
  readonly gateway?: ChangeReport['gateway']
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
  readonly record: FileRecord | undefined
  /** The entries of the record, and those that it has taken over. */
  readonly owned: FileRecord['entries']
  readonly taken: readonly TakenEntry[]
}

/** Adds or updates the desired entries, and removes others: by name, or with `replace` all that are managed. */
export function planSet(
  target: ConfigTarget,
  current: CurrentConfig,
  desired: readonly DesiredEntry[],
  { replace, remove = [] }: { readonly replace: boolean; readonly remove?: readonly string[] | undefined },
): Plan {
  const draft = new Draft(target, current)
  const keyIn = (name: string) => keyOf(target.agent, name)
  for (const each of desired) draft.put(each)
  for (const name of remove) draft.remove(keyIn(name))
  if (replace) {
    const kept = new Set(desired.map(({ name }) => keyIn(name)))
    for (const name of Object.keys(current.owned)) if (!kept.has(name)) draft.remove(name)
  }
  return draft.plan
}

/** Without names, all managed entries are removed. */
export function planRemove(
  target: ConfigTarget,
  current: CurrentConfig,
  names: readonly string[] = managedIn(current),
): Plan {
  const draft = new Draft(target, current)
  for (const name of names) draft.remove(keyOf(target.agent, name))
  return draft.plan
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
  const draft = new Draft(target, current)
  for (const name of managedIn(current)) {
    const original = name === GATEWAY_ENTRY ? undefined : originals.get(name)
    if (original === undefined || !draft.restore(name, original)) draft.remove(name)
  }
  draft.restoreTaken()
  return draft.plan
}

/** What another program has changed or removed of ours is written again, or counts as ours as it is now. */
export function planKeep(target: ConfigTarget, current: CurrentConfig, keep: 'mine' | 'theirs'): Plan {
  const draft = new Draft(target, current)
  const { entries, record } = current
  for (const { name } of driftOf({ record, state: { entries, parseError: null, problem: null } }))
    if (keep === 'mine') draft.writeAgain(name)
    else draft.accept(name)
  return draft.plan
}

/** Those that were taken over come first: the gateway entry would bring them back. */
const managedIn = ({ owned, taken }: CurrentConfig): string[] => [
  ...taken.flatMap((entry) => (entry.owned ? [entry.name] : [])),
  ...Object.keys(owned),
]

/** A plan that is being made, entry by entry. */
class Draft {
  readonly #target: ConfigTarget
  readonly #current: CurrentConfig
  readonly #owned: Map<string, OwnedEntry>
  readonly #lists = {
    gatewayOperations: [] as Operation[],
    operations: [] as Operation[],
    otherFiles: [] as OtherFileOperation[],
    added: [] as string[],
    updated: [] as string[],
    removed: [] as string[],
    restored: [] as string[],
    warnings: [] as string[],
    accepted: [] as string[],
  }
  #taken: readonly TakenEntry[]

  constructor(target: ConfigTarget, current: CurrentConfig) {
    this.#target = target
    this.#current = current
    this.#owned = new Map(Object.entries(current.owned))
    this.#taken = current.taken
  }

  get plan(): Plan {
    const entries = Object.fromEntries(this.#owned)
    return { ...this.#lists, entries, taken: this.#taken, takenNow: [], doubled: [] }
  }

  put({ name, server_id, definition: desired, enabled }: DesiredEntry): void {
    const { agent } = this.#target
    const problem = checkName(agent, name)
    if (problem !== null) throw invalidName(problem)
    const key = keyOf(agent, name)
    const existing = this.#existing(key)
    const parked = this.#owned.get(key)?.parked ?? null
    const parkedDefinition = parked === null ? null : readEntry(agent, key, parked).definition
    const definition = desired(existing?.definition ?? parkedDefinition)
    const path = existing?.path ?? this.#newPath(key)
    let value = entryValue(this.#target, name, existing?.value ?? parked, definition)
    const isOff = enabled === false || (enabled === undefined && !existing && parked !== null)
    const change = isOff || enabled === true ? this.#switch(key, !isOff, path) : undefined
    if (change?.kind === 'in_entry') value = withValue(value, [change.field], change.value) as Json
    if (change?.kind === 'none' && isOff) {
      this.#lists.warnings.push(
        `${change.reason}. Toolroom keeps the entry '${key}' until it is enabled again`,
      )
      if (existing) this.#edit(key, { path, value: undefined })
      this.#owned.set(key, { server_id, hash: hashOf(value), parked: value })
      this.#lists[existing ? 'updated' : 'added'].push(key)
      return
    }
    const operations = existing ? fieldChanges(path, existing.value, value) : [{ path, value }]
    this.#edit(key, ...operations)
    const made_from = server_id ?? this.#owned.get(key)?.server_id ?? null
    this.#owned.set(key, { server_id: made_from, hash: hashOf(value), parked: null, value })
    if (!existing) this.#lists.added.push(key)
    else if (operations.length > 0 || change?.kind === 'elsewhere') this.#lists.updated.push(key)
  }

  remove(key: string): void {
    const existing = this.#existing(key)
    if (key === GATEWAY_ENTRY) this.restoreTaken()
    else if (!existing) this.#forgetTaken(key)
    if (!existing && !this.#owned.has(key)) return
    if (existing) {
      this.#edit(key, { path: existing.path, value: undefined })
      if (existing.enabled === false) this.#switch(key, true, existing.path)
    }
    this.#owned.delete(key)
    this.#lists.removed.push(key)
  }

  /** False if there is no such entry. */
  restore(name: string, original: Json): boolean {
    const existing = this.#existing(name)
    if (!existing) return false
    const operations = fieldChanges(existing.path, existing.value, original)
    this.#lists.operations.push(...operations)
    this.#owned.delete(name)
    if (operations.length > 0) this.#lists.updated.push(name)
    return true
  }

  writeAgain(name: string): void {
    const value = this.#owned.get(name)?.value
    const existing = this.#existing(name)
    if (value === undefined) {
      const how = name === GATEWAY_ENTRY ? 'Connect the agent again' : 'Switch the server off and on again'
      this.#lists.warnings.push(`What Toolroom wrote as '${name}' was not kept by an earlier version. ${how}`)
      return
    }
    const path = existing?.path ?? this.#newPath(name)
    this.#edit(name, ...(existing ? fieldChanges(path, existing.value, value) : [{ path, value }]))
    this.#lists[existing ? 'updated' : 'added'].push(name)
  }

  accept(name: string): void {
    const owned = this.#owned.get(name)
    const value = this.#existing(name)?.value
    if (owned && value !== undefined)
      this.#owned.set(name, { ...owned, hash: hashOf(value), parked: null, value })
    else this.#owned.delete(name)
    if (name === GATEWAY_ENTRY && value === undefined && this.#taken.length > 0)
      this.#lists.warnings.push(
        'The entries that it had before it was connected stay with Toolroom. Disconnect the agent to get them back',
      )
    this.#lists.accepted.push(name)
  }

  /** An entry that another program added again meanwhile stays as it is. */
  restoreTaken(): void {
    for (const { name, path, value, owned } of this.#taken) {
      const present = valueAt(this.#current.root, path)
      if (present === undefined) {
        this.#lists.gatewayOperations.push({ path, value })
        this.#lists.restored.push(name)
      } else if (hashOf(present) !== hashOf(value))
        this.#lists.warnings.push(
          `'${name}' is in the file again, with other settings. It stays, and the entry from before the take-over is in the backups`,
        )
      if (owned && !this.#owned.has(name)) this.#owned.set(name, owned)
    }
    this.#taken = []
  }

  /** The entry does not come back. The operation concerns the file without the take-over. */
  #forgetTaken(key: string): void {
    const { scope } = this.#target.config
    const found = this.#taken.find((entry) => entry.name === key && entry.scope === scope)
    if (!found) return
    this.#taken = this.#taken.filter((entry) => entry !== found)
    this.#lists.operations.push({ path: found.path, value: undefined })
    this.#lists.removed.push(key)
  }

  #existing(key: string): Entry | undefined {
    return this.#current.entries.find(({ name }) => name === key)
  }

  #edit(key: string, ...operations: readonly Operation[]): void {
    this.#lists[key === GATEWAY_ENTRY ? 'gatewayOperations' : 'operations'].push(...operations)
  }

  /** The switch depends on the key path under which the entry is, where the agent reads several. */
  #switch(key: string, enabled: boolean, at: Path): Switch {
    const { config } = this.#target
    const keyPath = at.slice(0, -1).filter((step) => typeof step === 'string')
    const change = switchOf({ ...this.#target, config: { ...config, keyPath } }, key, enabled)
    if (change.kind === 'elsewhere') {
      const { path: file, format, dialect, at: path, value } = change
      if (file === config.path) this.#lists.operations.push({ path, value })
      else this.#lists.otherFiles.push({ file, format, dialect, path, value })
    }
    return change
  }

  /** Under the key path that the file uses already, where the agent reads several. */
  #newPath(key: string): Path {
    const { agent, config } = this.#target
    const [found] = containersIn(agent, config, this.#current.root)
    return [...(found ?? config.keyPath), stepTo(config, key)]
  }
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

const invalidName = (problem: string): AppError =>
  new AppError('invalid_input', problem, { errors: [{ path: '/servers', message: problem }] })
