import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isMarked, markFolder, syncFolder } from '../kernel/durable-file.ts'
import type { PackageRecord } from './package-store.ts'

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

  /** A new folder for a package that is not complete yet. Its marker stays with it when it is moved. */
  staging(): string {
    const folder = this.#newFolder()
    markFolder(folder)
    return folder
  }

  /** A link to the version in use. The path does not change with the version: agents' files contain it. */
  current({ id }: Pick<PackageRecord, 'id'>): string {
    return join(this.#root, id, CURRENT)
  }

  /** Moves a staging folder to the place of this version. */
  async moveIntoPlace(staging: string, record: Pick<PackageRecord, 'id'>, version: string): Promise<void> {
    const folder = this.of(record, version)
    mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
    const before = existsSync(folder) ? this.#setAside(folder) : undefined
    renameSync(staging, folder)
    syncFolder(dirname(folder))
    if (before !== undefined) await removeFolder(before)
  }

  /** Makes this version the one in use. */
  use(record: Pick<PackageRecord, 'id'>, version: string): void {
    const link = this.current(record)
    const next = `${link}.${randomBytes(4).toString('hex')}`
    symlinkSync(this.of(record, version), next, 'junction')
    renameSync(next, link)
    syncFolder(dirname(link))
  }

  /** Moves the folder away at once; deleting it may take longer. */
  async remove(record: Pick<PackageRecord, 'id'>, version?: string): Promise<void> {
    const folder = version === undefined ? join(this.#root, record.id) : this.of(record, version)
    if (existsSync(folder)) await removeFolder(this.#setAside(folder))
  }

  /** Deletes what an interrupted install left and what the store does not record, if it has our marker. */
  cleanUp(known: readonly PackageRecord[]): void {
    for (const id of namesIn(this.#root)) {
      const folder = join(this.#root, id)
      const record = known.find((each) => each.id === id)
      const kept = record ? [record.current.version, record.previous?.version, CURRENT] : []
      if (record) this.use(record, record.current.version)
      for (const name of namesIn(folder)) if (!kept.includes(name)) removeOurs(join(folder, name), name)
      if (!record) removeIfEmpty(folder)
    }
  }

  #setAside(folder: string): string {
    const aside = join(this.#newFolder(), 'gone')
    renameSync(folder, aside)
    return dirname(aside)
  }

  #newFolder(): string {
    const folder = join(this.#root, STAGING, randomBytes(6).toString('hex'))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }
}

const STAGING = '.staging'
const CURRENT = 'current'
/** The link, and its next one before it is renamed. */
const LINK = /^current(?:\.[0-9a-f]{8})?$/

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 3 })

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
    // it is a file, or contains files that are not ours
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // the folder does not exist before the first install
  }
}
