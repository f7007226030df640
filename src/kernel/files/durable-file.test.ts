import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join, relative } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { makeFolder, writeDurably } from './durable-file.ts'

test('a folder is made with the folders above it', () => {
  const folder = join(ownFolder(), 'a', 'b', 'c')
  makeFolder(folder)
  makeFolder(folder)
  expect(existsSync(folder)).toBe(true)
})

test('a folder is made with the folders above it, also by a path from the working folder', () => {
  const folder = join(relative(process.cwd(), ownFolder()), 'a', 'b')
  makeFolder(folder)
  expect(existsSync(folder)).toBe(true)
})

test('a file in a folder that may not be read, only written, is replaced without an error', () => {
  const folder = ownFolder()
  const file = join(folder, 'file')
  writeFileSync(file, 'old')
  const { openSync } = fs
  onTestFinished(() => {
    fs.openSync = openSync
    syncBuiltinESMExports()
  })
  fs.openSync = (path, ...more) => {
    if (path === folder) throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
    return openSync(path, ...more)
  }
  syncBuiltinESMExports()
  writeDurably(file, 'new', 0o600)
  expect(readFileSync(file, 'utf8')).toBe('new')
})

test('a file that another program has open for a moment is replaced', async () => {
  const file = join(ownFolder(), 'file')
  writeFileSync(file, 'old')
  const holder = spawn(process.execPath, ['-e', HOLD, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(holder, 'close')
  await once(holder.stdout, 'data')
  writeDurably(file, 'new', 0o600)
  expect(readFileSync(file, 'utf8')).toBe('new')
  await ended
})

/** Closes the file after a fifth of the time for which a replacement is tried. */
const HOLD = `
  const file = require('node:fs').openSync(process.argv[1], 'r')
  console.log('open')
  setTimeout(() => require('node:fs').closeSync(file), 400)
`
