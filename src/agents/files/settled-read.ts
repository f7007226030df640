import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../kernel/errors.ts'
import type { Content } from '../formats/config-text.ts'
import { type ConfigFile, contentIn } from './config-file.ts'
import { type RealFile, realFileOf } from './file-safety.ts'

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
  file: Pick<ConfigFile, 'path' | 'root'>,
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
function read(file: Pick<ConfigFile, 'path' | 'root'>) {
  const real = realFileOf(file.path, file.root)
  const content = contentIn(file.path, real)
  return { real, content, ageMs: ageOf(real.path) }
}

/** Whether the file may be valid in a moment. */
function mayPass(error: unknown, file: Pick<ConfigFile, 'path' | 'root'>, knownBytes: number): boolean {
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
