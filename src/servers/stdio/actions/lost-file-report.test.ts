import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../../test/support/folder.ts'
import type { Outside, Refusal } from './isolation-refusals.ts'
import { lostFilesShown, refusalsOfLost } from './lost-file-report.ts'

const same = (text: string) => text

function outsideWith(...folders: string[]): Outside {
  const home = ownFolder()
  for (const folder of folders) mkdirSync(join(home, folder), { recursive: true })
  return { home, own: [join(home, 'toolroom')], cwd: null, searchPath: '' }
}

function foldersFor(outside: Outside, files: readonly string[], known: readonly Refusal[] = []) {
  const paths = files.map((file) => join(outside.home, file))
  return refusalsOfLost(paths, known, outside, same).map(({ path }) => path?.slice(outside.home.length + 1))
}

test('a lost file asks for the nearest folder that exists outside, and says which file it was', () => {
  const outside = outsideWith('projects/site')
  const { home } = outside
  expect(refusalsOfLost([join(home, 'projects/site/new/a.txt')], [], outside, same)).toEqual([
    {
      kind: 'write',
      path: join(home, 'projects/site'),
      evidence: '~/projects/site/new/a.txt was written in memory only and is lost at the end',
      seen_in: 'lost_files',
    },
  ])
})

test.each([
  ['directly in the home', ['page.png', 'new/a']],
  ['in a hidden folder of the home', ['.cache/app/a', '.config/b', '.npm/c']],
  ['among the files of Toolroom', ['toolroom/a', 'toolroom/packages/b']],
])('no path is suggested for files %s', (_, files) => {
  expect(foldersFor(outsideWith('.cache/app', '.config', '.npm', 'toolroom/packages'), files)).toEqual([])
})

test('a folder inside of another one that is asked for is not named, nor is one that an error has named', () => {
  const outside = outsideWith('a/b', 'c/d')
  expect(foldersFor(outside, ['a/b/1', 'a/2', 'c/d/3'])).toEqual(['a', 'c/d'])
  const known: Refusal = { kind: 'write', path: join(outside.home, 'c'), evidence: '', seen_in: 'errors' }
  expect(foldersFor(outside, ['a/b/1', 'c/d/3'], [known])).toEqual(['a/b'])
})

test('at most 50 files are shown, with ~/, without control characters, and with secrets masked', () => {
  const outside = outsideWith('notes')
  const paths = ['line\nbreak', '\u001b[2Jx', '\u202etxt', 'key-s3cret'].map((name) =>
    join(outside.home, 'notes', name),
  )
  const clean = (text: string) => text.replaceAll('s3cret', '***')
  const shown = ['~/notes/line?break', '~/notes/?[2Jx', '~/notes/?txt', '~/notes/key-***']
  expect(lostFilesShown(paths, outside, clean)).toEqual(shown)
  expect(refusalsOfLost(paths.slice(3), [], outside, clean)[0]?.evidence).toMatch(
    /^~\/notes\/key-\*\*\* was /,
  )
  const many = Array.from({ length: 60 }, (_, at) => join(outside.home, String(at)))
  expect(lostFilesShown(many, outside, same)).toHaveLength(50)
  const long = [join(outside.home, 'notes', 'x'.repeat(4000))]
  expect(lostFilesShown(long, outside, same)[0]).toHaveLength(500)
  expect(refusalsOfLost(long, [], outside, same)[0]?.evidence).toMatch(/x was .* at the end$/)
})
