import type { AuditEntry } from '../../kernel/facts.ts'
import type { Json } from '../formats/format.ts'

/** An entry that Toolroom wrote. */
export interface OwnedEntry {
  /** The registered server that it was made from. */
  readonly server_id: string | null
  /** Of the entry as we wrote it. */
  readonly hash: string
  /** A disabled entry of an agent that has no switch. It is kept here instead of in the file. */
  readonly parked: Json | null
}

/** What we remember of the entries under one key path of one file. Nothing of this is in the file itself. */
export interface FileRecord {
  readonly agent_type: string
  readonly scope: string
  readonly project_path: string | null
  readonly path: string
  readonly key_path: readonly string[]
  /** What the file held before our first entry; see `formats/format.ts`. */
  readonly trace: string | null
  /** Toolroom created the file. It is removed again with the last of our entries. */
  readonly made_file: boolean
  readonly entries: Readonly<Record<string, OwnedEntry>>
}

/** What this room needs of the store. */
export interface OwnershipStore {
  all(): readonly FileRecord[]
  /** Replaces the record with the same path and key path. A record without entries and trace is deleted. */
  save(record: FileRecord, audit: AuditEntry | null): Promise<void>
}

export function recordOf(
  store: Pick<OwnershipStore, 'all'>,
  path: string,
  keyPath: readonly string[],
): FileRecord | undefined {
  return store.all().find((record) => record.path === path && isSamePath(record.key_path, keyPath))
}

const isSamePath = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((name, index) => name === b[index])
