import { accessSync, constants, lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, isAbsolute, relative } from 'node:path'
import { AppError } from '../../kernel/errors.ts'
import { MOST_BYTES, tooLarge } from './config-text.ts'

/** Where a file really is, and what it is. */
export interface Target {
  /** Behind all links: this one is replaced, so that links to it stay what they are. */
  readonly path: string
  /** Undefined when there is no such file yet. */
  readonly stats: Stats | undefined
}

/** Refuses whatever a careful person would not edit without a question. `root` is the home or the project. */
export function targetOf(path: string, root: string): Target {
  const real = realPath(path)
  if (real === undefined) {
    const folder = realPath(nearestFolder(path))
    assertWithin(path, folder ?? dirname(path), root)
    return { path: dangling(path), stats: undefined }
  }
  assertWithin(path, real, root)
  const stats = statSync(real)
  if (!stats.isFile()) throw unsafe(path, 'is not a plain file')
  if (stats.size > MOST_BYTES) throw tooLarge(path)
  return { path: real, stats }
}

export function assertMayWrite({ path, stats }: Target): void {
  if (stats) {
    if (process.getuid && stats.uid !== process.getuid()) throw unsafe(path, 'belongs to another user')
    if (stats.nlink > 1) throw unsafe(path, 'has several names (hard links), of which only one would change')
    if ((stats.mode & 0o200) === 0 || !isWritable(path)) throw readOnly(path, 'is read-only')
  }
  const folder = nearestFolder(path)
  if (!isWritable(folder))
    throw readOnly(path, `cannot be replaced, because the folder ${folder} is read-only`)
}

/** What can be told without trying, for people who look before they change something. */
export function isWritableTarget(path: string, root: string): boolean {
  try {
    assertMayWrite(targetOf(path, root))
    return true
  } catch {
    return false
  }
}

/** A link in the home that leads out of it may be somebody's trap; a path that was outside from the start is not. */
function assertWithin(path: string, real: string, root: string): void {
  const realRoot = realPath(root) ?? root
  if (isWithin(path, root) && !isWithin(real, realRoot))
    throw unsafe(path, `leads through a link to ${real}, outside of ${root}`)
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === '' || !(way.startsWith('..') || isAbsolute(way))
}

/** A link to a file that is not there: the file is made where the link points, if that can be told. */
function dangling(path: string): string {
  let isLink = false
  try {
    isLink = lstatSync(path).isSymbolicLink()
  } catch {
    return path
  }
  if (isLink) throw unsafe(path, 'is a link to a file that does not exist')
  return path
}

/** The folder that the file is in, or would be in; or the nearest one above that exists. */
export function nearestFolder(path: string): string {
  const folder = dirname(path)
  if (folder === path || realPath(folder) !== undefined) return folder
  return nearestFolder(folder)
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

const unsafe = (path: string, why: string): AppError =>
  new AppError('config_unsafe', `${path} ${why}`, { hint: 'Nothing was changed; edit this file by hand' })

const readOnly = (path: string, why: string): AppError =>
  new AppError('config_read_only', `${path} ${why}`, {
    hint: 'Nothing was changed; make it writable for you first',
  })
