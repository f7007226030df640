import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { mayLink } from '../../../test/support/home-env.ts'
import { asTyped, programName } from './program-name.ts'

const CLONE = '/home/me/toolroom'
const there = {
  mainFile: `${CLONE}/dist/main.js`,
  cwd: CLONE,
  home: '/home/me',
  path: '/nowhere',
  os: 'linux',
} as const

test.each([
  ['in its folder, a clone is started with node and the short path', there, 'node dist/main.js'],
  [
    'from another folder, a clone is started with the path from the home folder',
    { ...there, cwd: '/' },
    'node ~/toolroom/dist/main.js',
  ],
  [
    'a path with a space is quoted',
    { ...there, cwd: '/', mainFile: '/opt/my tools/dist/main.js' },
    'node "/opt/my tools/dist/main.js"',
  ],
  [
    'a program of npx is started with npx',
    { ...there, mainFile: '/home/me/.npm/_npx/1f2e/node_modules/toolroom/dist/main.js' },
    'npx toolroom',
  ],
  [
    'its copy in the data folder is started with npx, too',
    {
      ...there,
      mainFile: '/home/me/.local/share/toolroom/app/0.1.0-1f2e/node_modules/toolroom/dist/main.js',
    },
    'npx toolroom',
  ],
])('%s', (_, installation, expected) => {
  expect(programName(installation)).toBe(expected)
})

test.runIf(mayLink)('a toolroom of PATH counts unless it leads to another installation', () => {
  const folder = ownFolder()
  const [mainFile, other] = [join(folder, 'dist/main.js'), join(folder, 'other/main.js')]
  for (const path of [mainFile, other]) {
    mkdirSync(dirname(path))
    writeFileSync(path, '')
  }
  const bin = (name: string) => {
    mkdirSync(join(folder, name))
    return join(folder, name, 'toolroom')
  }
  symlinkSync(mainFile, bin('own'))
  symlinkSync(other, bin('foreign'))
  writeFileSync(bin('script'), '#!/bin/sh')
  const name = (...folders: string[]) =>
    programName({
      ...there,
      mainFile,
      cwd: '/',
      home: folder,
      path: folders.map((each) => join(folder, each)).join(delimiter),
    })
  expect(name('no', 'own', 'foreign')).toBe('toolroom')
  expect(name('script')).toBe('toolroom')
  expect(name('foreign', 'own')).toBe('node ~/dist/main.js')
})

test('only commands are written as they are typed: not a sentence about Toolroom, not a path, not another word', () => {
  const typed = (text: string) => asTyped(text, () => 'node dist/main.js', ['ls', 'up', 'agents'])
  expect(typed('next: toolroom ls, then `toolroom up --port 1`; see toolroom --help')).toBe(
    'next: node dist/main.js ls, then `node dist/main.js up --port 1`; see node dist/main.js --help',
  )
  for (const name of ['npx toolroom', 'node ~/toolroom/dist/main.js']) {
    const once = asTyped('next: toolroom ls', () => name, ['ls'])
    expect(once).toBe(`next: ${name} ls`)
    expect(asTyped(once, () => name, ['ls'])).toBe(once)
  }
  for (const text of ['toolroom lsof', '~/.local/share/toolroom up', 'toolroom is ready', 'my-toolroom ls'])
    expect(typed(text)).toBe(text)
})
