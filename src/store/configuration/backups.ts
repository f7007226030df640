import { chmodSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder, renameOver, syncFile, syncFolder } from '../../kernel/files/durable-file.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Sqlite } from '../sqlite/sqlite.ts'

const KEPT = 7
const NAME = /^toolroom-(.+)-(\d+)\.db$/
/** A backup that was interrupted. Other temporary files are not ours. */
const UNFINISHED = /^toolroom-.+-\d+\.db\.tmp(?:-journal)?$/

/** Copies of the configuration database, newest last. Their secrets stay encrypted. */
export class Backups {
  readonly #folder: string
  #holdChanges = false

  constructor(dataFolder: string) {
    this.#folder = join(dataFolder, 'backups')
    makeFolder(this.#folder)
    for (const name of readdirSync(this.#folder))
      if (UNFINISHED.test(name)) rmSync(join(this.#folder, name), { force: true })
  }

  newest(): string | undefined {
    const name = this.#names().at(-1)
    return name === undefined ? undefined : join(this.#folder, name)
  }

  /** Whether any backup was taken after the first change. Asked after every change, so the folder is read until then. */
  holdChanges(): boolean {
    this.#holdChanges ||= this.#lastChange() > 0
    return this.#holdChanges
  }

  /** Takes a backup unless `lastChange`, the id of the newest audit row, is the one of the newest backup. */
  take(database: Sqlite, lastChange: number): void {
    if (this.#lastChange() === lastChange) return
    // Never before that of an older backup: the clock may have been set back.
    const time = isoTime(Math.max(Date.now(), this.#newestTime() + 1))
    const name = `toolroom-${time.replaceAll(':', '.')}-${lastChange}.db`
    const temp = join(this.#folder, `${name}.tmp`)
    rmSync(temp, { force: true })
    database.prepare('VACUUM INTO ?').run(temp)
    chmodSync(temp, 0o600)
    syncFile(temp)
    renameOver(temp, join(this.#folder, name))
    syncFolder(this.#folder)
    for (const old of this.#names().slice(0, -KEPT)) rmSync(join(this.#folder, old), { force: true })
  }

  /** 0 without a backup. */
  #newestTime(): number {
    const [, text = ''] = NAME.exec(this.#names().at(-1) ?? '') ?? []
    return Date.parse(text.replace(/T(\d+)\.(\d+)\./, 'T$1:$2:')) || 0
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
