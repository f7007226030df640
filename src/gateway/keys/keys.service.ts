import { hash, randomBytes } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import type { KeyRecord } from '../../kernel/secrets/vault.ts'
import { isoTime } from '../../kernel/time.ts'
import type { KeyInput, KeyView, NewKey } from './keys.schema.ts'

export interface KeyStore {
  all(): readonly KeyRecord[]
  find(digest: string): KeyRecord | undefined
  save(record: KeyRecord, audit: AuditEntry | null): Promise<void>
  remove(id: string, audit: AuditEntry): Promise<void>
}

/** A key that is not saved yet, with the audit rows of its life. */
interface KeyDraft {
  readonly key: string
  readonly record: KeyRecord
  readonly added: AuditEntry
  readonly removed: AuditEntry
}

interface Deps {
  readonly store: KeyStore
  /** Resolves an alias of an agent, so that its keys have the settings of the agent. */
  readonly typeOf: (agentType: string) => string
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

const MAX_KEYS = 200
/** `last_used_at` is saved at most this often, not with every call. */
const SAVE_USE_MS = 60_000

/** Gateway keys. A key gives access to the gateway and nothing else, until it is deleted. */
export function createKeys({ store, typeOf, now, onError }: Deps) {
  const usedAt = new Map<string, number>()

  const view = ({ id, name, agent_type, created_at, last_used_at }: KeyRecord): KeyView => {
    const used = usedAt.get(id) ?? last_used_at
    return {
      id,
      name,
      agent_type,
      created_at: isoTime(created_at),
      last_used_at: used === null ? null : isoTime(used),
    }
  }

  function recordUse(record: KeyRecord): void {
    const last_used_at = now()
    const before = usedAt.get(record.id) ?? record.last_used_at ?? 0
    if (last_used_at - before < SAVE_USE_MS) return
    usedAt.set(record.id, last_used_at)
    void store.save({ ...record, last_used_at }, null).catch(onError)
  }

  function draft({ agent_type: given, name = given }: KeyInput, by: Caller): KeyDraft {
    if (store.all().length >= MAX_KEYS)
      throw new AppError('limit_reached', `Too many gateway keys (max ${MAX_KEYS})`, {
        hint: 'Delete a key that is no longer used',
      })
    const key = `tk_${randomBytes(32).toString('base64url')}`
    const id = `key_${randomBytes(6).toString('hex')}`
    const agent_type = typeOf(given)
    const record = { id, name, agent_type, digest: digestOf(key), created_at: now(), last_used_at: null }
    return {
      key,
      record,
      added: auditOf('key_added', record, by),
      removed: auditOf('key_removed', record, by),
    }
  }

  return {
    draft,
    list: (): KeyView[] => store.all().map(view),

    async add(input: KeyInput, by: Caller): Promise<NewKey> {
      const { key, record, added } = draft(input, by)
      await store.save(record, added)
      return { ...view(record), key }
    },

    async remove(id: string, by: Caller): Promise<void> {
      const record = store.all().find((each) => each.id === id)
      if (!record) throw new AppError('not_found', `No gateway key has the id '${id.slice(0, 100)}'`)
      await store.remove(id, auditOf('key_removed', record, by))
      usedAt.delete(id)
    },

    /** The audit row for removing a key; undefined if there is no such key. */
    removalOf(id: string, by: Caller): AuditEntry | undefined {
      const record = store.all().find((each) => each.id === id)
      return record && auditOf('key_removed', record, by)
    },

    /** Unlike `find`, this does not count as a use of the key. */
    idOf: (key: string): string | undefined => store.find(digestOf(key))?.id,

    /** The record of a key. Compares digests, so that the response time reveals nothing about the key. */
    find(key: string): KeyRecord | undefined {
      const record = store.find(digestOf(key))
      if (record) recordUse(record)
      return record
    },
  }
}
export type Keys = ReturnType<typeof createKeys>

const auditOf = (action: string, { id, name, agent_type }: KeyRecord, by: Caller): AuditEntry => ({
  action,
  subject: id,
  ...by,
  detail: { name, agent_type },
})

/** Cached, because agents send their key with every request. */
function digestOf(key: string): string {
  const cached = digests.get(key)
  if (cached !== undefined) return cached
  const digest = hash('sha256', key, 'hex')
  if (digests.size >= MAX_KEYS) digests.clear() // full of invalid keys
  if (key.length <= MAX_KEY_CHARS) digests.set(key, digest)
  return digest
}
const digests = new Map<string, string>()
const MAX_KEY_CHARS = 64
