import { randomBytes } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { KeyedQueue } from '../../kernel/async/keyed-queue.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import type { ConfigFile, ConfigTarget } from '../catalogue/agent-catalogue.ts'
import { takeLock } from '../files/agent-lock.ts'
import { type LockedFile, lockedFile, pathsOf, recordOf } from '../files/config-target.ts'
import type { Backup, EntryChange } from '../files/file-backups.ts'
import type { Chosen, FileRecord, Intent, NewKey, Outcome } from '../files/ownership-store.ts'
import { assertWritable, type Content, type Reading, readSettled, revisionNow } from '../files/read-config.ts'
import { asAppError, replaceFile } from '../files/replace-config.ts'
import { rollBack, type SettleDeps, settle } from './settle-interrupted-change.ts'

interface Deps extends SettleDeps {
  /** The folder where we record which agents' locks we hold. */
  readonly lockLedger: string
  readonly now: () => number
  /** Called once before the first change, to clean up after a crash. */
  readonly cleanUp: () => void
  readonly onTrouble: (sentence: string, error: unknown) => void
}

interface ChangeRequest {
  readonly target: ConfigTarget
  /** Files that the change may read or write besides those of the target. */
  readonly paths?: readonly string[]
  readonly by: Caller
  readonly action: 'set' | 'remove' | 'undo' | 'restore'
  readonly dryRun: boolean
}

/** The change of one file, computed from one content of it. */
interface FileStep extends Reading {
  readonly file: LockedFile
  /** Null removes the file; undefined leaves it unchanged. */
  readonly next: Buffer | null | undefined
  readonly revision: string | null
  /** The entries that change. */
  readonly names: readonly string[]
  /** What happens to each of them, for the file that the request names. */
  readonly changes?: readonly EntryChange[]
}

/** Everything that one request changes. */
export interface PlannedChange extends Omit<Outcome, 'id'> {
  /** In the order in which they are written. The last one decides whether a change that was interrupted is completed. */
  readonly steps: readonly FileStep[]
  readonly newKey: NewKey | null
  /** What the change does to the servers that the agent sees at the gateway. */
  readonly chosen: Chosen | null
}

/** What was backed up during a write. */
export interface Kept {
  readonly backup: Backup
  /** Content that another program wrote during the replacement; undefined if it could not be kept. */
  readonly foreign: Backup | null | undefined
}

const MAX_TRIES = 3

/** Opens agents' files for changes. All changes that concern a file run one after another, from reading to saving. */
export class FileWriter {
  readonly #deps: Deps
  readonly #turns = new KeyedQueue()
  /** The length of the content that each file is known to have had. */
  readonly #knownBytes = new Map<string, number>()
  #recovered: Promise<void> | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Cleans up after a crash, once. Changes wait for it. */
  recover(): Promise<void> {
    this.#recovered ??= this.#recover()
    return this.#recovered
  }

  /** A content that was read outside of a change. A shorter one may be incomplete, so it is not remembered. */
  observe(path: string, { bytes }: Content): void {
    if (bytes.length > (this.#knownBytes.get(path) ?? 0)) this.#knownBytes.set(path, bytes.length)
  }

  /** Waits for the files' turn and for the agent's lock, which a dry run does not take. The caller closes the result. */
  async open(request: ChangeRequest): Promise<OpenFiles> {
    if (!request.dryRun) await this.recover()
    const paths = [...pathsOf(request.target), ...(request.paths ?? [])]
    const endTurns = await this.#takeTurns(turnsOf(paths))
    const files = new OpenFiles(this.#deps, this.#knownBytes, request, endTurns)
    try {
      if (request.dryRun) return files
      await this.#settlePending(paths)
      await files.lock()
      return files
    } catch (error) {
      files.close()
      throw error
    }
  }

  async #recover(): Promise<void> {
    this.#deps.cleanUp()
    await this.#settlePending()
  }

  async #settlePending(paths?: readonly string[]): Promise<void> {
    for (const intent of this.#deps.store.pending()) {
      if (paths && !intent.files.some(({ path }) => paths.includes(path))) continue
      try {
        await settle(this.#deps, intent)
      } catch (error) {
        this.#deps.onTrouble(`an unfinished change of ${intent.main} cannot be settled yet`, error)
      }
    }
  }

  /** Returns what ends the turns. */
  async #takeTurns(keys: readonly string[]): Promise<() => void> {
    const ends: (() => void)[] = []
    for (const key of keys) ends.push(await this.#turns.enter(key))
    return () => {
      for (const end of ends) end()
    }
  }
}

/**
 * The files of one change: read, planned by the caller, written. The intent is saved first, then the files are replaced,
 * then one transaction saves what belongs to us, the gateway keys and the audit row. A crash at any point is settled
 * from the intent, at the next start or before the next change.
 */
class OpenFiles {
  readonly #deps: Deps
  readonly #knownBytes: Map<string, number>
  readonly #request: ChangeRequest
  /** The same for all files that this request changes. */
  readonly #id = randomBytes(6).toString('hex')
  /** The change is possible on a full disk. */
  readonly #frees: boolean
  readonly #endTurns: () => void
  #releaseLock = () => {}
  #tries = 0
  #hasMadeRoom = false

  constructor(deps: Deps, knownBytes: Map<string, number>, request: ChangeRequest, endTurns: () => void) {
    this.#deps = deps
    this.#knownBytes = knownBytes
    this.#request = request
    this.#frees = request.action === 'remove' || request.action === 'restore'
    this.#endTurns = endTurns
  }

  async lock(): Promise<void> {
    const { lock } = this.#fileAt(this.#request.target.config.path)
    while (lock) {
      try {
        this.#releaseLock = await takeLock(lock)
        return
      } catch (error) {
        this.#throwUnlessRoomIsMade(error)
      }
    }
  }

  close(): void {
    try {
      this.#unlock()
    } finally {
      this.#endTurns()
    }
  }

  /** The settled content of a file, and what is planned for it: it is read again as long as nothing can be planned. */
  async read<T extends object>(
    { path, format }: Pick<ConfigFile, 'path' | 'format'>,
    record: FileRecord | undefined,
    plan: (content: Content | undefined) => T,
  ): Promise<Reading & Pick<FileStep, 'file'> & T> {
    const file = this.#fileAt(path)
    const isOurs = Object.values(record?.entries ?? {}).some(({ parked }) => parked === null)
    const knownBytes = Math.max(this.#knownBytes.get(path) ?? 0, isOurs ? 1 : 0)
    const isValidWhenCut = format === 'toml' || format === 'yaml'
    try {
      let planned!: T
      const reading = await readSettled(file, { knownBytes, isValidWhenCut }, (content) => {
        planned = plan(content)
      })
      this.#knownBytes.set(path, reading.content?.bytes.length ?? 0)
      return { file, ...reading, ...planned }
    } catch (error) {
      throw asAppError(path, error)
    }
  }

  /**
   * Writes and saves what was planned; a dry run writes nothing. Undefined, with nothing changed, if another program has
   * changed one of the files: the caller reads them and plans again.
   */
  async write(planned: PlannedChange): Promise<ReadonlyMap<string, Kept> | undefined> {
    if (this.#request.dryRun) return new Map()
    let kept: ReadonlyMap<string, Kept> | undefined
    try {
      kept = await this.#replaceFiles(planned)
    } catch (error) {
      this.#throwUnlessRoomIsMade(error)
      return undefined
    }
    if (!kept) {
      this.#tries += 1
      if (this.#tries < MAX_TRIES) return undefined
      throw new AppError(
        'config_changed',
        `${this.#request.target.config.path} is being changed by another program`,
        { hint: 'Nothing was changed. Try again in a moment' },
      )
    }
    this.#unlock()
    await this.#deps.store.commit({ ...planned, id: this.#id }, this.#frees || kept.size > 0)
    return kept
  }

  #fileAt(path: string): LockedFile {
    return lockedFile(this.#request.target, path, this.#deps.lockLedger)
  }

  #unlock(): void {
    const release = this.#releaseLock
    this.#releaseLock = () => {}
    release()
  }

  /** A change that frees space may use the reserve for it, once. */
  #throwUnlessRoomIsMade(cause: unknown): void {
    const error = asAppError(this.#request.target.config.path, cause)
    const isFull = error instanceof AppError && error.code === 'disk_full'
    if (!isFull || !this.#frees || this.#hasMadeRoom) throw error
    this.#hasMadeRoom = true
    this.#tries = 0
    this.#deps.store.makeRoom()
  }

  /** Undefined, with nothing changed, if another program has changed one of the files. */
  async #replaceFiles(planned: PlannedChange): Promise<Map<string, Kept> | undefined> {
    const kept = new Map<string, Kept>()
    const steps = planned.steps.filter(({ content, next }) =>
      next === null ? content !== undefined : next !== undefined,
    )
    if (steps.length === 0) return kept
    for (const { real } of steps) assertWritable(real)
    const intent = this.#intentOf(planned, steps)
    await this.#deps.store.begin(intent, this.#frees)
    for (const step of steps) {
      const { path, lock } = step.file
      try {
        const release = path !== intent.main && lock ? await takeLock(lock) : undefined
        const one = await this.#replaceFile(step, planned.chosen).finally(release)
        if (one) kept.set(path, one)
      } catch (error) {
        // The file may be in place in spite of the error. Then the intent stays, and completes the change.
        if (revisionNow(step.file) !== step.revision) await this.#rollBack(intent)
        throw asAppError(path, error)
      }
      if (!kept.has(path)) {
        await this.#rollBack(intent)
        return undefined
      }
    }
    return kept
  }

  async #replaceFile(step: FileStep, chosen: Chosen | null): Promise<Kept | undefined> {
    const { file, real, content, next = null, revision, names, changes } = step
    const { backups, now, store, onTrouble } = this.#deps
    const { agent, config } = this.#request.target
    const isMain = file.path === config.path
    const record = recordOf(store, config)
    const facts = {
      agent_type: agent.type,
      scope: config.scope,
      path: file.path,
      main: config.path,
      change: this.#id,
      action: this.#request.action,
      names,
      request_id: this.#request.by.request_id,
      ts: now(),
      after: revision,
      ...(isMain && { taken_over: record?.taken_over ?? null, connected: record?.chosen ?? null, chosen }),
      ...(changes && { changes }),
    }
    const backup = backups.keep(facts, content?.bytes ?? null)
    const replaced = await replaceFile(real, content, next)
    if (!replaced) return undefined
    this.#knownBytes.set(file.path, next?.length ?? 0)
    if (!replaced.foreign) return { backup, foreign: null }
    try {
      return { backup, foreign: backups.keep({ ...facts, action: 'foreign_edit' }, replaced.foreign) }
    } catch (error) {
      onTrouble(`what another program wrote to ${file.path} could not be kept`, error)
      return { backup, foreign: undefined }
    }
  }

  #intentOf({ records, removedKeys, audit, newKey }: PlannedChange, steps: readonly FileStep[]): Intent {
    const { agent, config, project } = this.#request.target
    return {
      id: this.#id,
      agent_type: agent.type,
      scope: config.scope,
      project_path: project ?? null,
      main: config.path,
      files: steps.map(({ file: { path, root }, content, revision }) => ({
        path,
        root,
        before: content?.revision ?? null,
        after: revision,
      })),
      records,
      removedKeys,
      newKey: newKey && { record: newKey.record, added: newKey.added, removed: newKey.removed },
      audit,
    }
  }

  /** If it fails, the intent stays and is settled before the next change. */
  async #rollBack(intent: Intent): Promise<void> {
    await rollBack(this.#deps, intent).catch((error: unknown) =>
      this.#deps.onTrouble(`a change of ${intent.main} could not be taken back`, error),
    )
  }
}

export type { OpenFiles }

/** Sorted, so that two changes of the same files never wait for each other. A link waits for the file it leads to. */
function turnsOf(paths: readonly string[]): string[] {
  return [...new Set(paths.map(realPathOf))].sort()
}

function realPathOf(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path // it does not exist yet
  }
}
