import type { AuditEntry } from '../../kernel/fact-bus.ts'
import type { KeyRecord } from '../../kernel/secrets/vault.ts'
import type { Json, Path } from '../catalogue/json-value.ts'
import type { Patch } from '../diff/text-patch.ts'

/** An entry that Toolroom wrote. */
export interface OwnedEntry {
  /** The registered server that it was made from. */
  readonly server_id: string | null
  /** Of the entry as we wrote it. */
  readonly hash: string
  /** A disabled entry of an agent that has no switch. It is kept here instead of in the file. */
  readonly parked: Json | null
  /** As we wrote it into the file. Missing in records of earlier versions. */
  readonly value?: Json
  /** Another program changed it, and the user kept that: it may be another server than the one it was made from. */
  readonly accepted?: boolean
  /** Toolroom did not write it: the user's own entry, which comes back as it was. */
  readonly own?: boolean
  /** From the file without it to the one with it. */
  readonly patch?: Patch | null
}

/** An entry of the agent's own that leads to the gateway now, or left the file because the gateway offers its server. */
export interface TakenEntry {
  readonly name: string
  /** Its scope, which may be narrower than that of the gateway entry: a project of the same file. */
  readonly scope: string
  /** The registered server behind it. */
  readonly server_id: string
  readonly path: Path
  readonly value: Json
  /** What we knew of it, if Toolroom wrote it. */
  readonly owned: OwnedEntry | null
  /** An entry of the same name stands in its place, and leads to this one server at the gateway. */
  readonly replaced?: boolean
}

/** The entries that come back when the agent is disconnected. */
export interface TakenOver {
  readonly entries: readonly TakenEntry[]
  /** From the current text to the one without the take-over; null if its exact bytes are not known. */
  readonly patch: Patch | null
  /** `trace` and `made_file` of the file without the take-over. */
  readonly trace: string | null
  readonly made_file: boolean
}

/** The servers that an agent sees at the gateway. Null: all, also those that are added later. */
export type Choice = readonly string[] | null

/** What an agent saw before a change, and what it was given then. */
export interface Chosen {
  readonly before: Choice
  readonly after: Choice
}

/** What we remember of the entries under one key path of one file. Nothing of this is in the file itself. */
export interface FileRecord {
  readonly agent_type: string
  readonly scope: string
  readonly project_path: string | null
  readonly path: string
  readonly key_path: readonly string[]
  /** What the file held before our first entry; see `agents/formats/format.ts`. */
  readonly trace: string | null
  /** Toolroom created the file. It is removed again with the last of our entries. */
  readonly made_file: boolean
  readonly entries: Readonly<Record<string, OwnedEntry>>
  /** The ids of the gateway keys in these entries. Missing in records of earlier versions. */
  readonly keys?: readonly string[]
  /** Missing in records of earlier versions. */
  readonly taken_over?: TakenOver | null
  /** Before it was connected through this file, and since then. */
  readonly chosen?: Chosen | null
}

/** Whether the agent was taken over with an entry for each server. */
export const keepsNamesIn = (record: FileRecord | undefined): boolean =>
  record?.taken_over?.entries.some(({ replaced }) => replaced) ?? false

/** A gateway key that is saved together with the change that writes it into a file. */
export interface NewKey {
  readonly record: KeyRecord
  readonly added: AuditEntry
  /** For a change that is not made after all. */
  readonly removed: AuditEntry
}

export interface KeyRemoval {
  readonly id: string
  readonly audit: AuditEntry
}

/** What a change leads to besides the content of files. It is saved in one transaction. */
export interface Outcome {
  /** The id of the change. */
  readonly id: string
  /** Each replaces the record with the same path and key path. A record without content is deleted. */
  readonly records: readonly FileRecord[]
  /** A key that is gone already is no error. */
  readonly removedKeys: readonly KeyRemoval[]
  readonly audit: AuditEntry | null
}

/** What a change is going to do. It is saved before the first file is written, and settled after a crash. */
export interface Intent extends Outcome {
  readonly agent_type: string
  readonly scope: string
  readonly project_path: string | null
  /** The file that the request named. */
  readonly main: string
  /** In the order in which they are written, with the revisions of their content; null if there is no file. */
  readonly files: readonly {
    readonly path: string
    readonly root: string
    readonly before: string | null
    readonly after: string | null
  }[]
  readonly newKey: NewKey | null
}

/** What agents need of the store. Each method is one transaction. `frees` allows it on a full disk. */
export interface OwnershipStore {
  all(): readonly FileRecord[]
  /** Changes that were begun and neither committed nor cancelled. */
  pending(): readonly Intent[]
  /** Saves the intent and its new key, which is valid from now on. */
  begin(intent: Intent, frees: boolean): Promise<void>
  /** Saves the outcome and deletes the intent, if there is one. */
  commit(outcome: Outcome, frees: boolean): Promise<void>
  /** Deletes the intent and its new key. */
  cancel(intent: Intent): Promise<void>
  /** Frees the space that is reserved for changes that free space. */
  makeRoom(): void
}
