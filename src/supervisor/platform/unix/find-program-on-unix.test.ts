import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Place } from '../find-program.ts'
import { resolveOnUnix } from './find-program-on-unix.ts'

const posix = describe.skipIf(process.platform === 'win32')

const resolve = (command: string, place: Place) =>
  resolveOnUnix(command, place, process.platform === 'darwin' ? 'darwin' : 'linux')

posix('found', () => {
  test.each<[string, string, string]>([
    ['in a folder of PATH', 'tool', 'a/tool'],
    ['in the first folder that has it', 'both', 'a/both'],
    ['in a later folder if the first file is not executable', 'half', 'b/half'],
    ['in a later folder if the first has a folder of that name', 'folder', 'b/folder'],
    ['relative to the working folder', './here', 'work/here'],
    ['above the working folder', '../a/tool', 'a/tool'],
    ['in the home folder by ~/', '~/mine', 'home/mine'],
    ['in a folder that is not in the PATH of desktop apps', 'local', 'home/.local/bin/local'],
    ['in the default version of nvm', 'only-in-nvm', 'home/.nvm/versions/node/v20.19.1/bin/only-in-nvm'],
    ['through a link', 'link', 'a/link'],
    ['as a script whose interpreter exists', 'script', 'a/script'],
    ['as a script of env', 'env-script', 'a/env-script'],
    ['as a script of env -S', 'env-split', 'a/env-split'],
  ])('a program is found %s', (_, command, file) => {
    const folder = programs()
    const found = resolve(command, folder.place)
    expect(found).toMatchObject({ ok: true, path: join(folder.root, file), cwd: join(folder.root, 'work') })
    expect(found.ok && starts(found.path, { ...folder.place, env: { PATH: found.searchPath } })).toBe(true)
  })

  test('a program is found by its full path with any PATH', () => {
    const { root, place } = programs()
    const path = join(root, 'a/tool')
    expect(resolve(path, { ...place, env: { PATH: '' } })).toMatchObject({ ok: true, path })
  })

  test('a program is found in the usual folders without a PATH', () => {
    const { place } = programs()
    expect(resolve('sh', { ...place, env: {} })).toMatchObject({ ok: true })
  })

  test('a program is found in the working folder if PATH has an empty entry', () => {
    const { root, place } = programs()
    const env = { ...place.env, PATH: `${root}/a::${root}/b` }
    expect(resolve('here', { ...place, env })).toMatchObject({
      ok: true,
      path: join(root, 'work/here'),
    })
  })

  test('a script gets a PATH that contains its interpreter', () => {
    const { root, place } = programs()
    const found = resolve('needs-local', place)
    if (!found.ok) throw new Error(found.message)
    expect(found.searchPath.split(':').slice(0, 2)).toEqual([join(root, 'a'), join(root, 'b')])
    expect(found.searchPath.split(':')).toContain(dirname(process.execPath))
    const run = spawnSync(found.path, [], {
      cwd: found.cwd,
      env: { PATH: found.searchPath },
      encoding: 'utf8',
    })
    expect(run.stdout).toBe('local\n')
  })
})

posix('not found', () => {
  test.each<[string, string, string, RegExp, RegExp]>([
    [
      'a missing program',
      'no-such-tool',
      'command_not_found',
      /^'no-such-tool' was not found in any of these folders: \S+\/a, \S+\/b, /,
      /full path/,
    ],
    [
      'a missing program with a slash',
      './none',
      'command_not_found',
      /^'\.\/none' was not found: there is no file \S+\/work\/none$/,
      /full path/,
    ],
    [
      'a whole command line',
      'no-such-tool -y pkg',
      'command_not_found',
      /'no-such-tool -y \*\*\*'/, // read without a token, where a word may be a secret
      /set command to 'no-such-tool' and move the rest to args/,
    ],
    ['an empty command', '', 'command_not_found', /was not found/, /Install it/],
    ['a NUL character', 'a\0b', 'command_not_found', /was not found/, /Install it/],
    [
      'a file that is not executable',
      'plain',
      'not_executable',
      /^'plain' cannot start: \S+\/a\/plain is not executable$/,
      /chmod \+x '\S+\/a\/plain'/,
    ],
    ['a path that is not executable', '../a/plain', 'not_executable', /a\/plain is not executable/, /chmod/],
    ['a folder', '../a', 'not_executable', /\/a is a folder/, /full path/],
    [
      'a missing interpreter',
      'bad-script',
      'bad_interpreter',
      /a\/bad-script cannot start: .*\/no\/such\/interp, which does not exist/,
      /Install \/no\/such\/interp/,
    ],
    [
      'an interpreter that is not executable',
      'plain-script',
      'bad_interpreter',
      /is not executable/,
      /first line/,
    ],
    [
      'an interpreter that env cannot find',
      'bad-env',
      'bad_interpreter',
      /it needs 'no-such-interp', which was not found in any of these folders/,
      /Install it/,
    ],
    ['Windows line breaks', 'crlf', 'bad_interpreter', /Windows line break/, /sed -i/],
  ])('the error for %s contains the reason and a hint', (_, command, code, message, hint) => {
    const { place } = programs()
    const found = resolve(command, place)
    expect(found).toMatchObject({ ok: false, code })
    expect(starts(command, place)).toBe(false)
    if (found.ok) return
    expect(found.message).toMatch(message)
    expect(found.hint).toMatch(hint)
  })

  test.each([
    ['./npx', /nodejs\.org/],
    ['./uvx', /docs\.astral\.sh/],
    ['./docker', /docs\.docker\.com/],
  ])('the hint for a missing %s says where to get it', (command, hint) => {
    expect(resolve(command, programs().place)).toMatchObject({ hint: expect.stringMatching(hint) })
  })

  test.each([
    ['linux', false],
    ['darwin', true],
  ] as const)('whether env accepts an option in the first line on %s: %s', (platform, ok) => {
    const { place } = programs()
    expect(resolveOnUnix('env-flag', place, platform)).toMatchObject({ ok })
  })

  test.each<[string, string, RegExp]>([
    ['is missing', 'nowhere', /working folder \S+\/nowhere does not exist$/],
    ['is a file', 'a/tool', /a\/tool is a file, not a folder$/],
  ])('the error names the working folder if it %s', (_, folder, message) => {
    const { root, place } = programs()
    const found = resolve('tool', { ...place, cwd: join(root, folder) })
    expect(found).toMatchObject({ ok: false, code: 'cwd_not_found', message: expect.stringMatching(message) })
    expect(found).toMatchObject({ message: expect.stringContaining("'tool'") })
  })

  test('the error does not repeat a token from the command line', () => {
    const found = resolve('no-such-tool --token canary-secret', programs().place)
    expect(JSON.stringify(found)).not.toContain('canary-secret')
  })

  test('the error is short even with a long PATH', () => {
    const { place } = programs()
    const PATH = Array.from({ length: 500 }, (_, at) => `/no/such/folder/${at}`).join(':')
    const found = resolve('no-such-tool', { ...place, env: { ...place.env, PATH } })
    if (found.ok) throw new Error('it should be missing')
    expect(found.message.length).toBeLessThan(1000)
    const more = Number(/ and (\d+) more$/.exec(found.message)?.[1])
    expect(more).toBeGreaterThanOrEqual(480)
  })
})

posix('nvm', () => {
  test.each([
    ['20', 'v20.19.1'],
    ['v20.9.0', 'v20.9.0'],
    ['lts/*', 'v20.19.1'],
    ['node', 'v22.1.0'],
    ['2', undefined],
    ['../../..', undefined],
  ])('the nvm default %s means %s', (alias, version) => {
    const { root, place } = programs()
    const nvm = join(root, 'home/.nvm')
    writeFileSync(join(nvm, 'alias/default'), `${alias}\n`)
    const found = resolve('sh', place)
    const folders = found.ok ? found.searchPath.split(':').filter((folder) => folder.startsWith(nvm)) : []
    expect(folders).toEqual(version === undefined ? [] : [join(nvm, 'versions/node', version, 'bin')])
  })
})

/** Whether the operating system can start it. `env` exits with 127 if it cannot find its program; a NUL throws. */
function starts(command: string, { cwd, env }: Pick<Place, 'cwd' | 'env'>): boolean {
  try {
    const { error, status } = spawnSync(command, [], { cwd, env: { ...env } })
    return error === undefined && status === 0
  } catch {
    return false
  }
}

/** A folder with programs: PATH is a and b, the working folder is work. */
function programs() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'toolroom-command-')))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const put = (file: string, text = '#!/bin/sh\n', mode = 0o755) => {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), text)
    chmodSync(join(root, file), mode)
  }
  for (const file of ['a/tool', 'a/both', 'b/both', 'b/half', 'b/folder', 'work/here', 'home/mine']) put(file)
  put('a/half', '#!/bin/sh\n', 0o644)
  put('a/plain', '#!/bin/sh\n', 0o644)
  mkdirSync(join(root, 'a/folder'))
  symlinkSync(join(root, 'a/tool'), join(root, 'a/link'))
  put('home/.local/bin/local', '#!/bin/sh\necho local\n')
  put('a/script', '#! /bin/sh -e\n')
  put('a/env-script', '#!/usr/bin/env sh\n')
  put('a/env-split', '#!/usr/bin/env -S A=1 sh -e\n')
  put('a/env-flag', '#!/usr/bin/env sh -e\n')
  put('a/needs-local', '#!/usr/bin/env local\n')
  put('a/bad-script', '#!/no/such/interp\n')
  put('a/plain-script', `#!${root}/a/plain\n`)
  put('a/bad-env', '#!/usr/bin/env no-such-interp\n')
  put('a/crlf', '#!/bin/sh\r\necho\r\n')
  for (const version of ['v20.9.0', 'v20.19.1', 'v22.1.0'])
    put(`home/.nvm/versions/node/${version}/bin/only-in-nvm`)
  put('home/.nvm/alias/default', 'lts/*\n', 0o644)
  put('home/.nvm/alias/lts/*', 'lts/iron\n', 0o644)
  put('home/.nvm/alias/lts/iron', 'v20.19.1\n', 0o644)
  const env = { PATH: `${root}/a:${root}/b`, HOME: join(root, 'home') }
  return { root, place: { cwd: join(root, 'work'), env } }
}
