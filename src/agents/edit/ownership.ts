import type { AuditEntry } from '../../kernel/facts.ts'
import type { Json } from '../formats/format.ts'

/** An entry that Toolroom wrote. */
export interface Owned {
  /** The registered server that it was made from. */
  readonly server_id: string | null
  /** Of the entry as we left it. */
  readonly hash: string
  /** Where the agent has no switch, an entry that is off is kept here and not in the file. */
  readonly parked: Json | null
}

/** What we remember of the entries in one place of one file. Nothing of it stands in the file itself. */
export interface FileRecord {
  readonly agent_type: string
  readonly scope: string
  readonly project_path: string | null
  readonly path: string
  readonly key_path: readonly string[]
  /** What stood there before our first entry; see `formats/format.ts`. */
  readonly trace: string | null
  /** There was no file before we wrote it, so that without our entries there is none again. */
  readonly made_file: boolean
  readonly entries: Readonly<Record<string, Owned>>
}

/** What this room needs of the store. */
export interface OwnershipStore {
  all(): readonly FileRecord[]
  /** Takes the place of the record with the same file and key path; one without entries and trace is forgotten. */
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
