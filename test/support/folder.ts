import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from './lifetime.ts'

/** A temporary folder that is removed after the test. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-test-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
