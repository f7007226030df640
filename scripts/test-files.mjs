// The test files of the project, and what each of them needs.
import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { filesUnder, root } from './lib.mjs'

/** Every test file, from the root. */
export const testFiles = () =>
  ['src', 'test', 'scripts']
    .flatMap((folder) => filesUnder(folder))
    .filter((path) => path.endsWith('.test.ts'))

/** The test files that vitest runs for these arguments: those whose path contains one of the words, or all. */
export function filesFor(args) {
  const words = args
    .filter((arg, n) => !arg.startsWith('-') && !/^(-t|--testNamePattern)$/.test(args[n - 1] ?? ''))
    .map((word) => word.replace(/^\.\//, '').replace(/:\d+$/, ''))
  return testFiles().filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
}

const texts = new Map()

/** The source of a test file and of all files of `test/` that it imports. */
export function sourcesOf(file) {
  const paths = new Set([file])
  for (const path of paths) {
    const text = ownSourceOf(path)
    for (const [, specifier] of text.matchAll(/(?:from|import\(?|new URL\()\s*'(\.[^']+\.[cm]?[jt]s)'/g)) {
      const imported = posix.join(posix.dirname(path), specifier)
      if (imported.startsWith('test/') && existsSync(join(root, imported))) paths.add(imported)
    }
  }
  return [...paths].map(ownSourceOf)
}

/** The source of one file. */
export function ownSourceOf(path) {
  if (!texts.has(path)) texts.set(path, readFileSync(join(root, path), 'utf8'))
  return texts.get(path)
}

/** Why a test file is not part of `npm run test:quick`: the first that holds for its path or its source. */
const SLOW = [
  { why: 'run in a browser', is: /playwright-core/ },
  { why: 'test the whole program', isIn: /^test\/(?:e2e|goals)\// },
  { why: 'open the whole service', is: /compose\/service\.ts'|dist\/main\.js/ },
  { why: 'start processes', is: /from 'node:child_process'|process\.execPath,/ },
  { why: 'measure processor time', is: /from '.*\/(?:linear|measuring|held-memory)\.ts'/ },
]

/** Why a test file takes too long for `npm run test:quick`; undefined if it does not. */
export function reasonItIsSlow(file) {
  const sources = sourcesOf(file)
  const holds = ({ is, isIn }) => isIn?.test(file) ?? sources.some((text) => is.test(text))
  return SLOW.find(holds)?.why
}
