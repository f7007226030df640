import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../test/support/folder.ts'
import { staleResults, stamp } from './checked.mjs'

const FILE = 'docs/agents-checked.json'

/** A checkout with results that were made at its only commit. */
function checkout() {
  const folder = ownFolder()
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const git = (...args: string[]) => {
    const who = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
    return execFileSync('git', [...who, ...args], { cwd: folder, stdio: 'pipe', encoding: 'utf8' })
  }
  write('package.json', '{ "version": "1.2.3" }')
  write('src/agents/files.ts', '1')
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'first')
  const keep = () => write(FILE, JSON.stringify([{ agent: 'codex', version: '1', ...stamp(FILE, folder) }]))
  keep()
  return { folder, write, git, keep }
}

test('results of real agents have a date, the version and the commit, and are current while the code is unchanged', () => {
  const { folder, git, write } = checkout()
  const [row] = JSON.parse(readFileSync(join(folder, FILE), 'utf8'))
  expect(row).toMatchObject({ toolroom: '1.2.3', commit: git('rev-parse', 'HEAD').trim() })
  expect(row.date).toMatch(/^\d{4}-\d\d-\d\d$/)
  write('src/agents/files.test.ts', 'a test')
  write('src/other/code.ts', 'not judged')
  git('add', '-A')
  expect(staleResults(folder)).toEqual([])
})

test('npm run check warns about results of real agents when the code they judge has changed since', () => {
  const { folder, git, write } = checkout()
  write('src/agents/files.ts', '2')
  const warning = expect.stringMatching(
    /^docs\/agents-checked\.json: codex of \d{4}-\d\d-\d\d are older than the code: 1 files changed since commit \w{7}\. To renew: npm run verify:agents$/,
  )
  expect(staleResults(folder)).toEqual([warning])
  git('commit', '-qam', 'second')
  expect(staleResults(folder)).toEqual([warning])
})

test('results of uncommitted code, of a shallow clone or outside of git are reported as not comparable', () => {
  const { folder, git, write, keep } = checkout()
  const outside = ownFolder()
  cpSync(folder, outside, { recursive: true })
  rmSync(join(outside, '.git'), { recursive: true })
  expect(staleResults(outside)).toEqual([expect.stringContaining('not a git checkout')])

  write('src/agents/files.ts', '2')
  git('commit', '-qam', 'second')
  const shallow = join(ownFolder(), 'clone')
  execFileSync('git', ['clone', '-q', '--depth=1', `file://${folder}`, shallow], { stdio: 'pipe' })
  cpSync(join(folder, FILE), join(shallow, FILE), { recursive: true })
  expect(staleResults(shallow)).toEqual([expect.stringContaining('does not contain commit')])

  write('src/agents/files.ts', '3')
  keep()
  expect(staleResults(folder)).toEqual([expect.stringContaining('uncommitted changes')])
})
