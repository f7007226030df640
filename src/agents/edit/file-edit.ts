import type { Backup, Backups } from '../files/backups.ts'
import { type ConfigFile, changeConfig, readConfig } from '../files/config-file.ts'
import type { Content } from '../files/config-text.ts'
import type { FileRecord } from './ownership.ts'

export interface NewContent {
  /** Null removes the file; undefined leaves it unchanged. */
  readonly next: Buffer | null | undefined
  readonly revision: string | null
}

/** What was backed up during a write; nulls for a dry run or if nothing changed. */
export interface Kept {
  readonly backup: Backup | null
  /** Content that another program wrote during the replacement. */
  readonly foreign: Backup | null
}

export interface EditSteps<T extends NewContent> {
  readonly file: ConfigFile
  /** Our current record of the file, which `compute` depends on. */
  readonly record: () => FileRecord | undefined
  readonly compute: (content: Content | undefined, record: FileRecord | undefined) => T
  readonly backupFacts: (computed: T) => Omit<Backup, 'id' | 'ts' | 'before' | 'after'>
}

/**
 * One change of one file. The change is computed once for each content of the file, so the preview and the write share
 * the result. It is computed again only if the file, or our record of it, has changed in between.
 */
export class FileEdit<T extends NewContent> {
  readonly #deps: { readonly backups: Backups; readonly now: () => number }
  readonly #steps: EditSteps<T>
  #last:
    | { readonly revision: string | null; readonly record: FileRecord | undefined; readonly computed: T }
    | undefined

  constructor(deps: { readonly backups: Backups; readonly now: () => number }, steps: EditSteps<T>) {
    this.#deps = deps
    this.#steps = steps
  }

  /** The result of a write, without writing. */
  preview(): T & Kept {
    return { ...this.#compute(readConfig(this.#steps.file)), backup: null, foreign: null }
  }

  /** Replaces the file. The old content is backed up first. */
  async write(): Promise<T & Kept> {
    const { backups, now } = this.#deps
    const kept: { backup: Backup | null; foreign: Backup | null } = { backup: null, foreign: null }
    const written = await changeConfig(this.#steps.file, (content) => {
      const computed = this.#compute(content)
      const facts = { ...this.#steps.backupFacts(computed), ts: now(), after: computed.revision }
      return {
        next: computed.next,
        result: computed,
        backUp: () => {
          const backup = backups.keep(facts, content?.bytes ?? null)
          kept.backup = backup
          return () => {
            backups.discard(backup)
            kept.backup = null
          }
        },
        onForeign: (bytes) => {
          kept.foreign = backups.keep({ ...facts, action: 'foreign_edit' }, bytes)
        },
      }
    })
    return { ...written, ...kept }
  }

  #compute(content: Content | undefined): T {
    const revision = content?.revision ?? null
    const record = this.#steps.record()
    if (this.#last?.revision !== revision || this.#last.record !== record)
      this.#last = { revision, record, computed: this.#steps.compute(content, record) }
    return this.#last.computed
  }
}
