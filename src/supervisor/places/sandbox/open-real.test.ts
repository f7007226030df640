import { closeSync, fstatSync, mkdirSync, renameSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { onDisk, ownFolder } from '../../../../test/support/folder.ts'
import { openReal } from './open-real.ts'

onDisk()

test.skipIf(process.platform !== 'linux')(
  'a folder that becomes a link after it was judged is not opened to be mounted, and neither is one around it',
  () => {
    const work = ownFolder()
    const inner = join(work, 'a/b')
    mkdirSync(inner, { recursive: true })
    const file = openReal(inner, [work])
    expect(fstatSync(file).ino).toBe(statSync(inner).ino)
    closeSync(file)
    renameSync(join(work, 'a'), join(work, 'moved'))
    symlinkSync(join(work, 'moved'), join(work, 'a'))
    expect(() => openReal(inner, [work])).toThrow()
    expect(() => openReal(join(work, 'a'), [work])).toThrow('was replaced by a link')
  },
)
