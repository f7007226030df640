import { describe, expect, test } from 'vitest'
import { runs } from '../../../../test/support/full-or-short.ts'
import { expectLinear } from '../../../../test/support/linear.ts'
import type { Dialect } from '../../catalogue/agent-record.ts'
import type { Json, Path } from '../../catalogue/json-value.ts'
import { CannotEdit } from '../format.ts'
import { jsonFormat } from './json-format.ts'

const STRICT: Dialect = { comments: false, trailingCommas: false, bom: false }
const strict = jsonFormat(STRICT)
const relaxed = jsonFormat({ comments: true, trailingCommas: true, bom: true })
const X: Path = ['mcpServers', 'x']
const NPX: Json = { command: 'npx', args: ['-y'] }

const LINES =
  '{\n  "mcpServers": {\n    "x": {\n      "command": "npx",\n      "args": [\n        "-y"\n      ]\n    }\n  }\n}'

describe('add', () => {
  test.each<[title: string, before: string, after: string]>([
    ['an empty file', '', `${LINES}\n`],
    ['only a comment', '// mine', `// mine\n${LINES}\n`],
    ['only a BOM', '\ufeff', `\ufeff${LINES}\n`],
    ['an empty object', '{}', LINES],
    ['an empty object with a blank and a final line end', '{ }\n', `${LINES}\n`],
    ['an empty container', '{\n  "mcpServers": {}\n}', LINES],
    ['an empty container over two lines', '{\n  "mcpServers": {\n  }\n}', LINES],
    ['Windows line ends', '{\r\n  "mcpServers": {}\r\n}', LINES.replaceAll('\n', '\r\n')],
    ['tabs', '{\n\t"mcpServers": {}\n}', LINES.replaceAll('  ', '\t')],
    ['four blanks', '{\n    "mcpServers": {}\n}', LINES.replaceAll('  ', '    ')],
    ['an empty line in the container', '{\n  "mcpServers": {\n\n  }\n}', LINES.replace('s": {', 's": {\n')],
    ['minified', '{"a":1}', '{"a":1,"mcpServers":{"x":{"command":"npx","args":["-y"]}}}'],
    ['minified and empty', '{"mcpServers":{}}', '{"mcpServers":{"x":{"command":"npx","args":["-y"]}}}'],
    ['one line', '{ "a": 1 }', '{ "a": 1, "mcpServers": { "x": { "command": "npx", "args": ["-y"] } } }'],
    [
      'one line as Python writes it',
      '{"a": 1}',
      '{"a": 1, "mcpServers": {"x": {"command": "npx", "args": ["-y"]}}}',
    ],
  ])('an entry is added in the style of the file and removed again: %s', (_, before, after) => {
    const added = relaxed.set(before, X, NPX)
    expect(added.text).toBe(after)
    expect(added.trace).toBeDefined()
    expect(relaxed.remove(after, X, added.trace)).toBe(before)
  })

  test.each<[title: string, before: string, after: string]>([
    ['after a comment on the line', '{\n  "b": {} // after b\n}', '{\n  "b": {}, // after b\n  "x": 1\n}'],
    ['with a trailing comma', '{\n  "b": {}, // after b\n}', '{\n  "b": {}, // after b\n  "x": 1,\n}'],
    ['before comments on lines below', '{\n  "b": 2\n  // end\n}', '{\n  "b": 2,\n  "x": 1\n  // end\n}'],
    ['with the bracket on the line', '{\n  "b": 2 }', '{\n  "b": 2,\n  "x": 1 }'],
    ['after a comment in one line', '{ "b": 2 /* b */ }', '{ "b": 2, /* b */ "x": 1 }'],
    [
      'between unusual numbers',
      '{"b":1e5,"c":1.0,"d":12345678901234567890}',
      '{"b":1e5,"c":1.0,"d":12345678901234567890,"x":1}',
    ],
    ['with a duplicate name elsewhere', '{"b":1,"b":2}', '{"b":1,"b":2,"x":1}'],
    ['with mixed line ends', '{\n  "a": 1,\n  "b": 2\r\n}', '{\n  "a": 1,\n  "b": 2,\r\n  "x": 1\n}'],
    ['with the comma first', '{ "a": 1\n, "b": 2\n}', '{ "a": 1\n, "b": 2, "x": 1\n}'],
  ])('an entry is added %s', (_, before, after) => {
    expect(relaxed.set(before, ['x'], 1)).toEqual({ text: after, trace: undefined })
    expect(relaxed.remove(after, ['x'])).toBe(before)
  })
})

describe('replace', () => {
  test.each<[before: string, value: Json, after: string]>([
    ['{ "x": 1.0 }', 1, '{ "x": 1.0 }'],
    ['{ "x": {"b": 1, "a": [2] /* kept */} }', { a: [2], b: 1 }, '{ "x": {"b": 1, "a": [2] /* kept */} }'],
    ['{\n  "x": ["a", "b"] // c\n}', ['c'], '{\n  "x": ["c"] // c\n}'],
    ['{\n  "x": 1\n}', ['c'], '{\n  "x": [\n    "c"\n  ]\n}'],
    ['{"\\u0078":1}', 2, '{"\\u0078":2}'],
  ])('the value in %s is replaced with %j', (before, value, after) => {
    expect(relaxed.set(before, ['x'], value)).toEqual({ text: after, trace: undefined })
  })

  test('replacing one field of an entry keeps its comments and other fields', () => {
    const text = '{\n  "x": {\n    // why\n    "command": "a", // old\n    "trust": true\n  }\n}'
    expect(relaxed.set(text, ['x', 'command'], 'b').text).toBe(text.replace('"a"', '"b"'))
  })
})

describe('remove', () => {
  test.each<[title: string, before: string, after: string]>([
    ['first', '{\n  "x": 1, // x\n  "b": 2 // b\n}', '{\n  "b": 2 // b\n}'],
    ['last', '{\n  "b": 2, // b\n  // above x\n  "x": 1 // x\n}', '{\n  "b": 2 // b\n  // above x\n}'],
    ['the only one', '{\n  "x": 1\n}', '{\n}'],
    ['in one line', '{ "a": 1, "x": 2, /* b */ "b": 3 }', '{ "a": 1, /* b */ "b": 3 }'],
    ['with trailing blanks', '{\n  "a": 1,\n  "x": 1,  \n  "b": 2\n}', '{\n  "a": 1,\n  "b": 2\n}'],
    ['after a comment, before the bracket', '{\n  "a": 1, // a\n  "x": 2 }', '{\n  "a": 1 // a\n   }'],
    ['with the comma first', '{ "a": 1\n, "x": 2\n, "b": 3\n}', '{ "a": 1\n, "b": 3\n}'],
    ['with its comma far away', '{\n  "x": 1 // x\n  // b\n  , "b": 2\n}', '{\n  // b\n   "b": 2\n}'],
    ['with Windows line ends', '{ "x": 1, // x\r\n  "b": 2\r\n}', '{\r\n  "b": 2\r\n}'],
    ['a missing entry', '{ "a": 1 }', '{ "a": 1 }'],
  ])('an entry is removed with its comma and the rest of its line: %s', (_, before, after) => {
    expect(relaxed.remove(before, ['x'])).toBe(after)
  })
})

describe('trace', () => {
  test.each<[title: string, text: string]>([
    ['another entry', '{\n  "mcpServers": {\n    "y": 1\n  }\n}'],
    ['a comment', '{\n  "mcpServers": {\n    // mine\n  }\n}'],
    ['a comment after it', '{\n  "mcpServers": {\n  } // mine\n}'],
    ['a comment before its value', '{\n  "mcpServers": /* mine */ {\n  }\n}'],
  ])('a created container is kept if it contains something else: %s', (_, text) => {
    const { trace } = relaxed.set('', X, NPX)
    expect(relaxed.remove(relaxed.set(text, X, NPX).text, X, trace)).toBe(text)
  })

  test.each(['', 'no trace', '{"path":1}', '{"path":["mcpServers"],"depth":1,"blank":"}"}'])(
    'the invalid trace %j is ignored',
    (trace) => expect(relaxed.remove('{"mcpServers":{"x":1}}', X, trace)).toBe('{"mcpServers":{}}'),
  )

  test('a comment that was added since does not swallow the closing bracket', () => {
    const { trace } = relaxed.set('{"mcpServers":{}}', X, 1)
    const text = relaxed.remove('{"mcpServers":{ // mine\n"x":1}}', X, trace)
    expect(relaxed.readAgain(text)).toEqual({ mcpServers: {} })
    expect(text).toContain('// mine\n')
  })
})

describe('refusal', () => {
  test.each<[text: string, line: number, column: number, sentence: RegExp]>([
    ['{\n\n  // c\n}', 3, 3, /^The agent accepts no comments in this file\. Remove this comment first$/],
    ['{\n  "a": 1,\n}', 2, 9, /^This agent cannot read a trailing comma\. Remove it first$/],
    ['\ufeff{}', 1, 1, /BOM/],
    ["{'a': 1}", 1, 2, /a word or sign that is not part of JSON/],
    ['{"a": NaN}', 1, 7, /a word or sign that is not part of JSON/],
    ['{"a": 0x10}', 1, 8, /a word or sign that is not part of JSON/],
    ['{"a": "s3cret}', 1, 7, /a string is not closed/],
    ['{"a": 1\n "b": 2}', 2, 2, /a comma is missing/],
    ['{"a": [1, 2}', 1, 12, /a comma is missing, or this bracket does not match the opening one/],
    ['{"a" 1}', 1, 6, /a colon is missing after a name/],
    ['{"a": "C:\\Users"}', 1, 7, /an unknown escape follows a backslash/],
    ['{"a": 1', 1, 8, /the file ends too early/],
    ['{} {}', 1, 4, /there is more text after the end/],
    ['[]', 1, 1, /The top of this file must be an object/],
    ['{"mcpServers": null}', 1, 16, /'mcpServers' must be an object/],
    [
      '{"mcpServers": {},\n "mcp\\u0053ervers": {}}',
      2,
      2,
      /^Duplicate 'mcpServers'\. Remove one of the two first$/,
    ],
    ['{"mcpServers": {"x": 1, "x": 1}}', 1, 25, /^Duplicate 'x'\. Remove one of the two first$/],
    ['['.repeat(201) + ']'.repeat(201), 1, 201, /deeper than 200 levels/],
  ])('%j is refused with its position and a message', (text, line, column, sentence) => {
    for (const act of [
      () => strict.set(text, X, 1),
      () => strict.remove(text, X),
      () => strict.find(text, X),
    ]) {
      const error = refused(act)
      expect(error.position).toEqual({ line, column })
      expect(error.message).toMatch(sentence)
      expect(error.message).not.toContain('s3cret')
    }
  })

  test.each(['{,}', '[,]', '[1,,]', '{"a":,}', ','])(
    '%s is refused, because it has more than a trailing comma',
    (text) => {
      for (const read of [relaxed.read, relaxed.readAgain]) refused(() => read(text))
    },
  )

  test('a comment with an ambiguous end is refused', () => {
    for (const read of [relaxed.read, relaxed.readAgain]) {
      expect(refused(() => read('{ // a\r"b": 1 }')).position).toEqual({ line: 1, column: 7 })
    }
  })

  test.each<[path: Path, value: Json]>([
    [['__proto__', 'x'], 1],
    [['mcpServers', 'constructor'], 1],
    [['list', { field: 'prototype', is: 'x' }], { prototype: 'x' }],
    [[], {}],
    [[{ item: 'x' }], 'x'],
    [['list', { field: 'name', is: 'x' }], { name: 'y' }],
    [['list', { item: 'x' }, 'y'], 1],
    [['x'], Number.NaN],
    [['x'], JSON.parse('['.repeat(200) + ']'.repeat(200))],
  ])('setting %j is refused', (path, value) => {
    refused(() => strict.set('', path, value))
  })
})

test('__proto__ in a file is an ordinary name', () => {
  const text = '{"__proto__": {"polluted": true}, "a": {"__proto__": 1, "constructor": 2}}'
  for (const json of [strict.read(text), strict.readAgain(text)]) {
    expect(JSON.stringify(json)).toBe(JSON.stringify(JSON.parse(text)))
    expect(json).not.toHaveProperty('polluted')
  }
  expect({}).not.toHaveProperty('polluted')
})

describe('list', () => {
  const list = '{\n  "list": [\n    { "name": "a" }, // a\n    { "name": "b" } // b\n  ]\n}'
  const b: Path = ['list', { field: 'name', is: 'b' }]

  test('list items are found, changed, added and removed by a field', () => {
    expect(relaxed.find(list, b)).toEqual({ line: 4, column: 5 })
    expect(relaxed.set(list, [...b, 'on'], true).text).toBe(list.replace('"b" }', '"b", "on": true }'))
    expect(relaxed.remove(list, b)).toBe('{\n  "list": [\n    { "name": "a" } // a\n  ]\n}')
    const made = relaxed.set('{"a":1}', [...b, 'on'], true)
    expect(made.text).toBe('{"a":1,"list":[{"name":"b","on":true}]}')
    expect(relaxed.remove(made.text, [...b, 'on'], made.trace)).toBe('{"a":1}')
  })

  test('a duplicate list item is refused', () => {
    expect(refused(() => relaxed.find('{"list": ["b", "b"]}', ['list', { item: 'b' }])).position.column).toBe(
      16,
    )
    const twice = '{"list": [{"name": "b", "name": "c"}]}'
    expect(refused(() => relaxed.find(twice, b)).position.column).toBe(25)
  })
})

describe('large file', () => {
  const SMALL = runs(2000, 5000)
  const entry = (_: unknown, index: number) =>
    `  "k${index}": { "args": ["-y", "p"], "n": ${index} }, // ${index}`
  /** A file of about `n` times 50 bytes. */
  test.each<[title: string, fileOf: (n: number) => string]>([
    ['many lines', (n) => `{\n${Array.from({ length: n }, entry).join('\n')}\n}\n`],
    ['one line', (n) => `{${'"a":[1.0,{"b":"some text of some length"}],'.repeat(n)}"mcpServers":{}}`],
    ['blanks', (n) => `{${' '.repeat(30 * n)}"mcpServers":{${'\n'.repeat(20 * n)}}}`],
    ['one text', (n) => `{"a":"${'\\"'.repeat(25 * n)}"}`],
    ['comments', (n) => `{${'/* c */ // d\n'.repeat(4 * n)}}`],
  ])(
    'the CPU time of an edit grows with the size of a JSON file, and not with its square: %s',
    (_, fileOf) => {
      const files = { small: fileOf(SMALL), large: fileOf(4 * SMALL) }
      const added = { small: relaxed.set(files.small, X, NPX), large: relaxed.set(files.large, X, NPX) }
      expect(relaxed.find(added.large.text, X)).toBeDefined()
      expect(relaxed.remove(added.large.text, X, added.large.trace) === files.large).toBe(true)
      expectLinear((size) => relaxed.set(files[size], X, NPX))
      expectLinear((size) => relaxed.find(added[size].text, X))
      expectLinear((size) => relaxed.readAgain(added[size].text))
      expectLinear((size) => relaxed.remove(added[size].text, X, added[size].trace))
    },
  )
})

function refused(act: () => unknown): CannotEdit {
  try {
    act()
  } catch (error) {
    if (error instanceof CannotEdit) return error
    throw error
  }
  throw new Error('nothing was refused')
}
