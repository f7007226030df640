import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../kernel/durable-file.ts'
import type { PackageRecord } from './package-store.ts'

/**
 * The folders of packages, one for each version, moved into place when complete. Only what the store records is
 * installed; other folders are leftovers.
 */
export class PackageFolders {
  readonly #root: string

  constructor(dataFolder: string) {
    this.#root = join(dataFolder, 'packages')
  }

  of({ id }: Pick<PackageRecord, 'id'>, version: string): string {
    return join(this.#root, id, version)
  }

  /** A new folder for a package that is not complete yet. */
  staging(): string {
    const folder = join(this.#root, STAGING, randomBytes(6).toString('hex'))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
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
  }

  /** Moves the folder away at once; deleting it may take longer. */
  async remove(record: Pick<PackageRecord, 'id'>, version?: string): Promise<void> {
    const folder = version === undefined ? join(this.#root, record.id) : this.of(record, version)
    if (existsSync(folder)) await removeFolder(this.#setAside(folder))
  }

  /** Deletes what an interrupted install left, and folders that the store does not record. */
  cleanUp(known: readonly PackageRecord[]): void {
    for (const id of namesIn(this.#root)) {
      const record = known.find((each) => each.id === id)
      if (!record) {
        rmSync(join(this.#root, id), { recursive: true, force: true })
        continue
      }
      const kept = [record.current.version, record.previous?.version, CURRENT]
      this.use(record, record.current.version)
      for (const version of namesIn(join(this.#root, id)))
        if (!kept.includes(version)) rmSync(join(this.#root, id, version), { recursive: true, force: true })
    }
  }

  #setAside(folder: string): string {
    const aside = join(this.staging(), 'gone')
    renameSync(folder, aside)
    return dirname(aside)
  }
}

const STAGING = '.staging'
const CURRENT = 'current'

export const removeFolder = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 3 })

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // the folder does not exist before the first install
  }
}
