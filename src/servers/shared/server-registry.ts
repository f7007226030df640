import { notFound } from '../../kernel/did-you-mean.ts'
import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus, ServerKind } from '../../kernel/facts.ts'
import type { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { type Carrier, secretsIn } from '../../kernel/secrets/secrets.ts'
import { type Caller, idIn, slugOf } from '../../kernel/wire.ts'
import type { CallResult } from '../../mcp/protocol/call.ts'
import type { CallRecorder } from './calls.ts'
import type { Catalogues } from './catalogues.ts'
import type { References } from './definition/references.ts'
import { type Revealed, type RevealInput, storedValue } from './reveal.ts'
import { MAX_SERVERS, type OfferSettings } from './server-fields.ts'
import type { ToolCall, Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

/** The fields of every server record, whatever its kind. */
export interface ServerRecord extends OfferSettings {
  readonly id: string
  readonly name: string
  readonly created_at: number
  readonly updated_at: number
  readonly revision: number
}

/** The stored servers of one kind. */
export interface ServerStore<T extends ServerRecord> {
  all(): Promise<T[]>
  /** By id, or by the exact name; the id wins. */
  find(key: string): Promise<T | undefined>
  /** `taken` when a server of either kind has the id or the name. Concurrent adds are decided here. */
  insert(server: T, audit: AuditEntry): Promise<'inserted' | 'taken' | 'full'>
  /** `edit` gets the newest record, atomically. Undefined when the server does not exist. */
  change(
    id: string,
    edit: (current: T) => { next: T; audit: AuditEntry } | undefined,
  ): Promise<T | 'taken' | undefined>
  /** False when it did not exist. */
  remove(id: string, audit: AuditEntry): Promise<boolean>
}

export interface RegistryDeps<T extends ServerRecord> {
  readonly store: ServerStore<T>
  readonly facts: FactBus
  readonly secrets: KnownSecrets
  readonly catalogues: Catalogues
  readonly upstreams: Upstreams
  readonly references: References
  readonly calls: CallRecorder
  readonly now: () => number
  readonly audit: (entry: AuditEntry) => Promise<void>
}

interface Kind<T extends ServerRecord> {
  readonly kind: ServerKind
  /** For messages: `STDIO server`. */
  readonly noun: string
  readonly upstreamFor: (record: T) => Upstream & { update(record: T): void }
  /** The record with secrets masked, for the audit trail. */
  readonly shown: (record: T) => Readonly<Record<string, unknown>>
}

type Fields<T extends ServerRecord> = Omit<T, Exclude<keyof ServerRecord, 'name' | keyof OfferSettings>>

/** The records of one kind of server: names and ids, revisions, audit rows, facts, and secrets to mask. */
export function createRegistry<T extends ServerRecord>(
  { store, facts, secrets, catalogues, upstreams, references, calls, now, audit }: RegistryDeps<T>,
  { kind, noun, shown, upstreamFor }: Kind<T>,
) {
  async function get(key: string): Promise<T> {
    const record = await store.find(key)
    if (!record)
      throw notFound(`No ${noun} has the id or name '${key.slice(0, 100)}'`, upstreams.hintFor(key, kind))
    return record
  }

  /** Masks the secrets of a record that is not stored yet, in case it is refused. */
  async function maskingSecretsOf<R>(record: T, work: () => Promise<R>): Promise<R> {
    candidates += 1
    const owner = `candidate:${kind}:${candidates}`
    secrets.set(owner, secretsIn(record as Carrier))
    try {
      return await work()
    } finally {
      secrets.delete(owner)
    }
  }
  let candidates = 0

  const known = new Map<string, Upstream & { update(record: T): void }>()

  /** Called before the fact is published, so that subscribers find the server as it is now. */
  function onStored(record: T): void {
    secrets.set(`server:${record.id}`, secretsIn(record as Carrier))
    const upstream = known.get(record.id) ?? upstreamFor(record)
    upstream.update(record)
    known.set(record.id, upstream)
    upstreams.add(upstream)
  }

  return {
    list: () => store.all(),
    get,

    /** Call once, before anything else. From then on, the secrets of stored servers are masked in log lines. */
    async load(): Promise<T[]> {
      const records = await store.all()
      for (const record of records) onStored(record)
      return records
    },

    async call(key: string, call: ToolCall): Promise<CallResult> {
      const { id } = await get(key).catch((error: Error) => {
        const { tool, by, args } = call
        calls.refuse({ server_id: idIn(key), tool, by, args }, 'unknown_server', error.message)
        throw error
      })
      await upstreams.refreshFor(id, call.tool)
      return upstreams.call(id, call)
    },

    /** A stored value in full. The audit row is written first. */
    async reveal(key: string, input: RevealInput, by: Caller): Promise<Revealed> {
      const record = await get(key)
      const value = storedValue(record as Carrier, input)
      await audit({ action: 'server_secret_revealed', subject: record.id, ...by, detail: { ...input } })
      return { value }
    },

    async add(fields: Fields<T>, by: Caller): Promise<T> {
      const id = slugOf(fields.name)
      const record = { ...fields, id, created_at: now(), updated_at: now(), revision: 1 } as unknown as T
      const added = { action: 'server_added', subject: id, ...by, detail: shown(record) }
      const outcome = await maskingSecretsOf(record, async () => {
        references.check(record as Carrier)
        return store.insert(record, added)
      })
      if (outcome === 'full') throw tooMany()
      if (outcome === 'taken') throw nameTaken(id)
      onStored(record)
      facts.publish('server_added', { server_id: id, type: kind })
      return record
    },

    /** `edit` returns the new values. Nothing is written when they are equal to the old ones. */
    async change(
      key: string,
      revision: number | 'unknown' | undefined,
      edit: (current: T) => Partial<T>,
      by: Caller,
    ): Promise<T> {
      const { id } = await get(key)
      let changed: string[] = []
      const outcome = await store.change(id, (current) => {
        if (revision !== undefined && revision !== current.revision) throw stale(noun, current)
        const edited = { ...current, ...edit(current) }
        changed = Object.keys(edited).filter(
          (field) => !same(edited[field as keyof T], current[field as keyof T]),
        )
        if (changed.length === 0) return undefined
        if (changed.some((field) => REFERRING.has(field))) references.check(edited as Carrier)
        const next = { ...edited, updated_at: now(), revision: current.revision + 1 }
        const detail = { changed: difference(changed, shown(current), shown(next)) }
        return { next, audit: { action: 'server_updated', subject: id, ...by, detail } }
      })
      if (outcome === undefined) return get(key)
      if (outcome === 'taken') throw nameTaken(id)
      onStored(outcome)
      if (changed.length > 0) facts.publish('server_updated', { server_id: id, type: kind, changed })
      return outcome
    },

    /** The fact is published last, so that subscribers do not find the server any more. */
    async remove(key: string, by: Caller, forget: (id: string) => void): Promise<void> {
      const record = await get(key)
      const removed = { action: 'server_removed', subject: record.id, ...by, detail: shown(record) }
      if (!(await store.remove(record.id, removed))) await get(key)
      secrets.delete(`server:${record.id}`)
      references.forget(record.id)
      known.delete(record.id)
      upstreams.remove(record.id)
      catalogues.forget(record.id)
      forget(record.id)
      facts.publish('server_removed', { server_id: record.id, type: kind })
    },
  }
}

/** The fields that may contain references. */
const REFERRING: ReadonlySet<string> = new Set(['args', 'env', 'headers', 'url'])

function difference(
  fields: readonly string[],
  before: Readonly<Record<string, unknown>>,
  after: typeof before,
) {
  return Object.fromEntries(
    fields.map((field) => [field, { before: before[field] ?? null, after: after[field] ?? null }]),
  )
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

function nameTaken(id: string): AppError {
  return new AppError('server_exists', `A server with the id '${id}' or with this name already exists`, {
    hint: 'Choose another name, or change the existing server',
  })
}

function tooMany(): AppError {
  return new AppError('limit_reached', `The limit of ${MAX_SERVERS} servers is reached`, {
    hint: 'Delete a server first',
  })
}

function stale(noun: string, current: ServerRecord): AppError {
  const message = `The ${noun} '${current.id}' has changed: its revision is ${current.revision} now`
  return new AppError('revision_mismatch', message, { hint: 'Read the server again and repeat the change' })
}
