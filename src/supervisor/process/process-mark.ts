import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '../../kernel/files/durable-file.ts'
import type { Marks } from '../platform/platform.ts'

/** Processes with this variable were started by a Toolroom. */
const MARK_NAME = 'TOOLROOM_CHILD'

/**
 * The environment variables that mark processes, as `NAME=value`. The value is generated once for each data folder, so
 * that two installations never end each other's processes.
 */
export function marksOf(folder: string): Marks {
  const ofFolder = `${MARK_NAME}=${valueIn(folder)}`
  return { ofFolder, ofRun: `${ofFolder}/${randomBytes(4).toString('hex')}` }
}

function valueIn(folder: string): string {
  const file = join(folder, 'child-mark')
  const known = readOr(file)
  if (known !== undefined && /^[0-9a-f]{32}$/.test(known)) return known
  const made = randomBytes(16).toString('hex')
  writeDurably(file, `${made}\n`, 0o600)
  return made
}

function readOr(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined // the first start in this folder
  }
}
