import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from './lifetime.ts'

/** Where the tests of a file have their folders: in memory, if `npm test` found enough of it. */
const parent = () => process.env.TOOLROOM_TEST_FOLDER ?? tmpdir()

/** For the rest of a file, `ownFolder` makes folders on the disk. A sandbox has a /dev of its own, without the memory. */
export function onDisk(): void {
  process.env.TOOLROOM_TEST_FOLDER = tmpdir()
}

/** A temporary folder that is removed after the test. */
export function ownFolder(): string {
  const folder = mkdtempSync(join(parent(), 'toolroom-test-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
