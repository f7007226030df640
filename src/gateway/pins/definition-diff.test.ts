import { describe, expect, test } from 'vitest'
import { stopwatch } from '../../../test/support/measuring.ts'
import { diffsOf } from './definition-diff.ts'

const TOOL = {
  name: 'read',
  description: 'Reads a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}
const shown = (after: object) =>
  diffsOf([{ tool: 'read', before: TOOL, after: after as typeof TOOL }]).map(({ field, words }) => [
    field,
    words.map(({ op, text }) => (op === 'same' ? text : `[${op === 'added' ? '+' : '-'}${text}]`)).join(''),
  ])

describe('definition diffs', () => {
  test.each<[change: string, after: object, fields: [string, string][]]>([
    [
      'a changed word',
      { ...TOOL, description: 'Reads any file' },
      [['/description', 'Reads [-a][+any] file']],
    ],
    ['a new title', { ...TOOL, title: 'Read' }, [['/title', '[+Read]']]],
    ['a new empty title', { ...TOOL, title: '' }, [['/title', '[+""]']]],
    [
      'a value of another type',
      { ...TOOL, description: null },
      [['/description', '[-"Reads a file"][+null]']],
    ],
    [
      'a nested field',
      { ...TOOL, inputSchema: { ...TOOL.inputSchema, properties: { path: { type: 'number' } } } },
      [['/inputSchema/properties/path/type', '[-string][+number]']],
    ],
    [
      'a longer array',
      { ...TOOL, inputSchema: { ...TOOL.inputSchema, required: ['path', 'mode'] } },
      [['/inputSchema/required', '["path"[+,"mode"]]']],
    ],
    ['a key with a slash', { ...TOOL, 'a/b~c': 1 }, [['/a~1b~0c', '[+1]']]],
    ['a key with an invisible character', { ...TOOL, 'a\u200Bb': 1 }, [['/a\\u{200B}b', '[+1]']]],
    ['the key __proto__', JSON.parse('{"__proto__": 1}'), expect.arrayContaining([['/__proto__', '[+1]']])],
    ['another order of keys', Object.fromEntries(Object.entries(TOOL).reverse()), []],
  ])('the diff of a tool shows %s correctly', (_, after, fields) => {
    expect(shown(after)).toEqual(fields)
  })

  test('diffs are limited to 20 fields per tool, 50 tools and 40,000 characters', () => {
    const wide = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`field_${n}`, `value ${n}`]))
    const changed = (tool: string, after: object) => ({ tool, before: {}, after: { ...after } })
    expect(diffsOf([changed('wide', wide)])).toHaveLength(20)
    const many = Array.from({ length: 100 }, (_, n) => changed(`tool_${n}`, { description: 'new' }))
    expect(diffsOf(many)).toHaveLength(50)
    const long = many.map(({ tool }) => changed(tool, { a: 'x '.repeat(5000), b: 'y '.repeat(5000) }))
    expect(JSON.stringify(diffsOf(long)).length).toBeLessThan(60_000)
  })

  test('tools that are expensive to compare are compared within 5 s', () => {
    const words = (seed: number) =>
      Array.from({ length: 480 }, (_, n) => ((n * seed) % 7 === 0 ? 'a' : 'b')).join(' ')
    const fields = (seed: number) =>
      Object.fromEntries(
        Array.from({ length: 20 }, (_, n) => [`field_${n}`, `${seed} ${words(seed)} ${seed}`]),
      )
    const tools = Array.from({ length: 50 }, (_, n) => ({
      tool: `t${n}`,
      before: fields(3),
      after: fields(5),
    }))
    const spent = stopwatch()
    diffsOf(tools)
    expect(spent()).toBeLessThan(5000)
  })

  test('a deeply nested definition is compared down to a depth of 32', () => {
    const deep = (leaf: string) => JSON.parse(`${'{"a":'.repeat(1000)}"${leaf}"${'}'.repeat(1000)}`)
    const [diff] = diffsOf([{ tool: 'deep', before: deep('one'), after: deep('two') }])
    expect(diff?.field.split('/')).toHaveLength(33)
  })
})
