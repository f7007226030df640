import { hash, randomBytes } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry } from '../../kernel/facts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { KeyInput, KeyRecord, KeyView, NewKey } from './keys.schema.ts'

/** What the keys need of the store. */
export interface KeyStore {
  all(): readonly KeyRecord[]
  /** By the digest of the key. */
  find(digest: string): KeyRecord | undefined
  save(record: KeyRecord, audit: AuditEntry | null): Promise<void>
  remove(id: string, audit: AuditEntry): Promise<void>
}

interface Deps {
  readonly store: KeyStore
  readonly now: () => number
  readonly onTrouble: (error: unknown) => void
}

const MAX_KEYS = 200
/** When a key was last used is worth a write now and then, not one for each call. */
const USE_EVERY_MS = 60_000

/** Keys for agents: each opens the gateway and nothing else, and can be taken away again. */
export function createKeys({ store, now, onTrouble }: Deps) {
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

  function noteUse(record: KeyRecord): void {
    const at = now()
    const before = usedAt.get(record.id) ?? record.last_used_at ?? 0
    if (at - before < USE_EVERY_MS) return
    usedAt.set(record.id, at)
    void store.save({ ...record, last_used_at: at }, null).catch(onTrouble)
  }

  return {
    list: (): KeyView[] => store.all().map(view),

    async add({ agent_type, name = agent_type }: KeyInput, by: Caller): Promise<NewKey> {
      if (store.all().length >= MAX_KEYS)
        throw new AppError('limit_reached', `There are ${MAX_KEYS} keys already`, {
          hint: 'Delete one first',
        })
      const key = `tk_${randomBytes(32).toString('base64url')}`
      const id = `key_${randomBytes(6).toString('hex')}`
      const record = { id, name, agent_type, digest: digestOf(key), created_at: now(), last_used_at: null }
      await store.save(record, { action: 'key_added', subject: id, ...by, detail: { name, agent_type } })
      return { ...view(record), key }
    },

    async remove(id: string, by: Caller): Promise<void> {
      const record = store.all().find((each) => each.id === id)
      if (!record) throw new AppError('not_found', `There is no key '${id.slice(0, 100)}'`)
      const { name, agent_type } = record
      await store.remove(id, { action: 'key_removed', subject: id, ...by, detail: { name, agent_type } })
      usedAt.delete(id)
    },

    /** Whose key it is. Digests are compared, so that the time it takes says nothing about the key. */
    owner(key: string): KeyRecord | undefined {
      const record = store.find(digestOf(key))
      if (record) noteUse(record)
      return record
    },
  }
}
export type Keys = ReturnType<typeof createKeys>

/** Agents send theirs with every request. */
function digestOf(key: string): string {
  const known = digests.get(key)
  if (known !== undefined) return known
  const digest = hash('sha256', key, 'hex')
  if (digests.size >= MAX_KEYS) digests.clear() // somebody tries one after the other
  if (key.length <= LONGEST_KEY) digests.set(key, digest)
  return digest
}
const digests = new Map<string, string>()
const LONGEST_KEY = 64
