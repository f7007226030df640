import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { PRIVATE_FILE, PRIVATE_FOLDER } from '../../../test/support/home-env.ts'
import { SecretKey } from './secret-key.ts'

test('the secret key is made once, in a folder and a file that only its owner reads', () => {
  const folder = join(ownFolder(), 'config')
  const key = new SecretKey(folder, undefined)
  expect([key.find(), existsSync(folder)]).toEqual([undefined, false])
  const made = key.create()
  expect(made).toHaveLength(32)
  expect(new SecretKey(folder, undefined).find()).toEqual(made)
  expect(statSync(key.file).mode & 0o777).toBe(PRIVATE_FILE)
  expect(statSync(folder).mode & 0o777).toBe(PRIVATE_FOLDER)
})

test('a secret key that others could read is readable by its owner only from then on', () => {
  const key = new SecretKey(ownFolder(), undefined)
  const made = key.create()
  chmodSync(key.file, 0o644)
  expect(key.find()).toEqual(made)
  expect(statSync(key.file).mode & 0o777).toBe(PRIVATE_FILE)
})

test.each(['', 'ab'.repeat(31), 'zz'.repeat(32), `${'ab'.repeat(32)}ab`])(
  'a file with %j is no key: it is refused, not replaced, and its content is not in the error',
  (text) => {
    const folder = ownFolder()
    mkdirSync(folder, { recursive: true })
    const key = new SecretKey(folder, undefined)
    writeFileSync(key.file, text)
    expect(() => key.find()).toThrow('does not contain a key of 64 hexadecimal digits')
    expect(readFileSync(key.file, 'utf8')).toBe(text)
  },
)

test('a given key is used in place of the file', () => {
  const folder = ownFolder()
  new SecretKey(folder, undefined).create()
  expect(new SecretKey(folder, 'ab'.repeat(32)).find()).toEqual(Buffer.alloc(32, 0xab))
})
