import type { AuditEntry } from '../../kernel/fact-bus.ts'

/** An environment variable that a package documents. Null: not documented. */
export interface EnvHint {
  readonly name: string
  readonly description: string | null
  readonly required: boolean | null
  readonly from: 'server.json' | 'readme'
}

/** One version of a package on the disk. */
export interface InstalledVersion {
  readonly version: string
  readonly requested: string
  /** Program names and their files below the package's folder. Those in `direct` are not run with Node. */
  readonly bin: Readonly<Record<string, string>>
  readonly direct: readonly string[]
  readonly size_bytes: number
  readonly integrity: string | null
  readonly license: string | null
  readonly deprecated: string | null
  readonly engines: string | null
  /** Packages in its dependency tree that have install scripts. */
  readonly scripts: readonly string[]
  readonly scripts_ran: boolean
  readonly asks_for_env: readonly EnvHint[]
  readonly installed_at: number
}

export interface PackageRecord {
  readonly id: string
  readonly name: string
  readonly latest: string | null
  readonly current: InstalledVersion
  readonly previous: InstalledVersion | null
}

export interface PackageStore {
  all(): readonly PackageRecord[]
  save(record: PackageRecord, audit: AuditEntry | null): Promise<void>
  /** Saves an earlier record again, also on a full disk. */
  restore(record: PackageRecord, audit: AuditEntry): Promise<void>
  remove(name: string, audit: AuditEntry): Promise<void>
}
