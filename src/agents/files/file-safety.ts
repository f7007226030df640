import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, isAbsolute, relative } from 'node:path'
import { AppError } from '../../kernel/errors.ts'
import { isWritable, readForeign, UnsafeFile } from '../../kernel/files/foreign-file.ts'
import { MAX_BYTES, tooLarge } from '../formats/config-text.ts'

/** A file after all symbolic links are resolved. */
export interface RealFile {
  /** This path is replaced, so symbolic links to it stay links. */
  readonly path: string
  /** Undefined if the file does not exist yet. */
  readonly stats: Stats | undefined
}

/** Resolves links and refuses files that are unsafe to edit. `root` is the home or the project folder. */
export function realFileOf(path: string, root: string): RealFile {
  const real = realPath(path)
  if (real === undefined) {
    const folder = realPath(nearestFolder(path))
    assertWithin(path, folder ?? dirname(path), root)
    assertNoDanglingLink(path)
    return { path, stats: undefined }
  }
  assertWithin(path, real, root)
  const stats = statSync(real)
  if (!stats.isFile()) throw unsafe(path, NOT_REGULAR)
  if (stats.size > MAX_BYTES) throw tooLarge(path)
  return { path: real, stats }
}

/** The content. `real` has no links; `path` is for messages. What the path leads to may have changed since the check. */
export function bytesOf(path: string, real: string): Buffer {
  try {
    return readForeign(real, MAX_BYTES, 'refuse').bytes
  } catch (error) {
    if (error instanceof UnsafeFile)
      throw error.reason === 'too_large' ? tooLarge(path) : unsafe(path, NOT_REGULAR)
    if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw unsafe(path, 'is being replaced by a link')
    throw error
  }
}
const NOT_REGULAR = 'is not a regular file'

export function assertWritable({ path, stats }: RealFile): void {
  if (stats) {
    if (process.getuid && stats.uid !== process.getuid()) throw unsafe(path, 'belongs to another user')
    if (stats.nlink > 1) throw unsafe(path, 'has several hard links, and only one of them would change')
    if ((stats.mode & 0o200) === 0 || !isWritable(path)) throw readOnly(path, 'is read-only')
  }
  const folder = nearestFolder(path)
  if (!isWritable(folder))
    throw readOnly(path, `cannot be replaced, because the folder ${folder} is read-only`)
}

/** Whether a write would be allowed, as far as that can be decided without writing. */
export function isWritableFile(path: string, root: string): boolean {
  try {
    assertWritable(realFileOf(path, root))
    return true
  } catch {
    return false
  }
}

/** A link inside the root that leads out of it could redirect a write. A path outside the root was chosen as such. */
function assertWithin(path: string, real: string, root: string): void {
  const realRoot = realPath(root) ?? root
  if (isWithin(path, root) && !isWithin(real, realRoot))
    throw unsafe(path, `is reached through a symbolic link to ${real}, outside of ${root}`)
}

function isWithin(path: string, folder: string): boolean {
  const steps = relative(folder, path)
  return steps === '' || !(steps.startsWith('..') || isAbsolute(steps))
}

function assertNoDanglingLink(path: string): void {
  let isLink = false
  try {
    isLink = lstatSync(path).isSymbolicLink()
  } catch {
    return // nothing exists at this path
  }
  if (isLink) throw unsafe(path, 'is a symbolic link to a file that does not exist')
}

/** The file's folder, or the nearest existing folder above it. */
export function nearestFolder(path: string): string {
  const folder = dirname(path)
  if (folder === path || realPath(folder) !== undefined) return folder
  return nearestFolder(folder)
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

export const unsafe = (path: string, why: string): AppError =>
  new AppError('config_unsafe', `${path} ${why}`, { hint: 'Nothing was changed. Edit the file by hand' })

const readOnly = (path: string, why: string): AppError =>
  new AppError('config_read_only', `${path} ${why}`, {
    hint: 'Nothing was changed. Make it writable for your user first',
  })
