/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this */

import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  referencesIn,
  resolveDefinition,
  shellScripts,
} from '../../servers/shared/definition/definition-references.ts'

import {
  escapeReferences,
  isOnlyReference,
  parseReferences,
  type Reference,
  resolveReferences,
  writeReference,
} from './references.ts'

const VALUES: Readonly<Record<string, string>> = { A: 'one', EMPTY: '', '1.b-c': 'two' }
const lookUp = ({ name }: Reference) => (Object.hasOwn(VALUES, name) ? VALUES[name] : undefined)

test.each([
  ['plain', 'plain'],
  ['', ''],
  ['${env:A}', 'one'],
  ['a${secret:1.b-c}b${env:A}', 'atwobone'],
  ['${env:NONE:-x y}', 'x y'],
  ['${env:EMPTY:-x}', 'x'],
  ['[${env:EMPTY}]', '[]'],
  ['${env:NONE:-}', ''],
  ['$${env:A}', '${env:A}'],
  ['$$${env:A}', '$${env:A}'],
  ['$${', '${'],
  ['${A} ${input:A} $A {env:A} ${A:-b} $(A)', '${A} ${input:A} $A {env:A} ${A:-b} $(A)'],
  ['${env:} ${env:A', '${env:} ${env:A'],
  ['${env:A:-${env:A}}', '${env:A:-one}'],
])('the text %j resolves to %j (docs/references.md)', (text, expected) => {
  expect(resolveReferences(text, lookUp)).toEqual({ text: expected })
})

test('the first reference without a value is reported', () => {
  expect(resolveReferences('${env:A} ${secret:NONE} ${env:MORE}', lookUp)).toEqual({
    missing: { kind: 'secret', name: 'NONE', fallback: null },
  })
})

const name = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}$/)
const reference: fc.Arbitrary<Reference> = fc.record({
  kind: fc.constantFrom('env', 'secret'),
  name,
  fallback: fc.option(fc.string().filter((text) => !/[{}]/.test(text))),
})
const pieces = fc.array(
  fc.oneof(fc.constantFrom('$', '{', '}', '${', '$${', '${env:', ':-', 'A'), fc.string()),
)
const anyText = pieces.map((parts) => parts.join(''))

test('any text, once escaped, resolves to itself without a reference (safety: nothing is substituted by accident)', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const escaped = escapeReferences(text)
      expect(parseReferences(escaped).every((part) => typeof part === 'string')).toBe(true)
      expect(resolveReferences(escaped, () => expect.unreachable())).toEqual({ text })
    }),
  )
})

test('a reference that was written is parsed as the same one, between any escaped texts', () => {
  fc.assert(
    fc.property(anyText, reference, anyText, (before, written, after) => {
      // A `$` directly before a reference would escape it.
      const text = `${escapeReferences(before)} ${writeReference(written)}${escapeReferences(after)}`
      expect(parseReferences(text).filter((part) => typeof part === 'object')).toEqual([written])
      expect(resolveReferences(text, () => 'value')).toEqual({ text: `${before} value${after}` })
      expect(isOnlyReference(writeReference(written))).toBe(written.fallback === null)
    }),
  )
})

test.each([
  ['sh', ['-c', 'x'], [1]],
  ['/bin/bash', ['-o', 'pipefail', '-ec', 'x', '$0'], [3]],
  ['docker', ['run', 'image', 'sh', '-c', 'x'], [4]],
  ['pwsh.exe', ['-NoProfile', '-Command', 'x'], [2]],
  ['npx', ['-c', 'x'], []],
  ['node', ['bash.js', '-c', 'x'], []],
])('the script in %s %j is found at %j', (command, args, expected) => {
  expect([...shellScripts(command, args)]).toEqual(expected)
})

test("references in args, env, headers and url are resolved, but never in the text after a shell's -c", () => {
  const definition = {
    command: '${env:A}',
    args: ['-c', 'echo ${env:A} $${x}', '${env:A}'],
    env: { X: 'is ${env:A}' },
    headers: { Y: 'Bearer ${secret:A}' },
    url: 'https://x.example/${env:A}',
  }
  expect(resolveDefinition({ ...definition, command: 'bash' }, lookUp)).toEqual({
    definition: {
      command: 'bash',
      args: ['-c', 'echo ${env:A} $${x}', 'one'],
      env: { X: 'is one' },
      headers: { Y: 'Bearer one' },
      url: 'https://x.example/one',
    },
  })
  expect(referencesIn({ ...definition, command: 'bash' }).map(({ path, label }) => [path, label])).toEqual([
    ['/args/2', 'argument 3'],
    ['/env/X', 'env X'],
    ['/headers/Y', 'header Y'],
    ['/url', 'url'],
  ])
  expect(resolveDefinition(definition, lookUp)).toMatchObject({ definition: { command: '${env:A}' } })
})

test.each([
  'hunter2${env:A}',
  '${env:A}hunter2',
  '${secret:A}${env:B}',
  '${env:A:-hunter2}',
  '${env:A b}',
  '\\n${env:A}',
])('the text %s is more than one reference, so it is not shown like one', (text) => {
  expect(isOnlyReference(text)).toBe(false)
  expect(isOnlyReference('${env:A}')).toBe(true)
})
