import { expect, test } from 'vitest'
import { explainExit } from './explain-exit.ts'

const AT = '/data/packages/notes/1.0.0/node_modules'
const FOUND = ['better-sqlite3', 'sharp']
const explain = (stderr: string, of: readonly string[] = FOUND) =>
  explainExit({
    code: 1,
    signal: null,
    stderr: stderr.split('\n'),
    noise: [],
    wasRunning: false,
    args: [`${AT}/notes/index.js`],
    skippedScripts: { package: 'notes', of },
  })

test.each([
  [
    'better-sqlite3',
    `Error: Could not locate the bindings file. Tried:\n → ${AT}/better-sqlite3/build/better_sqlite3.node`,
  ],
  [
    'better-sqlite3',
    `Error: Cannot find module '../build/Release/better_sqlite3.node'\n - ${AT}/better-sqlite3/index.js`,
  ],
  ['sharp', `Error: spawn ${AT}/sharp/bin/tool ENOENT`],
  ['better-sqlite3', `Error: ENOENT: no such file or directory, open '${AT}/better-sqlite3/vendor/data.bin'`],
])('the missing part of %s is named, with allow_scripts as the action', (name, stderr) => {
  expect(explain(stderr)).toEqual({
    code: 'native_part_missing',
    message: `The native part of '${name}' is missing: 'notes' was installed without install scripts`,
    hint: `Install 'notes' again with its install scripts, if you trust it`,
    action: { kind: 'allow_scripts', package: 'notes' },
  })
})

test('when the output names no package, all whose scripts were skipped are named', () => {
  const { message } = explain(
    'Error: No native build was found for platform=linux arch=x64 runtime=node abi=115',
  )
  expect(message).toBe(
    "The native part of 'better-sqlite3' or 'sharp' is missing: 'notes' was installed without install scripts",
  )
})

test('skipped scripts are not blamed for another cause, nor when all scripts ran', () => {
  const others = {
    'Error: GITHUB_TOKEN is not set': 'missing_setting',
    "Error: Cannot find module 'left-pad'": 'module_not_found',
    "Error: ENOENT: no such file or directory, open '/home/me/notes.txt'": 'file_not_found',
  }
  for (const [stderr, code] of Object.entries(others)) expect(explain(stderr).code, stderr).toBe(code)
  expect(explain('Error: Could not locate the bindings file. Tried:', []).code).toBe('native_module')
})
