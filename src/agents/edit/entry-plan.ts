import { AppError } from '../../kernel/errors.ts'
import type { ConfigFile, ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { type Switch, switchOf } from '../catalogue/enable-switch.ts'
import { GATEWAY_ENTRY, leadsToGateway, readGatewayEntry } from '../catalogue/gateway-entry.ts'
import { hashOf, type Json, type Path, valueAt, withValue } from '../catalogue/json-value.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import { checkName, keyOf } from '../catalogue/write-entry.ts'
import type { Patch } from '../diff/text-patch.ts'
import type { FileRecord, OwnedEntry, TakenEntry } from '../files/ownership-store.ts'
import type { Content } from '../files/read-config.ts'
import type { Operation } from '../formats/apply-operations.ts'
import { containersIn, type Entry, stepTo } from '../read/read-entries.ts'
import { type DesiredEntry, entryValue, fieldChanges } from './desired-entry.ts'
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
  /** The user's own entries that this change switches off, and one that it brings back. */
  readonly parkedNow: readonly string[]
  readonly unparked: Patch | null
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

interface SetOptions {
  readonly replace: boolean
  readonly remove?: readonly string[] | undefined
  /** Entries to switch off, with the registered servers behind them. */
  readonly disable?: readonly { readonly name: string; readonly server_id: string | null }[]
}

/** Adds or updates the desired entries, and removes others: by name, or with `replace` all that are managed. */
export function planSet(
  target: ConfigTarget,
  current: CurrentConfig,
  desired: readonly DesiredEntry[],
  { replace, remove = [], disable = [] }: SetOptions,
): Plan {
  const draft = new Draft(target, current)
  const keyIn = (name: string) => keyOf(target.agent, name)
  for (const each of desired) draft.put(each)
  for (const name of remove) draft.remove(keyIn(name))
  for (const each of disable) draft.disable(each.name, each.server_id)
  if (replace) {
    const kept = new Set(desired.map(({ name }) => keyIn(name)))
    for (const name of Object.keys(current.owned)) if (!kept.has(name)) draft.remove(name)
  }
  return draft.plan
}

/** The entries that change. */
export const namesIn = ({ added, updated, removed, takenNow, restored }: Plan): string[] => [
  ...new Set([added, updated, removed, takenNow, restored].flat()),
]

/** A plan that is being made, entry by entry. */
export class Draft {
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
    parkedNow: [] as string[],
  }
  #unparked: Patch | null = null
  #taken: readonly TakenEntry[]

  constructor(target: ConfigTarget, current: CurrentConfig) {
    this.#target = target
    this.#current = current
    this.#owned = new Map(Object.entries(current.owned))
    this.#taken = current.taken
  }

  get plan(): Plan {
    const entries = Object.fromEntries(this.#owned)
    return {
      ...this.#lists,
      entries,
      taken: this.#taken,
      takenNow: [],
      doubled: [],
      // A patch leads back to a file in which nothing else changes.
      unparked: this.#lists.operations.length === 1 ? this.#unparked : null,
    }
  }

  put({ name, server_id, definition: desired, enabled }: DesiredEntry): void {
    const own = [...this.#owned].find(([, each]) => each.own && each.server_id === server_id)
    if (own && enabled) {
      this.unpark(own[0])
      return
    }
    const { agent } = this.#target
    const problem = checkName(agent, name)
    if (problem !== null) throw invalidName(problem)
    const key = this.#existing(name) ? name : keyOf(agent, name)
    const existing = this.#existing(key)
    const parked = this.#owned.get(key)?.parked ?? null
    const parkedDefinition = parked === null ? null : readEntry(agent, key, parked).definition
    const definition = desired(existing?.definition ?? parkedDefinition)
    const path = existing?.path ?? this.#newPath(key)
    let value = entryValue(this.#target, name, existing?.value ?? parked, definition)
    const isOff = enabled === false || (enabled === undefined && !existing && parked !== null)
    const change = isOff || enabled === true ? this.#switch(key, !isOff, path) : undefined
    if (change?.kind === 'in_entry') value = withValue(value, [change.field], change.value) as Json
    const isOurs = this.isReplaced(key)
    if (isOurs && !readGatewayEntry(definition)) this.#forgetTaken(key)
    if (change?.kind === 'none' && isOff) {
      this.#lists.warnings.push(
        `${change.reason}. Toolroom keeps the entry '${key}' until it is enabled again`,
      )
      if (existing) this.#edit(key, { path, value: undefined })
      this.#owned.set(key, { server_id, hash: hashOf(value), parked: value })
      this.#lists[existing ? 'updated' : 'added'].push(key)
      return
    }
    // The file without the take-over has another value there.
    const isWhole = !existing || (isOurs && !this.isReplaced(key))
    const operations = isWhole ? [{ path, value }] : fieldChanges(path, existing.value, value)
    this.#edit(key, ...operations)
    const made_from = server_id ?? this.#owned.get(key)?.server_id ?? null
    this.#owned.set(key, { server_id: made_from, hash: hashOf(value), parked: null, value })
    if (!existing) this.#lists.added.push(key)
    else if (operations.length > 0 || change?.kind === 'elsewhere') this.#lists.updated.push(key)
  }

  /** By the switch of the agent. Without one, the entry is kept as it is, also one of the user's own. */
  disable(name: string, server_id: string | null): void {
    const existing = this.#existing(name)
    if (!existing) throw invalidName(`The file has no entry '${name.slice(0, 100)}'`)
    const { path, value } = existing
    const owned = this.#owned.get(name)
    const change = this.#switch(name, false, path)
    if (change.kind === 'in_entry') {
      const off = withValue(value, [change.field], change.value) as Json
      this.#edit(name, ...fieldChanges(path, value, off))
      if (owned) this.#owned.set(name, { ...owned, hash: hashOf(off), value: off })
    }
    if (change.kind === 'none') {
      this.#edit(name, { path, value: undefined })
      const entry = { server_id: owned?.server_id ?? server_id, hash: hashOf(value), parked: value }
      this.#owned.set(name, owned ? entry : { ...entry, own: true })
      this.#lists.parkedNow.push(name)
    }
    this.#lists.updated.push(name)
  }

  /** The user's own entry is back, as it was. */
  unpark(name: string): void {
    const { parked = null, patch = null } = this.#owned.get(name) ?? {}
    this.#owned.delete(name)
    if (parked === null || this.#existing(name)) return
    this.#edit(name, { path: this.#newPath(name), value: parked })
    this.#unparked = patch
    this.#lists.added.push(name)
  }

  /** What the entry is now comes back when the agent is disconnected. */
  take({ name, path, value }: Entry, server_id: string): void {
    const owned = this.#owned.get(name) ?? null
    const { scope } = this.#target.config
    this.#taken = [...this.#taken, { name, scope, server_id, path, value, owned, replaced: true }]
  }

  /** The entry leads to its server at the gateway, under the name that it has. */
  lead({ name, path, value: before }: Entry, { server_id, definition }: DesiredEntry): void {
    const value = entryValue(this.#target, name, before, definition(null))
    const operations = fieldChanges(path, before, value)
    this.#edit(name, ...operations)
    this.#owned.set(name, { server_id, hash: hashOf(value), parked: null, value })
    if (operations.length > 0) this.#lists.updated.push(name)
  }

  /** A named entry that replaces one of the agent's own leaves, too, and that one does not come back. */
  remove(key: string): void {
    const existing = this.#existing(key)
    const isReplaced = this.isReplaced(key)
    if (key === GATEWAY_ENTRY) this.restoreTaken()
    const isForgotten = key !== GATEWAY_ENTRY && (!existing || isReplaced) && this.#forgetTaken(key)
    if (!existing && !this.#owned.has(key) && !isForgotten) return
    if (existing) {
      if (!isReplaced) this.#edit(key, { path: existing.path, value: undefined })
      if (existing.enabled === false) this.#switch(key, true, existing.path)
    }
    this.#owned.delete(key)
    this.#lists.removed.push(key)
  }

  /** False if there is no such entry. */
  restore(name: string, original: Json): boolean {
    const existing = this.#existing(name)
    if (!existing) return false
    const { path, value } = existing
    const isReplaced = this.isReplaced(name)
    if (isReplaced) this.#taken = this.#taken.filter((entry) => !(entry.replaced && entry.name === name))
    const operations = isReplaced ? [{ path, value: original }] : fieldChanges(path, value, original)
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
      this.#owned.set(name, { ...owned, hash: hashOf(value), parked: null, value, accepted: true })
    else this.#owned.delete(name)
    if (name === GATEWAY_ENTRY && value === undefined && this.#taken.length > 0)
      this.#lists.warnings.push(
        'The entries that it had before it was connected stay with Toolroom. Disconnect the agent to get them back',
      )
    this.#lists.accepted.push(name)
  }

  /** An entry that another program added or wrote again meanwhile stays as it is. */
  restoreTaken(): void {
    for (const { name, path, value, owned, replaced } of this.#taken) {
      const present = valueAt(this.#current.root, path)
      const isOurs = replaced && leadsToGateway(this.#target.agent, name, present)
      if (present === undefined || isOurs) {
        this.#lists.gatewayOperations.push({ path, value })
        this.#lists.restored.push(name)
      } else if (hashOf(present) !== hashOf(value))
        this.#lists.warnings.push(
          `'${name}' is in the file again, with other settings. It stays, and the entry from before the take-over is in the backups`,
        )
      if (replaced) this.#owned.delete(name)
      if (owned && !this.#owned.has(name)) this.#owned.set(name, owned)
    }
    this.#taken = []
  }

  isReplaced(key: string): boolean {
    return this.#taken.some(({ name, replaced }) => replaced && name === key)
  }

  /** The entry does not come back. The operation concerns the file without the take-over, too. */
  #forgetTaken(key: string): boolean {
    const { scope } = this.#target.config
    const found = this.#taken.find((entry) => entry.name === key && entry.scope === scope)
    if (!found) return false
    this.#taken = this.#taken.filter((entry) => entry !== found)
    this.#lists.operations.push({ path: found.path, value: undefined })
    return true
  }

  #existing(key: string): Entry | undefined {
    return this.#current.entries.find(({ name }) => name === key)
  }

  #edit(key: string, ...operations: readonly Operation[]): void {
    const isGateway = key === GATEWAY_ENTRY || this.isReplaced(key)
    this.#lists[isGateway ? 'gatewayOperations' : 'operations'].push(...operations)
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

const invalidName = (problem: string): AppError =>
  new AppError('invalid_input', problem, { errors: [{ path: '/servers', message: problem }] })
