import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { constants, Script } from 'node:vm'

/** Then what a start needs has been compiled, and the busiest moments are over. */
const KEEP_AFTER_MS = 2000

const loaded = new Map<string, { exports: unknown }>()

/**
 * Loads a bundle together with what V8 made of it the last time, which lies beside it: that takes a third of the time from
 * a start. Its name holds a digest of its contents, so what is kept can be of no other; V8 itself refuses what another
 * version of Node has kept. Where the folder cannot be written nothing is kept. The parts of a bundle that it asks for are
 * loaded the same way.
 */
export function loadCompiled(file: string): unknown {
  const known = loaded.get(file)
  if (known) return known.exports
  const kept = `${file}.${process.version}-${process.arch}.cache`
  const cachedData = readOr(kept)
  const source = readFileSync(file, 'latin1') // the build leaves only ASCII
  const script = new Script(`(function (exports, require, module, __filename, __dirname) {${source}\n})`, {
    filename: file,
    ...(cachedData && { cachedData }),
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  })
  const module = { exports: {} }
  loaded.set(file, module)
  script.runInThisContext()(module.exports, requireFrom(file), module, file, dirname(file))
  if (!cachedData || script.cachedDataRejected) setTimeout(() => keep(kept, script), KEEP_AFTER_MS).unref()
  return module.exports
}

function requireFrom(file: string): (name: string) => unknown {
  const elsewhere = createRequire(file)
  return (name) => (name.startsWith('./') ? loadCompiled(join(dirname(file), name)) : elsewhere(name))
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
