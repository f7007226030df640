import { rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { STALE_TEMP } from '../../kernel/durable-file.ts'
import { namesIn } from './list-folder.ts'

/** Removes temporary files that a crash during a write left beside these files. Only our own names match. */
export function removeStaleTemps(paths: readonly string[]): void {
  for (const folder of new Set(paths.map((path) => dirname(path)))) {
    const names = paths.filter((path) => dirname(path) === folder).map((path) => `.${basename(path)}.`)
    for (const name of namesIn(folder)) {
      const isOurs =
        STALE_TEMP.test(name) &&
        names.some((start) => name.startsWith(start) && name.length === start.length + 16)
      if (isOurs) rmSync(join(folder, name), { force: true })
    }
  }
}
