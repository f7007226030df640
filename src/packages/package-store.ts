import type { AuditEntry } from '../kernel/facts.ts'

export interface AskedEnv {
  readonly name: string
  readonly description: string | null
  readonly required: boolean | null
  readonly from: 'server.json' | 'readme'
}

/** One version of a package as it lies on the disk. */
export interface InstalledVersion {
  readonly version: string
  readonly requested: string
  /** Program to file, below the package's own folder; `direct` are not for Node. */
  readonly bin: Readonly<Record<string, string>>
  readonly direct: readonly string[]
  readonly size_bytes: number
  readonly integrity: string | null
  readonly license: string | null
  readonly deprecated: string | null
  readonly engines: string | null
  /** Packages in its tree that want to run a script when they are installed. */
  readonly scripts: readonly string[]
  readonly scripts_ran: boolean
  readonly asks_for_env: readonly AskedEnv[]
  readonly installed_at: number
}

export interface PackageRecord {
  readonly id: string
  readonly name: string
  readonly latest: string | null
  readonly current: InstalledVersion
  readonly previous: InstalledVersion | null
}

/** What this room needs of the store. */
export interface PackageStore {
  all(): readonly PackageRecord[]
  save(record: PackageRecord, audit: AuditEntry | null): Promise<void>
  remove(name: string, audit: AuditEntry): Promise<void>
}
