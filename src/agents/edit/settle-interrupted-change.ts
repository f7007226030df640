import { AppError } from '../../kernel/errors.ts'
import type { Platform } from '../catalogue/agent-catalogue.ts'
import { GATEWAY_ENTRY } from '../catalogue/gateway-entry.ts'
import { hashOf, type Json, valueAt } from '../catalogue/json-value.ts'
import { recordedTarget, recordOf } from '../files/config-target.ts'
import type { Backups } from '../files/file-backups.ts'
import type {
  FileRecord,
  Intent,
  OwnedEntry,
  OwnershipStore,
  TakenEntry,
  TakenOver,
} from '../files/ownership-store.ts'
import { type Content, readConfig, readSettled, realFileOf, revisionNow } from '../files/read-config.ts'
import { replaceFile } from '../files/replace-config.ts'
import { revisionOf } from '../formats/text-edits.ts'
import { readEntries } from '../read/read-entries.ts'
import { type GatewayKeys, keysIn } from './gateway-keys.ts'

export interface SettleDeps {
  readonly store: OwnershipStore
  readonly backups: Backups
  readonly platform: Platform
  readonly gateway: Pick<GatewayKeys, 'idOf'>
}

const EMPTY = revisionOf(new Uint8Array())

/**
 * Completes or takes back a change that was interrupted, by what the files hold now: it is taken back if the file that
 * is written last was not written. Throws, and changes nothing, if a file cannot be read at the moment.
 */
export async function settle(deps: SettleDeps, intent: Intent): Promise<void> {
  const contents = new Map<string, Content | undefined>()
  for (const file of intent.files) {
    const expected = { knownBytes: file.before === EMPTY ? 0 : 1, isValidWhenCut: false }
    const { content } = await readSettled(file, expected)
    contents.set(file.path, content)
  }
  const last = intent.files.at(-1)
  const revision = last && (contents.get(last.path)?.revision ?? null)
  if (!last || revision === last.before) return rollBack(deps, intent)
  const main = intent.files.find(({ path }) => path === intent.main)
  const text = contents.get(intent.main)?.text ?? ''
  const isAsIntended = !main || (contents.get(intent.main)?.revision ?? null) === main.after
  await deps.store.commit(isAsIntended ? intent : withForeignEdit(deps, intent, text), true)
}

/** Restores the files that were written, and deletes the intent and its backups. */
export async function rollBack({ store, backups }: SettleDeps, intent: Intent): Promise<void> {
  const own = backups.of(intent.agent_type).filter(({ change }) => change === intent.id)
  for (const file of intent.files) {
    const backup = own.find(({ path, action }) => path === file.path && action !== 'foreign_edit')
    const bytes = backup && backups.content(backup)
    if (bytes === undefined || revisionNow(file) !== file.after) continue
    await replaceFile(realFileOf(file.path, file.root), readConfig(file), bytes)
  }
  for (const backup of own) if (backup.action !== 'foreign_edit') backups.discard(backup)
  await store.cancel(intent)
}

/**
 * The outcome if another program has changed the file since we wrote it, or instead of us: an entry or a key is recorded
 * as changed only if the file shows that our change was made.
 */
function withForeignEdit({ store, platform, gateway }: SettleDeps, intent: Intent, text: string): Intent {
  const { root, entries } = entriesIn(platform, intent, text)
  const hashes = new Map(entries.map(({ name, value }) => [name, hashOf(value)]))
  const parked = intent.records.flatMap((record) => [
    ...Object.values(record.entries).map((each) => each.parked),
    ...(record.taken_over?.entries ?? []),
  ])
  const keys = keysIn(gateway, text + JSON.stringify(parked))
  const records = intent.records.map((record) => {
    if (record.path !== intent.main) return record
    const before = recordOf(store, { path: record.path, keyPath: record.key_path })
    const merged = mergedRecord(before, record, hashes, keys)
    return { ...merged, taken_over: mergedTaken(before, record, merged, root) }
  })
  const { newKey } = intent
  const candidates = [
    ...intent.removedKeys,
    ...(newKey ? [{ id: newKey.record.id, audit: newKey.removed }] : []),
  ]
  const kept = new Set(records.flatMap((record) => record.keys ?? []))
  return { ...intent, records, removedKeys: candidates.filter(({ id }) => !kept.has(id)) }
}

function entriesIn(platform: Platform, intent: Intent, text: string): ReturnType<typeof readEntries> {
  let target: ReturnType<typeof recordedTarget>
  try {
    target = recordedTarget(platform, intent)
  } catch (error) {
    if (error instanceof AppError) return { root: undefined, entries: [] } // the project is gone, and its file with it
    throw error
  }
  return readEntries(target, text)
}

/** `hashes` are those of the entries in the file, `keys` the valid keys in it. */
export function mergedRecord(
  before: FileRecord | undefined,
  intended: FileRecord,
  hashes: ReadonlyMap<string, string>,
  keys: ReadonlySet<string>,
): FileRecord {
  const names = new Set([...Object.keys(before?.entries ?? {}), ...Object.keys(intended.entries)])
  const taken = [before, intended].flatMap((record) => record?.taken_over?.entries ?? [])
  const entries = [...names].flatMap((name): [string, OwnedEntry][] => {
    const old = ownEntry(before, name)
    const wanted = ownEntry(intended, name)
    const hash = hashes.get(name)
    // The agent's own entry is in its place, so that ours is not there.
    const own = taken.find((entry) => entry.replaced && entry.name === name && hashOf(entry.value) === hash)
    if (own) return own.owned ? [[name, own.owned]] : []
    if ((wanted?.own || old?.own) && hash !== undefined) return []
    const isMade = wanted?.parked === null ? hash === wanted.hash || (hash !== undefined && !old) : !hash
    if (wanted && isMade) return [[name, wanted]]
    // A removal that was made leaves no entry. Anything else is as before, and shown as drift if it was changed.
    return old && (wanted || old.parked !== null || hash !== undefined) ? [[name, old]] : []
  })
  const isMade = entries.some(([name, entry]) => entry === ownEntry(intended, name))
  const { trace, made_file } = isMade || !before ? intended : before
  const all = new Set([...(before?.keys ?? []), ...(intended.keys ?? [])])
  return {
    ...intended,
    trace: entries.length > 0 ? trace : null,
    made_file: entries.length > 0 && made_file,
    entries: Object.fromEntries(entries),
    chosen: intended.chosen ?? before?.chosen ?? null,
    keys: [...all].filter((id) => keys.has(id)),
  }
}

/** What is parked and not in the file. A take-over is made if the entries that lead to the gateway are there. */
function mergedTaken(
  before: FileRecord | undefined,
  intended: FileRecord,
  merged: FileRecord,
  root: Json | undefined,
): TakenOver | null {
  const isReplaced = ({ name, replaced }: TakenEntry) => replaced && Object.hasOwn(merged.entries, name)
  const isMade = Object.hasOwn(merged.entries, GATEWAY_ENTRY) || intended.taken_over?.entries.some(isReplaced)
  const taken = isMade && intended.taken_over ? intended.taken_over : before?.taken_over
  const entries =
    taken?.entries.filter((each) =>
      each.replaced ? isReplaced(each) : valueAt(root, each.path) === undefined,
    ) ?? []
  return taken && entries.length > 0 ? { ...taken, entries } : null
}

const ownEntry = (record: FileRecord | undefined, name: string): OwnedEntry | undefined =>
  record && Object.hasOwn(record.entries, name) ? record.entries[name] : undefined
