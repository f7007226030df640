import type { AuditEntry } from '../kernel/fact-bus.ts'
import type { PackageRecord, PackageStore } from '../servers/packages/package-record.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'
import { digestOf } from './configuration/tables.ts'

/** Installed packages. Read once, then answered from memory. */
export async function openPackageStore(database: ConfigurationDatabase): Promise<PackageStore> {
  const records = new Map<string, PackageRecord>()
  for (const { name, body, digest } of await database.db.selectFrom('packages').selectAll().execute()) {
    if (digestOf(body) !== digest) throw await database.refuse(`the package '${name}' cannot be read`)
    records.set(name, JSON.parse(body))
  }
  const save = (record: PackageRecord, audit: AuditEntry | null, frees: boolean) => {
    const { name } = record
    const body = JSON.stringify(record)
    const row = { name, body, digest: digestOf(body) }
    return database.put('packages', row, audit, { frees, committed: () => records.set(name, record) })
  }
  return {
    all: () => [...records.values()],
    save: (record, audit) => save(record, audit, false),
    restore: (record, audit) => save(record, audit, true),
    remove: (name, audit) => database.delete('packages', ['name', name], audit, () => records.delete(name)),
  }
}
