import fc from 'fast-check'
import { expect, test } from 'vitest'
import { objectText } from '../../../test/support/arbitrary-json.ts'
import { runs } from '../../../test/support/full-or-short.ts'
import { memberOf, RawJson, rewritten, textOf, withMembers, withMeta } from './raw-json.ts'

const raw = (json: string) => new RawJson(json, JSON.parse(json))
const edit = (json: string, changes: Record<string, unknown>) => textOf(withMembers(raw(json), changes))

test.each<[string, Record<string, unknown>, string]>([
  ['{"a":1.0,"b":2}', { b: 3 }, '{"a":1.0,"b":3}'],
  ['{ "a" : 1.0 , "b":2 }', { b: 3 }, '{ "a" : 1.0 , "b":3 }'],
  ['{ "b":2, "a":1.0}', { b: undefined }, '{"a":1.0}'],
  ['{"a":1.0, "b":2 }', { b: undefined }, '{"a":1.0 }'],
  ['{"a":1.0,"b":2,"c":-0}', { b: undefined }, '{"a":1.0,"c":-0}'],
  ['{"b":1,"a":1.0,"\\u0062":2,"b":4}', { b: 'x' }, '{"b":"x","a":1.0}'],
  ['{"a":1.0}', { b: { c: 1 } }, '{"a":1.0,"b":{"c":1}}'],
  ['{ }', { b: 1 }, '{"b":1 }'],
  ['{"b":1}', { b: undefined, c: undefined }, '{}'],
  ['{"a":1.0}', { b: raw('[1e400]') }, '{"a":1.0,"b":[1e400]}'],
  ['[1.0]', { b: raw('1.0') }, '{"b":1.0}'],
])('in %s the members %j are replaced, and all other bytes stay', (json, changes, expected) => {
  expect(edit(json, changes)).toBe(expected)
})

test('an edit has the value of an edit of the parsed object, and no edit changes nothing', () => {
  const change = fc.tuple(
    fc.constantFrom('a', '__proto__', 'new', ''),
    fc.constantFrom<unknown>(undefined, 1, 'x', { y: [] }),
  )
  fc.assert(
    fc.property(objectText, change, (json, [name, value]) => {
      const line = json.replaceAll(/[\r\n]/g, '')
      expect(edit(line, {})).toBe(line)
      const edited = withMembers(raw(line), Object.fromEntries([[name, value]])) as RawJson
      const expected = new Map(Object.entries(JSON.parse(line)))
      expected.delete(name)
      if (value !== undefined) expected.set(name, value)
      const parsed = JSON.parse(textOf(edited))
      expect(new Set(Object.keys(parsed))).toEqual(new Set(expected.keys()))
      for (const [key, each] of expected) expect(parsed[key]).toEqual(each)
      for (const key of Object.keys(parsed)) {
        const member = memberOf(edited, key) as RawJson
        expect(JSON.parse(textOf(member))).toEqual(parsed[key])
      }
    }),
    { numRuns: runs(150, 10_000) },
  )
})

test('_meta gets more members beside those that it has, whatever it was', () => {
  const token = { progressToken: 5 }
  expect(textOf(withMeta(raw('{"_meta":{"x":1.0,"progressToken":"a"},"n":1E2}'), token))).toBe(
    '{"_meta":{"x":1.0,"progressToken":5},"n":1E2}',
  )
  for (const meta of ['null', '7', '[1]', '"text"'])
    expect(textOf(withMeta(raw(`{"_meta":${meta},"n":1.0}`), token))).toBe(
      '{"_meta":{"progressToken":5},"n":1.0}',
    )
  expect(textOf(withMeta(raw('{"n":1.0}'), token))).toBe('{"n":1.0,"_meta":{"progressToken":5}}')
  expect(withMeta({ n: 1 }, token)).toEqual({ n: 1, _meta: token })
})

test('a value that was changed in a few places keeps the bytes of all others', () => {
  const json = raw('{"a":[ 1.0,{"uri":"x","n":-0}, "\\u0061" ],"b":1e400, "uri":"x"}')
  const value = json.value as { a: readonly unknown[] }
  const changed = {
    ...value,
    a: value.a.map((each, at) => (at === 1 ? { ...(each as object), uri: 'y' } : each)),
  }
  expect(textOf(rewritten(json, changed))).toBe(
    '{"a":[1.0,{"uri":"y","n":-0},"\\u0061"],"b":1e400, "uri":"x"}',
  )
  expect(rewritten(json, value)).toBe(json)
  expect(textOf(rewritten(json, { ...value, c: [] }))).toBe(`${textOf(json).slice(0, -1)},"c":[]}`)
  expect(textOf(rewritten(raw('[1.0]'), ['x', 'y']))).toBe('["x","y"]')
})
