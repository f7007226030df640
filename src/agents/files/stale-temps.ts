import { readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { STALE_TEMP } from '../../kernel/durable-file.ts'

/** Removes what a crash in the middle of a write left beside these files: only what carries their name and our ending. */
export function cleanUp(paths: readonly string[]): void {
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

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // not installed
  }
}
