import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isMarked, syncFolder } from '../kernel/files/durable-file.ts'
import type { PackageRecord } from './package-store.ts'

/** A version in its place that is not in use yet. */
export interface Placed {
  readonly use: () => void
  /** Deletes what was in its place before. */
  readonly keep: () => Promise<void>
  /** Moves it back to its staging folder, and puts the version before it in use again. */
  readonly undo: (before?: PackageRecord) => void
}

/**
 * The folders of packages, one for each version, moved into place when complete. Only what the store records is
 * installed; other folders with our marker are leftovers.
 */
export class PackageFolders {
  readonly #root: string

  constructor(dataFolder: string) {
    this.#root = join(dataFolder, 'packages')
  }

  of({ id }: Pick<PackageRecord, 'id'>, version: string): string {
    return join(this.#root, id, version)
  }

  /** The path of a new folder for a package that is not complete yet. Its marker stays with it when it is moved. */
  newStaging(): string {
    return join(this.#root, STAGING, randomBytes(6).toString('hex'))
  }

  /** A link to the version in use. The path does not change with the version: agents' files contain it. */
  current({ id }: Pick<PackageRecord, 'id'>): string {
    return join(this.#root, id, CURRENT)
  }

  /**
   * Moves a staging folder to the place of this version; null when it is there already. Everything that needs space on the
   * disk happens here. Until `keep`, `undo` restores what was there before. Throws without a trace.
   */
  place(staging: string | null, record: Pick<PackageRecord, 'id'>, version: string): Placed {
    const folder = this.of(record, version)
    const link = this.current(record)
    const nextLink = `${link}.${randomBytes(4).toString('hex')}`
    let aside: string | undefined
    let isMoved = false
    let isUsed = false
    const undo = (before?: PackageRecord) => {
      rmSync(isUsed && !before ? link : nextLink, { force: true })
      if (isMoved && staging !== null) renameSync(folder, staging)
      if (aside !== undefined) renameSync(aside, folder)
      if (isUsed && before) this.use(before, before.current.version)
      removeIfEmpty(dirname(folder))
    }
    try {
      mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
      symlinkSync(folder, nextLink, 'junction')
      if (staging !== null) {
        if (existsSync(folder)) {
          const path = this.newStaging()
          renameSync(folder, path)
          aside = path
        }
        renameSync(staging, folder)
        isMoved = true
        syncFolder(dirname(folder))
      }
    } catch (error) {
      undo()
      throw error
    }
    return {
      use: () => {
        renameSync(nextLink, link)
        isUsed = true
        syncFolder(dirname(link))
      },
      keep: async () => {
        if (aside !== undefined) await removeFolder(aside)
      },
      undo,
    }
  }

  /** Makes this version the one in use. */
  use(record: Pick<PackageRecord, 'id'>, version: string): void {
    const { use } = this.place(null, record, version)
    use()
  }

  /** Moves the folder away at once, if there is space for that; deleting it may take longer. */
  async remove(record: Pick<PackageRecord, 'id'>, version?: string): Promise<void> {
    const folder = version === undefined ? join(this.#root, record.id) : this.of(record, version)
    const aside = this.newStaging()
    try {
      mkdirSync(dirname(aside), { recursive: true, mode: 0o700 })
      renameSync(folder, aside)
    } catch {
      return removeFolder(folder) // a full disk, or nothing there
    }
    await removeFolder(aside)
  }

  /** Deletes what an interrupted install left and what the store does not record, if it has our marker. */
  cleanUp(known: readonly PackageRecord[]): void {
    for (const id of namesIn(this.#root)) {
      const folder = join(this.#root, id)
      const record = known.find((each) => each.id === id)
      const kept = record ? [record.current.version, record.previous?.version, CURRENT] : []
      if (record && linkOf(this.current(record)) !== this.of(record, record.current.version))
        this.use(record, record.current.version)
      for (const name of namesIn(folder)) if (!kept.includes(name)) removeOurs(join(folder, name), name)
      if (!record) removeIfEmpty(folder)
    }
  }
}

const STAGING = '.staging'
const CURRENT = 'current'
/** The link, and its next one before it is renamed. */
const LINK = /^current(?:\.[0-9a-f]{8})?$/

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 3 })

/** Undefined when there is no link. */
function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined // a new installation, or one that was interrupted
  }
}

/** A version with our marker, a staging folder, or a link to the version in use. Everything else stays. */
function removeOurs(path: string, name: string): void {
  const isLink = LINK.test(name) && lstatSync(path).isSymbolicLink()
  const isStaging = basename(dirname(path)) === STAGING && /^[0-9a-f]{12}$/.test(name)
  if (isLink || isStaging || isMarked(path)) rmSync(path, { recursive: true, force: true })
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // it is a file, or contains other versions or files that are not ours
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // the folder does not exist before the first install
  }
}
