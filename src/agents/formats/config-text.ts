import { createHash } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'

/** More than any agent writes. A larger file is a mistake or an attack. */
export const MAX_BYTES = 10 * 1024 * 1024

/** The content of a file at one moment. */
export interface Content {
  readonly bytes: Buffer
  /** With the byte order mark, if there is one. */
  readonly text: string
  readonly revision: string
}

/** Identifies a content, so that a caller can require that the file has not changed since it was read. */
export const revisionOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export function contentOf(path: string, bytes: Buffer): Content {
  if (bytes.length > MAX_BYTES) throw tooLarge(path)
  return { bytes, text: decode(path, bytes), revision: revisionOf(bytes) }
}

export const tooLarge = (path: string, maxBytes = MAX_BYTES): AppError => {
  const limit = maxBytes < 1024 * 1024 ? `${maxBytes / 1024} KiB` : `${maxBytes / 1024 / 1024} MiB`
  return new AppError('config_too_large', `${path} is larger than ${limit}; it is neither read nor edited`)
}

function decode(path: string, bytes: Buffer): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw unparsable(path, 'it is not valid UTF-8', placeOfBadByte(bytes))
  }
}
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function unparsable(path: string, why: string, place: { line: number; column: number }): AppError {
  const message = `${path} cannot be edited: line ${place.line}, column ${place.column}: ${why}`
  return new AppError('config_unparsable', message, {
    hint: 'Nothing was changed. Correct the file by hand, or undo its last change',
    members: { line: place.line, column: place.column },
  })
}

function placeOfBadByte(bytes: Buffer): { line: number; column: number } {
  const lenient = bytes.toString('utf8')
  const bad = lenient.indexOf('\uFFFD')
  const before = lenient.slice(0, Math.max(bad, 0)).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
