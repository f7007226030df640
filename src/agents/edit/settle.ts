import { AppError } from '../../kernel/errors.ts'
import type { Platform } from '../catalogue/config-files.ts'
import { hashOf } from '../catalogue/json-value.ts'
import type { Backups } from '../files/backups.ts'
import { readConfig, replaceFile, revisionNow } from '../files/config-file.ts'
import { agentOf, configTarget } from '../files/config-target.ts'
import { realFileOf } from '../files/file-safety.ts'
import { type Intent, mergedRecord, mergedTaken, type OwnershipStore, recordOf } from '../files/ownership.ts'
import { readSettled } from '../files/settled-read.ts'
import { type Content, revisionOf } from '../formats/config-text.ts'
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
    const before = recordOf(store, record.path, record.key_path)
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

function entriesIn(
  platform: Platform,
  { agent_type, scope, project_path }: Intent,
  text: string,
): ReturnType<typeof readEntries> {
  let target: ReturnType<typeof configTarget>
  try {
    target = configTarget(agentOf(agent_type), platform, {
      scope,
      ...(project_path !== null && { project_path }),
    })
  } catch (error) {
    if (error instanceof AppError) return { root: undefined, entries: [] } // the project is gone, and its file with it
    throw error
  }
  return readEntries(target, text)
}
