import { describe, expect, test } from 'vitest'
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

describe('what is another in a tool', () => {
  test.each<[says: string, after: object, fields: [string, string][]]>([
    ['a word', { ...TOOL, description: 'Reads any file' }, [['/description', 'Reads [-a][+any] file']]],
    ['a title', { ...TOOL, title: 'Read' }, [['/title', '[+Read]']]],
    ['an empty title', { ...TOOL, title: '' }, [['/title', '[+""]']]],
    ['another kind of value', { ...TOOL, description: null }, [['/description', '[-"Reads a file"][+null]']]],
    [
      'a place deep inside',
      { ...TOOL, inputSchema: { ...TOOL.inputSchema, properties: { path: { type: 'number' } } } },
      [['/inputSchema/properties/path/type', '[-string][+number]']],
    ],
    [
      'a longer list',
      { ...TOOL, inputSchema: { ...TOOL.inputSchema, required: ['path', 'mode'] } },
      [['/inputSchema/required', '["path"[+,"mode"]]']],
    ],
    ['a name with a slash', { ...TOOL, 'a/b~c': 1 }, [['/a~1b~0c', '[+1]']]],
    ['a name with something unseen', { ...TOOL, 'a\u200Bb': 1 }, [['/a\\u{200B}b', '[+1]']]],
    [
      'a name of JavaScript',
      JSON.parse('{"__proto__": 1}'),
      expect.arrayContaining([['/__proto__', '[+1]']]),
    ],
    ['the order of keys', Object.fromEntries(Object.entries(TOOL).reverse()), []],
  ])('%s', (_, after, fields) => {
    expect(shown(after)).toEqual(fields)
  })

  test('twenty fields of a tool, fifty tools and 40,000 characters are enough', () => {
    const wide = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`field_${n}`, `value ${n}`]))
    const changed = (tool: string, after: object) => ({ tool, before: {}, after: { ...after } })
    expect(diffsOf([changed('wide', wide)])).toHaveLength(20)
    const many = Array.from({ length: 100 }, (_, n) => changed(`tool_${n}`, { description: 'new' }))
    expect(diffsOf(many)).toHaveLength(50)
    const long = many.map(({ tool }) => changed(tool, { a: 'x '.repeat(5000), b: 'y '.repeat(5000) }))
    expect(JSON.stringify(diffsOf(long)).length).toBeLessThan(60_000)
  })

  test('a tool made to be compared for a long time is compared in a short one', () => {
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
    const startedAt = performance.now()
    diffsOf(tools)
    expect(performance.now() - startedAt).toBeLessThan(5000)
  })

  test('a definition as deep as JSON goes is no trouble', () => {
    const deep = (leaf: string) => JSON.parse(`${'{"a":'.repeat(1000)}"${leaf}"${'}'.repeat(1000)}`)
    const [diff] = diffsOf([{ tool: 'deep', before: deep('one'), after: deep('two') }])
    expect(diff?.field.split('/')).toHaveLength(33)
  })
})
