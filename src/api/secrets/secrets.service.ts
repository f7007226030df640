import { KeyedQueue } from '../../kernel/async/keyed-queue.ts'
import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus } from '../../kernel/fact-bus.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import type { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { isoTime } from '../../kernel/time.ts'
import type { SecretView } from './secrets.schema.ts'

/** A named secret, decrypted. */
export interface SecretRecord {
  readonly name: string
  readonly value: string
  readonly updated_at: number
}

/** The stored secrets, answered from memory. */
export interface SecretStore {
  all(): readonly SecretRecord[]
  find(name: string): SecretRecord | undefined
  save(record: SecretRecord, audit: AuditEntry): Promise<void>
  remove(name: string, audit: AuditEntry): Promise<void>
}

interface Deps {
  readonly store: SecretStore
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  /** The ids of the servers that refer to a secret. */
  readonly usedBy: (name: string) => Promise<readonly string[]>
  readonly now: () => number
}

const MAX_SECRETS = 1000

/** Named secrets, to which servers refer. A value can be set and used, but not read. */
export function createSecrets({ store, facts, secrets, usedBy, now }: Deps) {
  /** Changes with each value. Not stored: no process outlives Toolroom. */
  const versions = new Map<string, number>()
  let lastVersion = 0
  const turns = new KeyedQueue()

  function mask({ name, value }: SecretRecord): void {
    secrets.set(owner(name), [value])
  }
  for (const record of store.all()) mask(record)

  function changed(name: string): void {
    lastVersion += 1
    versions.set(name, lastVersion)
    facts.publish('secret_changed', { name })
  }

  const viewOf = async ({ name, updated_at }: SecretRecord): Promise<SecretView> => ({
    name,
    used_by: [...(await usedBy(name))],
    updated_at: isoTime(updated_at),
  })

  function get(name: string): SecretRecord {
    const record = store.find(name)
    if (!record) throw new AppError('not_found', `No secret has the name '${name.slice(0, 128)}'`)
    return record
  }

  return {
    /** For the start of a server. */
    current(name: string): { value: string; version: number } | undefined {
      const record = store.find(name)
      return record && { value: record.value, version: versions.get(name) ?? 0 }
    },

    /** The suggested name, or the next free one if it has another value, here or in `taken`. */
    nameFor(suggested: string, value: string, taken: ReadonlyMap<string, string>): string {
      for (let number = 1; ; number += 1) {
        const name = number === 1 ? suggested : `${suggested}-${number}`
        const known = taken.get(name) ?? store.find(name)?.value
        if (known === undefined || known === value) return name
      }
    },

    async list(): Promise<SecretView[]> {
      const byName = store.all().toSorted((one, other) => (one.name < other.name ? -1 : 1))
      return Promise.all(byName.map(viewOf))
    },

    /** The old value stays masked for the servers that run with it. */
    set(name: string, value: string, by: Caller): Promise<SecretView> {
      return turns.take(name, async () => {
        const before = store.find(name)
        if (before?.value === value) return viewOf(before)
        if (!before && store.all().length >= MAX_SECRETS)
          throw new AppError('limit_reached', `The limit of ${MAX_SECRETS} secrets is reached`, {
            hint: 'Delete a secret first',
          })
        const record = { name, value, updated_at: now() }
        await store.save(record, { action: 'secret_set', subject: name, ...by, detail: {} })
        mask(record)
        changed(name)
        return viewOf(record)
      })
    },

    remove(name: string, force: boolean, by: Caller): Promise<void> {
      return turns.take(name, async () => {
        get(name)
        const servers = await usedBy(name)
        if (servers.length > 0 && !force) {
          const message = `The secret '${name}' is used by ${servers.join(', ')}`
          const hint = 'Change these servers first, or delete it with ?force=true; they will not start then'
          throw new AppError('secret_in_use', message, { hint, members: { servers } })
        }
        await store.remove(name, { action: 'secret_deleted', subject: name, ...by, detail: { servers } })
        secrets.delete(owner(name))
        changed(name)
      })
    },
  }
}
export type Secrets = ReturnType<typeof createSecrets>

const owner = (name: string): string => `secret:${name}`
