import { createHash, randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, sep } from 'node:path'
import { isMarked, makeFolder, markFolder, renameOver } from '../files/durable-file.ts'
import { readForeign } from '../files/foreign-file.ts'
import { VERSION } from '../version.ts'
import { prepareDataFolder } from './system/data-folder.ts'

/** The program that agents and service managers start, long after the command that wrote their files has ended. */
export interface LastingProgram {
  readonly mainFile: string
  /** Makes sure that the file exists. Call it before its path is written anywhere. */
  readonly keep: () => Promise<void>
}

const MAX_BYTES = 16 * 1_048_576
const COPY = /^\d[\w.+-]{0,63}$/
const SCRATCH = /^\.\d[\w.+-]{0,63}\.[0-9a-f]{12}$/

/** In a copy: the build that it is a copy of. */
const BUILD = '.build'

/**
 * npm deletes what `npx` has downloaded without asking. A program that runs from there is copied into the data folder,
 * with the packages beside it that it needs: `app/<version>`, or `app/<version>-<build>` beside another build of that
 * version, which may be running.
 */
export function lastingProgram(mainFile: string, dataFolder: string): LastingProgram {
  if (!mainFile.split(/[\\/]/).includes('_npx')) return { mainFile, keep: async () => {} }
  const modules = dirname(dirname(dirname(mainFile)))
  const build = buildOf(dirname(dirname(mainFile)))
  const usual = join(dataFolder, 'app', VERSION)
  const folder = !existsSync(usual) || readText(join(usual, BUILD)) === build ? usual : `${usual}-${build}`
  const copy = join(folder, basename(modules))
  return {
    mainFile: join(copy, relative(modules, mainFile)),
    keep: () => keepCopy(modules, folder, copy, build),
  }
}

/** A hash of all files of the package, without the code caches that a start writes. */
function buildOf(folder: string): string {
  const hash = createHash('sha256')
  const names = namesIn(folder, true).filter((name) => !name.endsWith('.cache'))
  for (const name of names.sort()) hash.update(`${name}\0`).update(contentOf(join(folder, name)))
  return hash.digest('hex').slice(0, 12)
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch {
    return Buffer.alloc(0) // a folder, or a file that was removed meanwhile
  }
}

/** A complete copy is marked, and gets its name only then. */
async function keepCopy(modules: string, folder: string, copy: string, build: string): Promise<void> {
  if (isMarked(folder)) return
  prepareDataFolder(dirname(dirname(folder)))
  makeFolder(dirname(folder))
  const scratch = join(dirname(folder), `.${basename(folder)}.${randomBytes(6).toString('hex')}`)
  try {
    await cp(modules, join(scratch, basename(copy)), {
      recursive: true,
      filter: (path) => basename(path) !== '.bin',
    })
    await writeFile(join(scratch, BUILD), build)
    markFolder(scratch)
    renameOver(scratch, folder)
  } catch (error) {
    await rm(scratch, { recursive: true, force: true })
    if (!isMarked(folder)) throw error // another process was faster
  }
}

/**
 * Removes copies of other versions that neither run nor occur in any of these files, and what an interrupted copy has left.
 * A file that cannot be read may name any of them, so nothing is removed then.
 */
export async function removeUnusedCopies(
  dataFolder: string,
  mainFile: string,
  files: readonly string[],
): Promise<void> {
  const app = join(dataFolder, 'app')
  const copies = namesIn(app).filter(
    (name) => SCRATCH.test(name) || (COPY.test(name) && isMarked(join(app, name))),
  )
  const others = copies.map((name) => join(app, name)).filter((folder) => !mainFile.startsWith(folder + sep))
  if (others.length === 0) return
  const texts = files.map(readText)
  if (texts.includes(undefined)) return
  const unused = others.filter((folder) => !texts.some((text) => mentions(text ?? '', folder)))
  for (const folder of unused) await rm(folder, { recursive: true, force: true })
}

/** Config files escape backslashes, and slashes perhaps. The name of a copy is behind the folder in all of them. */
const mentions = (text: string, folder: string): boolean =>
  new RegExp(`app[\\\\/]+${basename(folder).replaceAll('.', '\\.')}[\\\\/]`).test(text)

function readText(path: string): string | undefined {
  try {
    const { bytes } = readForeign(path, MAX_BYTES)
    const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe // the task of Windows
    return bytes.toString(isUtf16 ? 'utf16le' : 'utf8')
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? '' : undefined
  }
}

function namesIn(folder: string, recursive = false): string[] {
  try {
    return readdirSync(folder, { recursive, encoding: 'utf8' })
  } catch {
    return [] // there is no such folder
  }
}
