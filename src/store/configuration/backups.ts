import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from '../../kernel/durable-file.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'

const KEPT = 7
const NAME = /^toolroom-(.+)-(\d+)\.db$/

/** Copies of the configuration database, newest last. Their secrets stay encrypted. */
export class Backups {
  readonly #folder: string

  constructor(dataFolder: string) {
    this.#folder = join(dataFolder, 'backups')
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    for (const name of readdirSync(this.#folder)) if (name.endsWith('.tmp')) rmSync(join(this.#folder, name))
  }

  newest(): string | undefined {
    const name = this.#names().at(-1)
    return name === undefined ? undefined : join(this.#folder, name)
  }

  /** Whether any backup was taken after the first change. */
  holdChanges(): boolean {
    return this.#lastChange() > 0
  }

  /** Takes a backup unless `lastChange`, the id of the newest audit row, is the one of the newest backup. */
  take(database: Sqlite, lastChange: number): void {
    if (this.#lastChange() === lastChange) return
    const name = `toolroom-${isoTime(Date.now()).replaceAll(':', '.')}-${lastChange}.db`
    const temp = join(this.#folder, `${name}.tmp`)
    rmSync(temp, { force: true })
    database.prepare('VACUUM INTO ?').run(temp)
    chmodSync(temp, 0o600)
    renameSync(temp, join(this.#folder, name))
    syncFolder(this.#folder)
    for (const old of this.#names().slice(0, -KEPT)) rmSync(join(this.#folder, old), { force: true })
  }

  #lastChange(): number {
    return Number(NAME.exec(this.#names().at(-1) ?? '')?.[2] ?? -1)
  }

  #names(): string[] {
    return readdirSync(this.#folder)
      .filter((name) => NAME.test(name))
      .sort()
  }
}
