import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { readForeign, readForeignHead } from './foreign-file.ts'

test('a file of exactly the limit is read whole, a larger one is refused, and its head can still be read', () => {
  const file = join(ownFolder(), 'file')
  writeFileSync(file, 'abcdef')
  expect(readForeign(file, 6).bytes.toString()).toBe('abcdef')
  expect(() => readForeign(file, 5)).toThrow(expect.objectContaining({ reason: 'too_large' }))
  expect(readForeignHead(file, 3).toString()).toBe('abc')
})

test.runIf(process.platform === 'linux')(
  'a file that has more than its size says, as one that grows, is refused like a large one and not cut',
  () => {
    expect(() => readForeign('/proc/self/status', 20)).toThrow(
      expect.objectContaining({ reason: 'too_large' }),
    )
    expect(readForeign('/proc/self/status', 1_000_000).bytes.toString()).toMatch(/^Name:/)
  },
)
