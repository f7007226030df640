import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ownFolder } from '../test/support/folder.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** A repository with our manifests and two sections in its changelog. */
function repository() {
  const folder = ownFolder()
  const env = { ...process.env, HOME: folder, GIT_CONFIG_NOSYSTEM: '1' }
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' }).trim()
  const scripts = ['release', 'lib', 'outside-env', 'checked'].map((name) => `scripts/${name}.mjs`)
  for (const name of [...scripts, 'package.json', 'package-lock.json'])
    cpSync(join(root, name), join(folder, name))
  writeFileSync(
    join(folder, 'CHANGELOG.md'),
    '# Changelog\n\n## 9.0.0, unreleased\n\n- New.\n\n## 8.0.0, 2026-01-01\n\n- Old.\n',
  )
  git('init', '--quiet', '--initial-branch=main')
  git('config', 'user.email', 'me@example.com')
  git('config', 'user.name', 'Me')
  git('add', '.')
  git('commit', '--quiet', '--message', 'first')
  const release = (...args: string[]) =>
    spawnSync(process.execPath, [join(folder, 'scripts/release.mjs'), ...args], { env, encoding: 'utf8' })
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  return {
    folder,
    git,
    release,
    read,
    write: (name: string, text: string) => writeFileSync(join(folder, name), text),
  }
}

test('a release dates its section of the changelog, sets the version everywhere, and makes one commit with a tag', () => {
  const { git, release, read } = repository()
  const dry = release('9.1.0', '--dry-run')
  expect(dry).toMatchObject({ status: 0, stdout: expect.stringContaining('- New.') })
  expect(dry.stdout).not.toContain('- Old.')
  expect(git('status', '--porcelain')).toBe('')

  expect(release('9.1.0').status).toBe(0)
  expect(read('CHANGELOG.md')).toMatch(/^## 9\.1\.0, \d{4}-\d\d-\d\d$/m)
  expect(JSON.parse(read('package.json')).version).toBe('9.1.0')
  const lock = JSON.parse(read('package-lock.json'))
  expect([lock.version, lock.packages[''].version]).toEqual(['9.1.0', '9.1.0'])
  const original = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  original.version = original.packages[''].version = '9.1.0'
  expect(lock).toEqual(original)
  expect(git('status', '--porcelain')).toBe('')
  expect(git('log', '--format=%s')).toBe('release: 9.1.0\nfirst')
  expect(git('tag', '--list')).toBe('v9.1.0')
})

test('a release is refused without a version, with uncommitted changes, and when nothing is unreleased', () => {
  const { git, release, write } = repository()
  expect(release('next')).toMatchObject({ status: 2, stderr: expect.stringContaining('VERSION') })
  write('package.json', '{}')
  expect(release('9.1.0')).toMatchObject({ status: 1, stderr: expect.stringContaining('uncommitted') })
  git('checkout', '--quiet', 'package.json')
  expect(release('9.1.0').status).toBe(0)
  expect(release('9.2.0')).toMatchObject({ status: 1, stderr: expect.stringContaining('unreleased') })
})

test('a release is refused while results of real agents are older than the code that they judge', () => {
  const { git, release, read, write, folder } = repository()
  for (const path of ['docs', 'src/agents']) mkdirSync(join(folder, path), { recursive: true })
  const row = {
    agent: 'codex',
    version: '1',
    date: '2026-01-01',
    toolroom: '1',
    commit: git('rev-parse', 'HEAD'),
  }
  write('docs/agents-checked.json', JSON.stringify([row]))
  write('src/agents/files.ts', '1')
  git('add', '.')
  git('commit', '--quiet', '--message', 'second')
  const warning = /codex of 2026-01-01 are older than the code: 1 files changed.*npm run verify:agents/
  expect(release('9.1.0')).toMatchObject({ status: 1, stderr: expect.stringMatching(warning) })
  expect(git('tag', '--list')).toBe('')
  expect(release('9.1.0', '--dry-run')).toMatchObject({ status: 0, stdout: expect.stringMatching(warning) })
  write('docs/agents-checked.json', JSON.stringify([{ ...row, commit: git('rev-parse', 'HEAD') }]))
  git('commit', '--quiet', '--all', '--message', 'tried again')
  expect(release('9.1.0').status).toBe(0)
  expect(read('CHANGELOG.md')).toContain('## 9.1.0, ')
})
