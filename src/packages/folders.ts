import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '../kernel/durable-file.ts'
import type { PackageRecord } from './package-store.ts'

/**
 * Where packages lie: a folder for each version of each, moved into its place when it is whole. What is not
 * written down in the store is not there, whatever lies on the disk.
 */
export class PackageFolders {
  readonly #root: string

  constructor(dataFolder: string) {
    this.#root = join(dataFolder, 'packages')
  }

  of({ id }: Pick<PackageRecord, 'id'>, version: string): string {
    return join(this.#root, id, version)
  }

  /** A folder to work in; nobody finds anything there. */
  staging(): string {
    const folder = join(this.#root, STAGING, randomBytes(6).toString('hex'))
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }

  /** The version in use, under a path that stays the same: it stands in the files of agents. */
  current({ id }: Pick<PackageRecord, 'id'>): string {
    return join(this.#root, id, CURRENT)
  }

  /** What was made in the staging folder becomes this version. */
  async settle(staging: string, record: Pick<PackageRecord, 'id'>, version: string): Promise<void> {
    const folder = this.of(record, version)
    mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
    const before = existsSync(folder) ? this.#setAside(folder) : undefined
    renameSync(staging, folder)
    syncFolder(dirname(folder))
    if (before !== undefined) await remove(before)
  }

  /** From now on this version is the one in use. */
  point(record: Pick<PackageRecord, 'id'>, version: string): void {
    const link = this.current(record)
    const next = `${link}.${randomBytes(4).toString('hex')}`
    symlinkSync(this.of(record, version), next, 'junction')
    renameSync(next, link)
  }

  /** Out of sight at once; the deleting itself may take a while. */
  async drop(record: Pick<PackageRecord, 'id'>, version?: string): Promise<void> {
    const folder = version === undefined ? join(this.#root, record.id) : this.of(record, version)
    if (existsSync(folder)) await remove(this.#setAside(folder))
  }

  /** At the start: whatever a crash left half done, and versions that nobody knows of. */
  cleanUp(known: readonly PackageRecord[]): void {
    for (const id of namesIn(this.#root)) {
      const record = known.find((each) => each.id === id)
      if (!record) {
        rmSync(join(this.#root, id), { recursive: true, force: true })
        continue
      }
      const kept = [record.current.version, record.previous?.version, CURRENT]
      this.point(record, record.current.version)
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

export const remove = (folder: string): Promise<void> =>
  rm(folder, { recursive: true, force: true, maxRetries: 3 })

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // nothing was ever installed
  }
}
