import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '../../kernel/durable-file.ts'

/** Processes with this variable were started by a Toolroom. */
const MARK_NAME = 'TOOLROOM_CHILD'

/**
 * The environment variable of all processes that are started from this data folder. It is generated once: a start finds
 * what a crash has left, and two installations never end each other's processes.
 */
export function markOf(folder: string): string {
  const file = join(folder, 'child-mark')
  const known = readOr(file)
  if (known !== undefined && /^[0-9a-f]{32}$/.test(known)) return `${MARK_NAME}=${known}`
  const made = randomBytes(16).toString('hex')
  writeDurably(file, `${made}\n`, 0o600)
  return `${MARK_NAME}=${made}`
}

function readOr(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined // the first start in this folder
  }
}
