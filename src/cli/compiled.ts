import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { constants, Script } from 'node:vm'

/** Then what a start needs has been compiled, and the busiest moments are over. */
const KEEP_AFTER_MS = 2000

/**
 * Loads a bundle together with what V8 made of it the last time, which lies beside it: reading a third less of the time
 * goes into a start. Its name holds a digest of its contents, so what is kept can be of no other; V8 itself refuses what
 * another version of Node has kept. Where the folder cannot be written nothing is kept.
 */
export function loadCompiled(file: string): unknown {
  const kept = `${file}.${process.version}-${process.arch}.cache`
  const cachedData = readOr(kept)
  const script = new Script(
    `(function (exports, require, module, __filename, __dirname) {${readFileSync(file, 'utf8')}\n})`,
    {
      filename: file,
      ...(cachedData && { cachedData }),
      importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    },
  )
  const module = { exports: {} }
  script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file))
  if (!cachedData || script.cachedDataRejected) setTimeout(() => keep(kept, script), KEEP_AFTER_MS).unref()
  return module.exports
}

function readOr(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

function keep(file: string, script: Script): void {
  const scratch = `${file}.${process.pid}`
  try {
    writeFileSync(scratch, script.createCachedData())
    renameSync(scratch, file)
  } catch {
    // The folder belongs to somebody else, or the disk is full: the next start takes as long as this one.
  }
}
