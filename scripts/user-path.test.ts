import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../test/support/folder.ts'
import { userPath } from './user-path.mjs'

test('the PATH that a script of npm gets becomes that of the user again', () => {
  const checkout = join(ownFolder(), 'inner')
  mkdirSync(checkout)
  const scripts = { start: 'node -p process.env.PATH' }
  writeFileSync(join(checkout, 'package.json'), JSON.stringify({ name: 'it', version: '1.0.0', scripts }))
  const own = `${process.env.PATH}${delimiter}${join(checkout, 'node_modules/.bin')}`
  const env = { ...process.env, PATH: own }
  const given = execFileSync('npm', ['start', '--silent'], { cwd: checkout, env, encoding: 'utf8' }).trim()
  expect(given).not.toBe(own)
  expect(userPath(given, checkout)).toBe(own)
})

test('a PATH to which npm has added nothing stays as it is', () => {
  for (const path of ['', '/usr/bin:/bin', '/usr/bin:/srv/it/node_modules/.bin'])
    expect(userPath(path, '/srv/it', ':')).toBe(path)
})
