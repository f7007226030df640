import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { readInstalled } from './read-installed-version.ts'
import type { Chosen } from './registry/choose-version.ts'

const CHOSEN: Chosen = {
  name: '@acme/tool',
  version: '1.2.3',
  requested: 'latest',
  latest: '1.2.3',
  integrity: 'sha512-right',
  license: null,
  deprecated: null,
  engines: null,
  warnings: [],
} as unknown as Chosen

/** A folder as npm leaves it, with these programs and this entry of the lock file. */
function installed(bin: unknown, locked: object = {}): string {
  const folder = ownFolder()
  const write = (path: string, content: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  const own = 'node_modules/@acme/tool'
  write(`${own}/package.json`, JSON.stringify({ name: '@acme/tool', version: '1.2.3', bin }))
  write(`${own}/cli.js`, '')
  write(`${own}/native`, '#!/bin/sh\n')
  write(`${own}/script`, '#!/usr/bin/env node\n')
  write('node_modules/other/cli.js', '')
  const entry = { version: '1.2.3', integrity: 'sha512-right', ...locked }
  write('package-lock.json', JSON.stringify({ packages: { [own]: entry } }))
  return folder
}

const read = (folder: string, chosen = CHOSEN) => readInstalled(folder, chosen, { scriptsRan: false, now: 1 })

test('programs of a package are files in its own folder: paths that lead out of it and missing files are left out', async () => {
  const { bin, direct } = await read(
    installed({
      good: './cli.js',
      native: 'native',
      script: 'script',
      above: '../../other/cli.js',
      beside: 'x/../../../other/cli.js',
      absolute: '/bin/sh',
      missing: 'none.js',
      'not a name': 'cli.js',
      number: 7,
    }),
  )
  expect(bin).toEqual({ good: 'cli.js', native: 'native', script: 'script' })
  expect(direct).toEqual(['native'])
  expect((await read(installed('cli.js'))).bin).toEqual({ tool: 'cli.js' })
})

test('another version or another file than the chosen one is not taken for it', async () => {
  await expect(read(installed({}, { version: '1.2.4' }))).rejects.toMatchObject({ code: 'install_failed' })
  await expect(read(installed({}, { integrity: 'sha512-wrong' }))).rejects.toThrow(
    "'@acme/tool' 1.2.3 was not installed: the downloaded file does not match the registry's digest",
  )
  const older = { ...CHOSEN, integrity: 'sha1-old sha512-right' }
  expect((await read(installed({}), older)).integrity).toBe('sha512-right')
  expect((await read(installed({}, { integrity: undefined }))).integrity).toBe('sha512-right')
})
