import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { REQUIREMENTS, type Requirement } from './requirements.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const requirements: readonly Requirement[] = REQUIREMENTS
const citations = readCitations()

test('every sentence of the specification that holds is cited by a test', () => {
  const missing = requirements.filter((one) => holds(one) && !citations.has(one.id))
  expect(missing.map(({ id, section, text }) => `${id}: no test cites "${text}" (${section})`)).toEqual([])
})

test('a sentence of the specification that a test cites is not marked as later', () => {
  const early = requirements.filter((one) => !holds(one) && citations.has(one.id))
  expect(
    early.map(({ id }) => `${id} is cited by ${citations.get(id)}: mark it as done in requirements.ts`),
  ).toEqual([])
})

test('every citation refers to an existing sentence of the specification', () => {
  const known = new Set(requirements.map(({ id }) => id))
  const unknown = [...citations].filter(([id]) => !known.has(id))
  expect(unknown.map(([id, file]) => `${file} cites '${id}', which is not in requirements.ts`)).toEqual([])
})

test('every sentence of the specification has a unique id, and every decision has a note', () => {
  const ids = requirements.map(({ id }) => id)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  expect(requirements.filter(({ state, note }) => state === 'decided' && !note).map(({ id }) => id)).toEqual(
    [],
  )
})

function holds({ state }: Requirement): boolean {
  return state !== 'later'
}

/** Each cited id, with the first file that cites it. */
function readCitations(): Map<string, string> {
  const found = new Map<string, string>()
  for (const file of testFiles()) {
    const text = readFileSync(join(root, file), 'utf8').replace(/^\s*\/\/.*$/gm, '')
    for (const [, list = ''] of text.matchAll(/\bcovers\(([^)]*)\)/g)) {
      for (const [, id = ''] of list.matchAll(/['"]([^'"]+)['"]/g)) found.set(id, found.get(id) ?? file)
    }
  }
  return found
}

function testFiles(): string[] {
  return ['src', 'test']
    .flatMap((folder) => readdirSync(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /\.(test|contract)\.ts$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => file !== relative(root, fileURLToPath(import.meta.url)))
}
