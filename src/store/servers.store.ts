import type { ServerKind } from '../kernel/fact-bus.ts'
import type { Vault } from '../kernel/secrets/vault.ts'
import type { CatalogueStore, StoredCatalogue } from '../servers/shared/catalogues.ts'
import type { ServerRecord } from '../servers/shared/server-fields.ts'
import type { ServerStore } from '../servers/shared/server-registry.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'
import { digestOf, type Tables } from './configuration/tables.ts'

type Row = Tables['tool_servers']
const SEALED: readonly string[] = ['env', 'args', 'headers', 'url', 'oauth', 'outgoing_allowed']

/**
 * Servers of both kinds. Decrypted once, then answered from memory: the instance lock guarantees that no other process
 * changes the table.
 */
export class ServerTable {
  readonly #database: ConfigurationDatabase
  readonly #vault: Vault
  readonly #maximum: number
  readonly #records = new Map<string, { readonly kind: ServerKind; readonly record: ServerRecord }>()

  private constructor(database: ConfigurationDatabase, vault: Vault, maximum: number) {
    this.#database = database
    this.#vault = vault
    this.#maximum = maximum
  }

  /** `complete` adds the fields that older rows do not have. */
  static async open(
    database: ConfigurationDatabase,
    vault: Vault,
    maximum: number,
    complete: (kind: ServerKind, record: ServerRecord) => ServerRecord = (_, record) => record,
  ): Promise<ServerTable> {
    const table = new ServerTable(database, vault, maximum)
    const rows = database.db.selectFrom('tool_servers').selectAll().orderBy('created_at')
    for (const row of await rows.execute()) {
      try {
        table.#keep(row.type, complete(row.type, fromRow(row, vault)))
      } catch {
        throw await database.refuse(`the server '${row.id}' cannot be read`)
      }
    }
    return table
  }

  of<T extends ServerRecord>(kind: ServerKind): ServerStore<T> {
    return {
      all: async () => this.#ofKind(kind) as T[],
      find: async (key) => this.#find(kind, key) as T | undefined,
      insert: (server, audit) =>
        this.#database.change<'inserted' | 'taken' | 'full'>(
          async (trx) => {
            if (this.#isTaken(server)) return ['taken', null]
            if (this.#records.size >= this.#maximum) return ['full', null]
            const row = toRow(kind, server, this.#vault)
            await trx.insertInto('tool_servers').values(row).execute()
            return ['inserted', audit]
          },
          { committed: (outcome) => outcome === 'inserted' && this.#keep(kind, server) },
        ),
      change: (id, edit) =>
        this.#database.change<T | 'taken' | undefined>(
          async (trx) => {
            const current = this.#byId(kind, id) as T | undefined
            const edited = current && edit(current)
            if (!edited) return [current, null]
            if (this.#isTaken(edited.next, id)) return ['taken', null]
            const row = toRow(kind, edited.next, this.#vault)
            await trx.updateTable('tool_servers').set(row).where('id', '=', id).execute()
            return [edited.next, edited.audit]
          },
          { committed: (next) => typeof next === 'object' && this.#keep(kind, next) },
        ),
      remove: (id, audit) =>
        this.#database.change(
          async (trx) => {
            if (!this.#byId(kind, id)) return [false, null]
            await trx.deleteFrom('tool_servers').where('id', '=', id).execute()
            for (const table of ['wishes', 'catalogues', 'pins', 'logins', 'tries'] as const)
              await trx.deleteFrom(table).where('server_id', '=', id).execute()
            return [true, audit]
          },
          { frees: true, committed: (removed) => removed && this.#records.delete(id) },
        ),
    }
  }

  /** The id of the server with this id or name; an id takes precedence. */
  idOf(key: string, kind?: ServerKind): string | undefined {
    const kinds = kind ? [kind] : (['stdio', 'http'] as const)
    return kinds.map((each) => this.#find(each, key)?.id).find((id) => id !== undefined)
  }

  has(id: string): boolean {
    return this.#records.has(id)
  }

  record(id: string): ServerRecord | undefined {
    return this.#records.get(id)?.record
  }

  #ofKind(kind: ServerKind): ServerRecord[] {
    return [...this.#records.values()].filter((entry) => entry.kind === kind).map((entry) => entry.record)
  }

  #byId(kind: ServerKind, id: string): ServerRecord | undefined {
    const entry = this.#records.get(id)
    return entry?.kind === kind ? entry.record : undefined
  }

  #find(kind: ServerKind, key: string): ServerRecord | undefined {
    return this.#byId(kind, key) ?? this.#ofKind(kind).find((record) => record.name === key)
  }

  #keep(kind: ServerKind, record: ServerRecord): void {
    this.#records.set(record.id, { kind, record })
  }

  #isTaken(server: ServerRecord, except?: string): boolean {
    if (except === undefined && this.#records.has(server.id)) return true
    return [...this.#records.values()].some(
      ({ record }) => record.id !== except && record.name === server.name,
    )
  }
}

function toRow(kind: ServerKind, server: ServerRecord, vault: Vault): Row {
  const { id, name, created_at, updated_at, revision, ...fields } = server as ServerRecord &
    Record<string, unknown>
  const open = Object.entries(fields).filter(([field]) => !SEALED.includes(field))
  const open_fields = JSON.stringify(Object.fromEntries(open))
  const plain = { id, type: kind, name, open_fields, created_at, updated_at, revision }
  const sealed = Object.entries(fields).filter(([field]) => SEALED.includes(field))
  const texts = [...sealed, [WITNESS, rowDigest(plain)] as const].map(([field, value]) => [
    field,
    vault.seal(`${id}:${field}`, value),
  ])
  return { ...plain, sealed_fields: JSON.stringify(Object.fromEntries(texts)) }
}

/** Throws when any bit of the row was changed since it was written. */
function fromRow({ sealed_fields, ...plain }: Row, vault: Vault): ServerRecord {
  const sealed = Object.entries(JSON.parse(sealed_fields) as Record<string, string>)
  const opened = sealed.map(([field, text]) => [field, vault.open(`${plain.id}:${field}`, text)])
  const { [WITNESS]: witness, ...fields } = Object.fromEntries(opened)
  if (witness !== rowDigest(plain)) throw new Error('the row was changed outside Toolroom')
  const { id, name, created_at, updated_at, revision } = plain
  return { ...JSON.parse(plain.open_fields), ...fields, id, name, created_at, updated_at, revision }
}

/** Key of the sealed digest of the plain-text fields. */
const WITNESS = 'row'

const DIGESTED = ['id', 'type', 'name', 'open_fields', 'created_at', 'updated_at', 'revision'] as const
const rowDigest = (row: Omit<Row, 'sealed_fields'>): string =>
  digestOf(JSON.stringify(DIGESTED.map((field) => row[field])))

/** Cached server catalogues. A damaged row is skipped; the next start of the server writes it again. */
export function catalogueStore(database: ConfigurationDatabase, servers: ServerTable): CatalogueStore {
  return {
    async all() {
      const rows = await database.db.selectFrom('catalogues').selectAll().execute()
      return new Map(
        rows
          .filter(({ body, digest }) => digestOf(body) === digest)
          .map(({ server_id, body }): [string, StoredCatalogue] => [server_id, JSON.parse(body)]),
      )
    },
    save: (catalogues) =>
      database.change(async (trx) => {
        const rows = [...catalogues]
          .filter(([id]) => servers.has(id))
          .map(([server_id, catalogue]) => ({ server_id, body: JSON.stringify(catalogue) }))
          .map((row) => ({ ...row, digest: digestOf(row.body) }))
        for (const row of rows) await trx.replaceInto('catalogues').values(row).execute()
        return [undefined, null]
      }),
  }
}
