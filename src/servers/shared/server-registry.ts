import { notFound } from '../../kernel/did-you-mean.ts'
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus, ServerKind } from '../../kernel/fact-bus.ts'
import { type Caller, idIn, slugOf } from '../../kernel/rest-parts.ts'
import type { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { type Carrier, secretsIn } from '../../kernel/secrets/mask-secrets.ts'
import type { CallResult } from '../../mcp/protocol/call-options.ts'
import type { CallRecorder } from './call-recorder.ts'
import type { Catalogues } from './catalogues.ts'
import {
  type AllowOutgoing,
  type Allows,
  allowsAll,
  allowsOf,
  keysAfterEdit,
  keysAfterImport,
  keysOf,
  type Permitted,
} from './definition/outgoing.ts'
import type { References } from './definition/resolved-references.ts'
import { type Revealed, type RevealInput, storedValue } from './masked-values.ts'
import { type Adding, MAX_SERVERS, type ServerRecord } from './server-fields.ts'
import type { OfferSettings } from './tool-settings.ts'
import type { Trial, Tries } from './tries.ts'
import type { ToolCall, Upstream } from './upstream.ts'
import type { Upstreams } from './upstreams.ts'

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
  readonly tries: Tries
  readonly calls: CallRecorder
  readonly now: () => number
  readonly audit: (entry: AuditEntry) => Promise<void>
  readonly adding: Adding
}

type Fields<T extends ServerRecord> = Omit<T, Exclude<keyof ServerRecord, 'name' | keyof OfferSettings>>
type RecordUpstream<T> = Upstream & { update(record: T): void }

/** The records of one kind of server: names and ids, revisions, audit rows, facts, and secrets to mask. */
export abstract class ServerRegistry<T extends ServerRecord, D extends RegistryDeps<T>> {
  protected readonly deps: D
  protected abstract readonly kind: ServerKind
  /** For messages: `STDIO server`. */
  protected abstract readonly noun: string
  readonly #known = new Map<string, { readonly upstream: RecordUpstream<T>; readonly record: T }>()
  #candidates = 0

  constructor(deps: D) {
    this.deps = deps
  }

  /** The record with secrets masked, for the audit trail. */
  protected abstract shown(record: T): Readonly<Record<string, unknown>>

  /** Of what a start runs, or of where a connection leads, with the current values of its references. */
  protected abstract digestOf(record: T): string

  protected abstract upstreamFor(record: T): RecordUpstream<T>

  /** Called when a server was deleted, before the fact is published. */
  protected abstract forget(id: string): void

  list(): Promise<T[]> {
    return this.deps.store.all()
  }

  /** By its id, as it is stored now. */
  protected record(id: string): T | undefined {
    return this.#known.get(id)?.record
  }

  async get(key: string): Promise<T> {
    const record = await this.deps.store.find(key)
    if (record) return record
    const hint = this.deps.upstreams.hintFor(key, this.kind)
    throw notFound(`No ${this.noun} has the id or name '${key.slice(0, 100)}'`, hint)
  }

  async call(key: string, call: ToolCall): Promise<CallResult> {
    const { upstreams, calls } = this.deps
    const { id } = await this.get(key).catch((error: Error) => {
      const { tool, by, args } = call
      calls.refuse({ server_id: idIn(key), tool, by, args }, 'unknown_server', error.message)
      throw error
    })
    await upstreams.refreshFor(id, call.tool)
    return upstreams.call(id, call)
  }

  /** A stored value in full. The audit row is written first. */
  async reveal(key: string, input: RevealInput, by: Caller): Promise<Revealed> {
    const record = await this.get(key)
    const value = storedValue(record as Carrier, input)
    const detail = { ...input }
    await this.deps.audit({ action: 'server_secret_revealed', subject: record.id, ...by, detail })
    return { value }
  }

  /** Call once, before anything else. From then on, the secrets of stored servers are masked in log lines. */
  protected async loadRecords(): Promise<T[]> {
    const records = await this.list()
    for (const record of records) this.#onStored(record)
    return records
  }

  /** `allows`: of text that others have written, only what a person was shown. A person's own words allow what they say. */
  protected async insert(fields: Fields<T>, by: Caller, allows: Allows = allowsAll): Promise<T> {
    const { store, facts, references, now } = this.deps
    const id = slugOf(fields.name)
    const times = { created_at: now(), updated_at: now() }
    const outgoing_allowed = keysOf(fields as Carrier, allows)
    const record = { ...fields, id, outgoing_allowed, ...times, revision: 1 } as unknown as T
    const added = { action: 'server_added', subject: id, ...by, detail: this.shown(record) }
    const outcome = await this.#maskingSecretsOf(record, async () => {
      references.check(record as Carrier)
      return store.insert(record, added)
    })
    if (outcome === 'full') throw tooMany()
    if (outcome === 'taken') throw nameTaken(id)
    this.#onStored(record)
    facts.publish('server_added', { server_id: id, type: this.kind })
    this.#adoptTrial(record)
    return record
  }

  /**
   * `edit` returns the new values. Nothing is written when they are equal to the old ones. `given`: what a person allows, or
   * of text that others have written, what was shown to a person.
   */
  protected async edit(
    key: string,
    revision: number | 'unknown' | undefined,
    edit: (current: T) => Partial<T>,
    by: Caller,
    given: AllowOutgoing | Allows = [],
  ): Promise<T> {
    const { store, facts, references, now } = this.deps
    const { id } = await this.get(key)
    let changed: string[] = []
    const outcome = await store.change(id, (current) => {
      if (revision !== undefined && revision !== current.revision) throw stale(this.noun, current)
      const edited = permitted(current, { ...current, ...edit(current) }, given)
      changed = Object.keys(edited).filter(
        (field) => !same(edited[field as keyof T], current[field as keyof T]),
      )
      if (changed.length === 0) return undefined
      if (changed.some((field) => REFERRING.has(field))) references.check(edited as Carrier)
      const next = { ...edited, updated_at: now(), revision: current.revision + 1 }
      const shown = changed.map((field) => (field === 'outgoing_allowed' ? 'outgoing' : field))
      const detail = { changed: difference(shown, this.shown(current), this.shown(next)) }
      return { next, audit: { action: 'server_updated', subject: id, ...by, detail } }
    })
    if (outcome === undefined) return this.get(key)
    if (outcome === 'taken') throw nameTaken(id)
    this.#onStored(outcome)
    if (changed.length > 0) facts.publish('server_updated', { server_id: id, type: this.kind, changed })
    return outcome
  }

  /** The fact is published last, so that subscribers do not find the server any more. */
  protected async delete(key: string, by: Caller): Promise<void> {
    const { store, facts, secrets, references, upstreams, catalogues, tries } = this.deps
    const record = await this.get(key)
    const { id } = record
    const removed = { action: 'server_removed', subject: id, ...by, detail: this.shown(record) }
    if (!(await store.remove(id, removed))) await this.get(key)
    secrets.delete(`server:${id}`)
    references.forget(id)
    this.#known.delete(id)
    upstreams.remove(id)
    catalogues.forget(id)
    tries.forget(id)
    this.forget(id)
    facts.publish('server_removed', { server_id: id, type: this.kind })
  }

  /** To be called for a server of which something has changed that its definition refers to. */
  protected compareTry(record: T): void {
    this.deps.tries.compare(record.id, this.digestOf(record))
  }

  /** To be called when a trial has ended: the server that was tried may have been added meanwhile. */
  protected async adoptTrials(): Promise<void> {
    for (const record of await this.list()) this.#adoptTrial(record)
  }

  /** What was tried before it was added counts, if the definition is exactly the same. */
  #adoptTrial(record: T): void {
    const { tries, catalogues } = this.deps
    const { id } = record
    if (tries.of(id) !== null) return
    const digest = this.digestOf(record)
    const trial = tries.trialOf(digest)
    if (!trial) return
    if (trial.found) catalogues.update(id, trial.found)
    this.recordTrial(id, digest, trial)
  }

  protected recordTrial(id: string, digest: string, { at, found: _, ...outcome }: Trial): void {
    this.deps.tries.record(id, digest, outcome, at)
  }

  /** Masks the secrets of a record that is not stored yet, in case it is refused. */
  async #maskingSecretsOf<R>(record: T, work: () => Promise<R>): Promise<R> {
    const { secrets } = this.deps
    this.#candidates += 1
    const owner = `candidate:${this.kind}:${this.#candidates}`
    secrets.set(owner, secretsIn(record as Carrier))
    try {
      return await work()
    } finally {
      secrets.delete(owner)
    }
  }

  /** Called before the fact is published, so that subscribers find the server as it is now. */
  #onStored(record: T): void {
    this.deps.secrets.set(`server:${record.id}`, secretsIn(record as Carrier))
    const upstream = this.#known.get(record.id)?.upstream ?? this.upstreamFor(record)
    this.compareTry(record)
    upstream.update(record)
    this.#known.set(record.id, { upstream, record })
    this.deps.upstreams.add(upstream)
  }
}

/** The record with what it may get after a change. Throws if a person allows what the server would not get. */
function permitted<T extends Permitted>(before: T, after: T, given: AllowOutgoing | Allows): T {
  if (typeof given === 'function')
    return { ...after, outgoing_allowed: keysAfterImport(before, after, given) }
  const unknown = given.findIndex((item) => keysOf(after, allowsOf(after, [item])).length === 0)
  if (unknown !== -1)
    throw invalidField(
      `/allow_outgoing/${unknown}`,
      'names nothing that the server would get',
      'Read the server again: `outgoing` lists each value with its place and where it goes',
    )
  return { ...after, outgoing_allowed: keysAfterEdit(before, after, allowsOf(after, given)) }
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
