import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { IS_WINDOWS, isMarked, renameOver, syncFolder } from '../../kernel/files/durable-file.ts'
import type { PackageRecord } from './package-record.ts'

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
  readonly #makeLink: MakeLink

  constructor(dataFolder: string, makeLink: MakeLink = IS_WINDOWS ? makeJunction : makeSymlink) {
    this.#root = join(dataFolder, 'packages')
    this.#makeLink = makeLink
  }

  of({ id }: Pick<PackageRecord, 'id'>, version: string): string {
    return join(this.#root, id, version)
  }

  /** The path of a new folder for a package that is not complete yet. Its marker stays with it when it is moved. */
  newStaging(): string {
    return join(this.#root, STAGING, randomBytes(6).toString('hex'))
  }

  /**
   * A link to the version in use. The path does not change with the version: agents' files contain it. The folder of the
   * version itself on a drive that has no links.
   */
  current(record: Pick<PackageRecord, 'id' | 'current'>): string {
    const link = this.#linkOf(record)
    return this.#makeLink === makeSymlink || existsSync(link) ? link : this.of(record, record.current.version)
  }

  #linkOf({ id }: Pick<PackageRecord, 'id'>): string {
    return join(this.#root, id, CURRENT)
  }

  /**
   * Moves a staging folder to the place of this version; null when it is there already. Everything that needs space on the
   * disk happens here. Until `keep`, `undo` restores what was there before. Throws without a trace.
   */
  place(staging: string | null, record: Pick<PackageRecord, 'id'>, version: string): Placed {
    const folder = this.of(record, version)
    const link = this.#linkOf(record)
    const nextLink = `${link}.${randomBytes(4).toString('hex')}`
    let isLinked = false
    let aside: string | undefined
    let isMoved = false
    let isUsed = false
    const undo = (before?: PackageRecord) => {
      rmSync(isUsed && !before ? link : nextLink, { force: true })
      if (isMoved && staging !== null) renameOver(folder, staging)
      if (aside !== undefined) renameOver(aside, folder)
      if (isUsed && before) this.use(before, before.current.version)
      removeIfEmpty(dirname(folder))
    }
    try {
      mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
      isLinked = this.#makeLink(folder, nextLink)
      if (staging !== null) {
        if (existsSync(folder)) {
          const path = this.newStaging()
          renameOver(folder, path)
          aside = path
        }
        renameOver(staging, folder)
        isMoved = true
        syncFolder(dirname(folder))
      }
    } catch (error) {
      undo()
      throw error
    }
    return {
      use: () => {
        if (IS_WINDOWS || !isLinked) rmSync(link, { force: true }) // a rename replaces no folder there
        if (isLinked) renameOver(nextLink, link)
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
      renameOver(folder, aside)
    } catch {
      return removeFolder(folder) // a full disk, or nothing there
    }
    await removeFolder(aside)
  }

  /**
   * Deletes what an interrupted install left and what the store does not record, if it has our marker. Call it before servers
   * start: it also repairs the link to the current version.
   */
  cleanUp(known: readonly PackageRecord[]): void {
    for (const id of namesIn(this.#root)) {
      const folder = join(this.#root, id)
      const record = known.find((each) => each.id === id)
      const kept = record ? [record.current.version, record.previous?.version, CURRENT] : []
      if (record && targetOf(this.#linkOf(record)) !== this.of(record, record.current.version))
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

/** Where npm installs a package below a folder. */
export const packageFolder = (folder: string, name: string): string =>
  join(folder, 'node_modules', ...name.split('/'))

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 3 })

/** Returns false where the drive has no links. */
type MakeLink = (folder: string, link: string) => boolean

function makeSymlink(folder: string, link: string): boolean {
  symlinkSync(folder, link)
  return true
}

/** Windows lets every user make a junction, on a drive that has them. Some drives take one and do not store it. */
function makeJunction(folder: string, link: string): boolean {
  try {
    symlinkSync(folder, link, 'junction')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw error
    return false
  }
  return targetOf(link) !== undefined
}

/** Undefined when there is no link. */
function targetOf(path: string): string | undefined {
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
