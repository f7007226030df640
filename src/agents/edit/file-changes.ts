import { realpathSync } from 'node:fs'
import { Turns } from '../../kernel/async/turns.ts'
import { AppError } from '../../kernel/errors.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { FileFormat } from '../catalogue/catalogue.schema.ts'
import { type LockFacts, withLock } from '../files/agent-lock.ts'
import type { Backup, Backups } from '../files/backups.ts'
import { asAppError, type ConfigFile, replaceFile } from '../files/config-file.ts'
import type { ConfigTarget } from '../files/config-target.ts'
import { assertWritable } from '../files/file-safety.ts'
import {
  type FileRecord,
  type Intent,
  type NewKey,
  type Outcome,
  type OwnershipStore,
  recordOf,
} from '../files/ownership.ts'
import { type Reading, readSettled } from '../files/settled-read.ts'
import type { Content } from '../formats/config-text.ts'
import { revisionNow, rollBack, type SettleDeps, settle } from './settle.ts'

export interface FileDeps extends SettleDeps {
  readonly store: OwnershipStore
  readonly backups: Backups
  readonly now: () => number
  /** Called once before the first change, to clean up after a crash. */
  readonly cleanUp: () => void
  readonly onTrouble: (sentence: string, error: unknown) => void
}

export interface ChangeRequest {
  readonly target: ConfigTarget
  /** The files that the change may read or write. */
  readonly paths: readonly string[]
  /** The agent's own lock, which protects its main file. */
  readonly lock: LockFacts | null
  readonly by: Caller
  readonly action: 'set' | 'remove' | 'undo' | 'restore'
  /** The same for all files that this request changes. */
  readonly changeId: string
  readonly dryRun: boolean
}

/** The change of one file, computed from one content of it. */
export interface FileStep
  extends Reading<{ readonly next: Buffer | null | undefined; readonly revision: string | null }> {
  readonly file: ConfigFile
  /** The entries that change. */
  readonly names: readonly string[]
}

/** Everything that one request changes. */
export interface PlannedChange extends Omit<Outcome, 'id'> {
  /** In the order in which they are written. The last one decides whether a change that was interrupted is completed. */
  readonly steps: readonly FileStep[]
  readonly newKey: NewKey | null
}

/** What was backed up during a write. */
export interface Kept {
  readonly backup: Backup
  /** Content that another program wrote during the replacement; undefined if it could not be kept. */
  readonly foreign: Backup | null | undefined
}

const MAX_TRIES = 3

/**
 * Changes of agents' files. All requests that concern a file run one after another, from the plan to the audit row:
 * the intent is saved first, then the files are replaced, then one transaction saves what belongs to us, the gateway
 * keys and the audit row. A crash at any point is settled from the intent, at the next start or before the next change.
 */
export class FileChanges {
  readonly #deps: FileDeps
  readonly #turns = new Turns()
  /** The length of the content that each file is known to have had. */
  readonly #knownBytes = new Map<string, number>()
  #recovered: Promise<void> | undefined

  constructor(deps: FileDeps) {
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

  /** Reads a file for a change, and computes the change. */
  async read<T>(
    file: ConfigFile,
    format: FileFormat,
    record: FileRecord | undefined,
    compute: (content: Content | undefined) => T,
  ): Promise<Reading<T> & { readonly file: ConfigFile }> {
    const isOurs = Object.values(record?.entries ?? {}).some(({ parked }) => parked === null)
    const knownBytes = Math.max(this.#knownBytes.get(file.path) ?? 0, isOurs ? 1 : 0)
    const isValidWhenCut = format === 'toml' || format === 'yaml'
    const reading = await readSettled(file, { knownBytes, isValidWhenCut }, compute)
    this.#knownBytes.set(file.path, reading.content?.bytes.length ?? 0)
    return { file, ...reading }
  }

  /** Runs the plan, and writes what it says. A dry run writes nothing. */
  async run<P extends PlannedChange>(
    request: ChangeRequest,
    plan: () => Promise<P>,
  ): Promise<{ readonly planned: P; readonly kept: ReadonlyMap<string, Kept> }> {
    if (!request.dryRun) await this.recover()
    return this.#inTurns(turnsOf(request.paths), async () => {
      if (request.dryRun) return { planned: await plan(), kept: new Map() }
      await this.#settlePending(request.paths)
      const frees = request.action === 'remove' || request.action === 'restore'
      const { planned, kept } = await this.#write(request, plan, frees).catch((error: unknown) => {
        if (!frees || !(error instanceof AppError) || error.code !== 'disk_full') throw error
        this.#deps.store.makeRoom()
        return this.#write(request, plan, frees)
      })
      await this.#deps.store.commit({ ...planned, id: request.changeId }, frees || kept.size > 0)
      return { planned, kept }
    })
  }

  /** Plans and writes until no other program has changed a file in between. */
  async #write<P extends PlannedChange>(request: ChangeRequest, plan: () => Promise<P>, frees: boolean) {
    const { path } = request.target.place
    try {
      return await withLock(request.lock, async () => {
        for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
          const planned = await plan()
          const steps = planned.steps.filter(({ content, result: { next } }) =>
            next === null ? content !== undefined : next !== undefined,
          )
          if (steps.length === 0) return { planned, kept: new Map<string, Kept>() }
          for (const { real } of steps) assertWritable(real)
          const intent = intentOf(request, planned, steps)
          await this.#deps.store.begin(intent, frees)
          const kept = await this.#writeSteps(request, intent, steps)
          if (kept) return { planned, kept }
        }
        throw new AppError('config_changed', `${path} is being changed by another program`, {
          hint: 'Nothing was changed. Try again in a moment',
        })
      })
    } catch (error) {
      throw asAppError(path, error)
    }
  }

  /** Undefined, with nothing changed, if another program has changed one of the files. */
  async #writeSteps(
    request: ChangeRequest,
    intent: Intent,
    steps: readonly FileStep[],
  ): Promise<Map<string, Kept> | undefined> {
    const kept = new Map<string, Kept>()
    for (const step of steps) {
      const { path, lock } = step.file
      try {
        const isMain = path === intent.main
        const one = await withLock(isMain ? null : lock, () => this.#writeStep(request, step))
        if (one) kept.set(path, one)
      } catch (error) {
        // The file may be in place in spite of the error. Then the intent stays, and completes the change.
        if (revisionNow(step.file) !== step.result.revision) await this.#rollBack(intent)
        throw asAppError(path, error)
      }
      if (!kept.has(path)) {
        await this.#rollBack(intent)
        return undefined
      }
    }
    return kept
  }

  async #writeStep(request: ChangeRequest, step: FileStep): Promise<Kept | undefined> {
    const { backups, now } = this.#deps
    const { next = null, revision } = step.result
    const { path, keyPath } = request.target.place
    const taken_over = recordOf(this.#deps.store, path, keyPath)?.taken_over ?? null
    const facts = {
      ...backupFacts(request, step),
      ts: now(),
      after: revision,
      ...(step.file.path === path && { taken_over }),
    }
    const backup = backups.keep(facts, step.content?.bytes ?? null)
    const replaced = await replaceFile(step.real, step.content, next)
    if (!replaced) return undefined
    this.#knownBytes.set(step.file.path, next?.length ?? 0)
    const { foreign } = replaced
    if (!foreign) return { backup, foreign: null }
    try {
      return { backup, foreign: backups.keep({ ...facts, action: 'foreign_edit' }, foreign) }
    } catch (error) {
      this.#deps.onTrouble(`what another program wrote to ${step.file.path} could not be kept`, error)
      return { backup, foreign: undefined }
    }
  }

  /** If it fails, the intent stays and is settled before the next change. */
  async #rollBack(intent: Intent): Promise<void> {
    await rollBack(this.#deps, intent).catch((error: unknown) =>
      this.#deps.onTrouble(`a change of ${intent.main} could not be taken back`, error),
    )
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

  #inTurns<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const [first, ...rest] = keys
    return first === undefined ? work() : this.#turns.take(first, () => this.#inTurns(rest, work))
  }
}

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

function backupFacts({ target, by, action, changeId }: ChangeRequest, { file, names }: FileStep) {
  return {
    agent_type: target.agent.type,
    scope: target.place.scope,
    path: file.path,
    main: target.place.path,
    change: changeId,
    action,
    names,
    request_id: by.request_id,
  }
}

function intentOf(
  { target, changeId }: ChangeRequest,
  { records, removedKeys, audit, newKey }: PlannedChange,
  steps: readonly FileStep[],
): Intent {
  return {
    id: changeId,
    agent_type: target.agent.type,
    scope: target.place.scope,
    project_path: target.project ?? null,
    main: target.place.path,
    files: steps.map(({ file: { path, root }, content, result }) => ({
      path,
      root,
      before: content?.revision ?? null,
      after: result.revision,
    })),
    records,
    removedKeys,
    newKey: newKey && { record: newKey.record, added: newKey.added, removed: newKey.removed },
    audit,
  }
}
