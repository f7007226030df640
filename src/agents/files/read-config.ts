import { existsSync, lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, isAbsolute, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../kernel/errors.ts'
import { isWritable, readForeign, UnsafeFile } from '../../kernel/files/foreign-file.ts'
import { MAX_BYTES, tooLarge, unparsable } from '../formats/format.ts'
import { revisionOf } from '../formats/text-edits.ts'

export interface FileLocation {
  readonly path: string
  /** The home or the project folder. A symbolic link inside it must not lead out of it. */
  readonly root: string
}

/** The content of a file at one moment. */
export interface Content {
  readonly bytes: Buffer
  /** With the byte order mark, if there is one. */
  readonly text: string
  readonly revision: string
}

/** The current content; undefined if the file does not exist. */
export function readConfig({ path, root }: FileLocation): Content | undefined {
  return contentIn(path, realFileOf(path, root))
}

const contentIn = (path: string, { path: real, stats }: RealFile): Content | undefined =>
  stats && contentOf(path, bytesOf(path, real))

export function contentOf(path: string, bytes: Buffer): Content {
  if (bytes.length > MAX_BYTES) throw tooLarge(path)
  return { bytes, text: decode(path, bytes), revision: revisionOf(bytes) }
}

function decode(path: string, bytes: Buffer): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw unparsable(path, 'it is not valid UTF-8', positionOfBadByte(bytes))
  }
}
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function positionOfBadByte(bytes: Buffer): { line: number; column: number } {
  const lenient = bytes.toString('utf8')
  const bad = lenient.indexOf('\uFFFD')
  const before = lenient.slice(0, Math.max(bad, 0)).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

/** The revision of the current content; null without a file, undefined if it cannot be read. */
export function revisionNow(file: FileLocation): string | null | undefined {
  try {
    return readConfig(file)?.revision ?? null
  } catch {
    return undefined
  }
}

/** What one reading of a file gave. */
export interface Reading {
  readonly real: RealFile
  readonly content: Content | undefined
}

interface Expected {
  /** The length of the content that this file is known to have had; 0 if it is not known with content. */
  readonly knownBytes: number
  /** A part of this format may be valid by itself, so a file that was cut short is recognised by its length only. */
  readonly isValidWhenCut: boolean
}

/** A file that was modified within this time may be in the middle of being written. */
const RECENT_MS = 2_000
/** A file that stays empty for this long was emptied on purpose. */
const EMPTIED_MS = 10_000
const WAIT_MS = 2_000
const FIRST_PAUSE_MS = 5

/**
 * Reads a file that another program may be writing. Many programs truncate a file and then write it, so a file that
 * is empty, cut short or invalid is read again with growing pauses. After `WAIT_MS` an invalid file is refused by
 * `check`, an empty file that had content is refused with `config_changed`, and anything else is accepted.
 */
export async function readSettled(
  file: FileLocation,
  { knownBytes, isValidWhenCut }: Expected,
  check: (content: Content | undefined) => void = () => {},
): Promise<Reading> {
  const end = performance.now() + WAIT_MS
  for (let pause = FIRST_PAUSE_MS; ; pause *= 2) {
    const leftMs = end - performance.now()
    try {
      const { real, content, ageMs } = read(file)
      const isEmpty = content !== undefined && content.text.trim() === ''
      const isEmptied = isEmpty && knownBytes > 0 && ageMs < EMPTIED_MS
      const isCut = isEmpty || (isValidWhenCut && content !== undefined && content.bytes.length < knownBytes)
      const isSettled = !isEmptied && !(isCut && ageMs < RECENT_MS)
      if (isSettled || leftMs <= 0) {
        if (isEmptied) throw emptied(file.path)
        check(content)
        return { real, content }
      }
    } catch (error) {
      if (leftMs <= 0 || !mayPass(error, file, knownBytes)) throw error
    }
    await sleep(Math.min(pause, Math.max(leftMs, 0)))
  }
}

/** The age is taken after the content was read: a truncation between the two makes the file recent. */
function read(file: FileLocation) {
  const real = realFileOf(file.path, file.root)
  const content = contentIn(file.path, real)
  return { real, content, ageMs: ageOf(real.path) }
}

/** Whether the file may be valid in a moment. */
function mayPass(error: unknown, file: FileLocation, knownBytes: number): boolean {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true // it is being replaced
  if (!(error instanceof AppError) || error.code !== 'config_unparsable') return false
  return knownBytes > 0 || ageOf(file.path) < RECENT_MS
}

/** The time since the last modification. A time in the future counts like one in the past: the clock was changed. */
function ageOf(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats ? Math.abs(Date.now() - stats.mtimeMs) : 0
}

const emptied = (path: string): AppError =>
  new AppError('config_changed', `${path} is empty but had content before; nothing was changed`, {
    hint: 'Another program may be writing it. Try again in a moment; an empty file is accepted 10 s after its last change',
  })

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
function bytesOf(path: string, real: string): Buffer {
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
export function isWritableFile({ path, root }: FileLocation): boolean {
  try {
    assertWritable(realFileOf(path, root))
    return true
  } catch {
    return false
  }
}

/** A link inside the root that leads out of it could redirect a write. A path outside the root was chosen as such. */
function assertWithin(path: string, real: string, root: string): void {
  if (isWithin(path, root) && !isWithin(real, realPath(root) ?? root))
    throw unsafe(path, `is reached through a symbolic link to ${real}, outside of ${root}`)
}

function isWithin(path: string, folder: string): boolean {
  const steps = relative(folder, path)
  return steps === '' || !(steps.startsWith('..') || isAbsolute(steps))
}

function assertNoDanglingLink(path: string): void {
  if (isLink(path)) throw unsafe(path, 'is a symbolic link to a file that does not exist')
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
  } catch {
    return false // it cannot be reached
  }
}

/** The file's folder, or the nearest existing folder above it. */
export function nearestFolder(path: string): string {
  const folder = dirname(path)
  if (folder === path || existsSync(folder)) return folder
  return nearestFolder(folder)
}

/** Most agents are not installed, so most paths do not exist. To ask first is cheaper than the error. */
function realPath(path: string): string | undefined {
  try {
    return existsSync(path) ? realpathSync.native(path) : undefined
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
