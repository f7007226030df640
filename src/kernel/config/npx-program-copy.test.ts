import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { markFolder } from '../files/durable-file.ts'
import { VERSION } from '../version.ts'
import { lastingProgram, removeUnusedCopies } from './npx-program-copy.ts'

/** What `npx toolroom` leaves in npm's cache: the package, and its dependencies beside it. */
function cached(main = 'main'): string {
  const modules = join(ownFolder(), '_npx/1a2b3c/node_modules')
  const files = {
    'toolroom/dist/main.js': main,
    'toolroom/package.json': '{}',
    'addon/index.js': 'addon',
    '.bin/toolroom': 'x',
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    writeFileSync(join(modules, name), text)
  }
  return join(modules, 'toolroom/dist/main.js')
}

function copyOf(data: string, name: string): void {
  mkdirSync(join(data, 'app', name), { recursive: true })
  markFolder(join(data, 'app', name))
}

test('a program that is installed stays where it is', async () => {
  const data = ownFolder()
  const { mainFile, keep } = lastingProgram('/usr/lib/node_modules/toolroom/dist/main.js', data)
  await keep()
  expect(mainFile).toBe('/usr/lib/node_modules/toolroom/dist/main.js')
  expect(readdirSync(data)).toEqual([])
})

test('a program in the cache of npx is copied with its packages, once, even if two processes do it together', async () => {
  const data = ownFolder()
  const program = lastingProgram(cached(), data)
  expect(program.mainFile).toBe(join(data, 'app', VERSION, 'node_modules/toolroom/dist/main.js'))
  expect(existsSync(program.mainFile)).toBe(false)
  await Promise.all([program.keep(), program.keep()])
  expect(readFileSync(program.mainFile, 'utf8')).toBe('main')
  expect(readdirSync(join(data, 'app', VERSION, 'node_modules')).sort()).toEqual(['addon', 'toolroom'])
  writeFileSync(program.mainFile, 'kept')
  await program.keep()
  expect(readFileSync(program.mainFile, 'utf8')).toBe('kept')
  expect(readdirSync(join(data, 'app'))).toEqual([VERSION])
})

test('another build of the same version gets a copy of its own, and the first one stays as it is', async () => {
  const data = ownFolder()
  const first = lastingProgram(cached(), data)
  await first.keep()
  writeFileSync(join(dirname(first.mainFile), 'up.v20.cache'), 'written by a start')
  const second = lastingProgram(cached('another build'), data)
  await second.keep()
  expect(second.mainFile).toContain(join(data, 'app', `${VERSION}-`))
  expect(readFileSync(second.mainFile, 'utf8')).toBe('another build')
  expect(readFileSync(first.mainFile, 'utf8')).toBe('main')
  // Downloaded again, each build finds its own copy.
  expect(lastingProgram(cached(), data).mainFile).toBe(first.mainFile)
  expect(lastingProgram(cached('another build'), data).mainFile).toBe(second.mainFile)
})

test('a copy that cannot be completed leaves nothing behind', async () => {
  const data = ownFolder()
  const program = lastingProgram(join(ownFolder(), '_npx/1/node_modules/toolroom/dist/main.js'), data)
  await expect(program.keep()).rejects.toThrow('ENOENT')
  expect(readdirSync(join(data, 'app'))).toEqual([])
})

test('copies that nothing uses are removed; those that run or are written in a file stay', async () => {
  const data = ownFolder()
  for (const name of ['0.1.0', '0.1.5', '0.2.0', '0.2.0-rc.1', '0.3.0', '.0.4.0.0123456789ab'])
    copyOf(data, name)
  mkdirSync(join(data, 'app/notes'))
  const file = join(data, 'mcp.json')
  writeFileSync(file, JSON.stringify({ args: [join(data, 'app/0.2.0/node_modules/toolroom/dist/main.js')] }))
  const task = join(data, 'login-task.xml')
  writeFileSync(
    task,
    '\uFEFF<Arguments>"C:\\data\\app\\0.1.5\\node_modules\\toolroom"</Arguments>',
    'utf16le',
  )
  const main = join(data, 'app/0.3.0/node_modules/toolroom/dist/main.js')
  await removeUnusedCopies(data, main, [file, task, data])
  expect(readdirSync(join(data, 'app'))).toHaveLength(7) // a file that cannot be read may name any of them
  await removeUnusedCopies(data, main, [file, task, join(data, 'missing.json')])
  expect(readdirSync(join(data, 'app')).sort()).toEqual(['0.1.5', '0.2.0', '0.3.0', 'notes'])
})
