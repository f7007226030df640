import { accessSync, closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs'

/** Why a file is not read. Another program may replace it at any moment, so only the open descriptor decides. */
export class UnsafeFile extends Error {
  override readonly name = 'UnsafeFile'
  readonly reason: 'not_regular' | 'too_large'

  constructor(path: string, reason: UnsafeFile['reason']) {
    super(reason === 'too_large' ? `${path} is too large` : `${path} is not a regular file`)
    this.reason = reason
  }
}

/** Windows has neither flag. */
const { O_RDONLY, O_NONBLOCK = 0, O_NOFOLLOW = 0, O_NOCTTY = 0 } = constants

/**
 * Opens a file that Toolroom did not write. It never waits: a FIFO without a writer would block the only thread for
 * ever, so the file is opened without blocking, and what was opened must be a regular file. With `links: 'refuse'` the
 * last part of the path must not be a symbolic link: the caller has resolved links already. The caller closes it.
 */
export function openForeign(path: string, links: 'follow' | 'refuse' = 'follow'): number {
  const flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | (links === 'refuse' ? O_NOFOLLOW : 0)
  const file = openSync(path, flags)
  try {
    if (!fstatSync(file).isFile()) throw new UnsafeFile(path, 'not_regular')
  } catch (error) {
    closeSync(file)
    throw error
  }
  return file
}

interface ForeignFile {
  readonly bytes: Buffer
  /** They describe the file that was read, whatever the path leads to by now. */
  readonly stats: Stats
}

/** The whole file, from one descriptor. Throws `UnsafeFile` for what is larger than `maxBytes`. */
export function readForeign(
  path: string,
  maxBytes: number,
  links: 'follow' | 'refuse' = 'follow',
): ForeignFile {
  const file = openForeign(path, links)
  try {
    const stats = fstatSync(file)
    if (stats.size > maxBytes) throw new UnsafeFile(path, 'too_large')
    const bytes = readOpen(file, maxBytes + 1)
    if (bytes.length > maxBytes) throw new UnsafeFile(path, 'too_large') // it grew meanwhile
    return { bytes, stats }
  } finally {
    closeSync(file)
  }
}

/** The beginning of a file, at most `maxBytes`. */
export function readForeignHead(path: string, maxBytes: number): Buffer {
  const file = openForeign(path)
  try {
    return readOpen(file, maxBytes)
  } finally {
    closeSync(file)
  }
}

/** From the beginning of an open file up to its end, at most `maxBytes`. */
export function readOpen(file: number, maxBytes: number): Buffer {
  const chunks: Buffer[] = []
  let length = 0
  // One byte more than its size: the end is seen with the first read, unless the file grows.
  let size = Math.min(maxBytes, fstatSync(file).size + 1)
  while (length < maxBytes) {
    const chunk = Buffer.allocUnsafe(Math.min(size, maxBytes - length))
    const read = readSync(file, chunk, 0, chunk.length, length)
    if (read === 0) break
    chunks.push(chunk.subarray(0, read))
    length += read
    size = 64 * 1024
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
}

/** Whether this user may write to it. */
export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
