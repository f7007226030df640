import { describe, expect, test } from 'vitest'
import type { Json, Path } from '../../catalogue/json-value.ts'
import { CannotEdit } from '../format.ts'
import { tomlFormat } from './toml-format.ts'

const { find, set, remove } = tomlFormat
const docs = { command: 'npx', args: ['-y', 'docs'], env: { KEY: 'v' } }
const DOCS = ['[mcp_servers.docs]', 'command = "npx"', 'args = ["-y", "docs"]', 'env = { KEY = "v" }']
const at = (...path: Path): Path => ['mcp_servers', ...path]
const text = (...lines: string[]): string => lines.map((line) => `${line}\n`).join('')

describe('add', () => {
  test.each<[string, string, string]>([
    ['to an empty file', '', text(...DOCS)],
    ['after the rest', text('a = 1'), text('a = 1', '', ...DOCS)],
    ['with the line ends of the file', 'a = 1\r\n', `${['a = 1', '', ...DOCS].join('\r\n')}\r\n`],
    ['without a final newline', 'a = 1', ['a = 1', '', ...DOCS].join('\n')],
    [
      'to its family, before the comment of the next table',
      text('[mcp_servers.a]', 'command = "a"', '# command = "b"', '', '# next', '[z]'),
      text('[mcp_servers.a]', 'command = "a"', '# command = "b"', '', ...DOCS, '', '# next', '[z]'),
    ],
    [
      'after the tables below its neighbour',
      text('[mcp_servers.a.env]', 'K = 1', '', '[z]', '', '[mcp_servers.a]', 'b = 1', '', '[y]'),
      text('[mcp_servers.a.env]', 'K = 1', '', '[z]', '', '[mcp_servers.a]', 'b = 1', '', ...DOCS, '', '[y]'),
    ],
    [
      'with the indentation and spacing of its neighbour',
      text('  [mcp_servers.a]', '\tcommand="a"', '  [z]'),
      text(
        '  [mcp_servers.a]',
        '\tcommand="a"',
        `  ${DOCS[0]}`,
        ...DOCS.slice(1).map((l) => `\t${l.replace(' = ', '=')}`),
        '  [z]',
      ),
    ],
    [
      'to an inline table',
      'mcp_servers = { a = {} }',
      `mcp_servers = { a = {}, docs = { ${DOCS.slice(1).join(', ')} } }`,
    ],
    [
      'to dotted names',
      text('mcp_servers.a.command = "a"', 'z = 1'),
      text('mcp_servers.a.command = "a"', `mcp_servers.docs = { ${DOCS.slice(1).join(', ')} }`, 'z = 1'),
    ],
  ])('an entry is added %s', (_, before, after) => {
    expect(set(before, at('docs'), docs).text).toBe(after)
  })

  test('a name that is not bare is quoted', () => {
    expect(set('', at('my "server"'), {}).text).toBe('[mcp_servers."my \\"server\\""]\n')
  })

  test.each<[string, string, string]>([
    [
      'after the last one',
      text('[[mcp_servers]]', 'name = "a"', '[mcp_servers.env]', 'K = 1', '', '[z]'),
      text(
        '[[mcp_servers]]',
        'name = "a"',
        '[mcp_servers.env]',
        'K = 1',
        '',
        '[[mcp_servers]]',
        'name = "b"',
        'command = "x"',
        '',
        '[z]',
      ),
    ],
    ['as the first', '', text('[[mcp_servers]]', 'name = "b"', 'command = "x"')],
    ['to an empty list', 'mcp_servers = []\n', 'mcp_servers = [{ name = "b", command = "x" }]\n'],
  ])('an entry is added to a list of servers: %s', (_, before, after) => {
    expect(set(before, at({ field: 'name', is: 'b' }), { command: 'x' }).text).toBe(after)
  })
})

const FILE = text(
  '# top',
  '[mcp_servers.docs] # head',
  'command = "npx" # run it',
  '# about args',
  "args = ['-y', # yes",
  "  'docs']",
  '',
  '# about env',
  '[mcp_servers.docs.env]',
  'KEY = "v" # key',
  '',
  '# about next',
  '[next]',
)

describe('change', () => {
  test.each<[string, Path, Json, string, string]>([
    ['the comment after a value stays', at('docs', 'command'), 'uvx', '"npx" #', '"uvx" #'],
    [
      'only the changed item of a list is written',
      at('docs', 'args'),
      ['-y', 'other'],
      "'docs']",
      '"other"]',
    ],
    [
      'a new field is added after the last one',
      at('docs', 'enabled'),
      false,
      "'docs']\n",
      "'docs']\nenabled = false\n",
    ],
    [
      'a table below the entry is changed key by key',
      at('docs', 'env'),
      { KEY: 'v', B: '2' },
      '# key\n',
      '# key\nB = "2"\n',
    ],
    ['a key of a table below the entry is set', at('docs', 'env', 'KEY'), 'w', '"v"', '"w"'],
    [
      'a whole entry is changed field by field',
      at('docs'),
      { command: 'a', args: ['-y', 'docs'], env: { KEY: 'v' } },
      '"npx"',
      '"a"',
    ],
  ])('on a change %s', (_, path, value, old, now) => {
    expect(set(FILE, path, value).text).toBe(FILE.replace(old, now))
  })

  test('setting a field to its current value leaves the text unchanged', () => {
    expect(set(FILE, at('docs', 'args'), ['-y', 'docs'])).toEqual({ text: FILE, trace: undefined })
  })

  test('an entry that has only tables below it gets a header, which is removed again', () => {
    const before = text('[mcp_servers.a.env]', 'K = 1', '', '[z]')
    const { text: after, trace } = set(before, at('a', 'enabled'), false)
    expect(after).toBe(
      text('[mcp_servers.a.env]', 'K = 1', '', '[mcp_servers.a]', 'enabled = false', '', '[z]'),
    )
    expect(remove(after, at('a', 'enabled'), trace)).toBe(before)
  })
})

describe('remove', () => {
  test.each<[string, Path, string]>([
    [
      'an entry, with its tables and without the comments above them',
      at('docs'),
      text('# top', '', '# about env', '', '# about next', '[next]'),
    ],
    ['a field with its lines', at('docs', 'args'), FILE.replace("args = ['-y', # yes\n  'docs']\n", '')],
    [
      'a field with the comment after it',
      at('docs', 'command'),
      FILE.replace('command = "npx" # run it\n', ''),
    ],
    [
      'a table below the entry',
      at('docs', 'env'),
      FILE.replace('[mcp_servers.docs.env]\nKEY = "v" # key\n', ''),
    ],
    ['nothing if the entry is missing', at('other'), FILE],
  ])('a removal removes %s', (_, path, after) => {
    expect(remove(FILE, path)).toBe(after)
  })
})

describe('list', () => {
  test.each([
    ['off = ["a"]', 'off = ["a", "x"]'],
    ['off = ["a",]', 'off = ["a", "x",]'],
    ['off = [ ]', 'off = ["x"]'],
    ['off = [\n  "a", # a\n]', 'off = [\n  "a", # a\n  "x",\n]'],
    ['off = [\n\t"a" # a\n]', 'off = [\n\t"a", # a\n\t"x"\n]'],
    ['off = [\n  # none\n]', 'off = [\n  # none\n  "x",\n]'],
    ['off = [ # none\n]', 'off = [ # none\n  "x",\n]'],
    ['off = ["a"\n , "b"\n ]', 'off = ["a"\n , "b", "x"\n ]'],
    ['[z]', 'off = ["x"]\n\n[z]'],
  ])('adding x to %j results in %j, and removing x restores it', (before, after) => {
    const { text: edited, trace } = set(before, ['off', { item: 'x' }], 'x')
    expect(edited).toBe(after)
    expect(set(after, ['off', { item: 'x' }], 'x').text).toBe(after)
    expect(remove(after, ['off', { item: 'x' }], trace)).toBe(before)
  })

  test.each([
    ['off = ["x", "b"]', 'off = ["b"]'],
    ['off = ["a", "x", "b"]', 'off = ["a", "b"]'],
    ['off = [\n  "x", # x\n  # b\n  "b",\n]', 'off = [\n  # b\n  "b",\n]'],
    ['off = [ "x" # x\n  # keep\n  , "b" ]', 'off = [  # x\n  # keep\n   "b" ]'],
    ['off = ["x"]', 'off = []'],
  ])('removing x from %j results in %j', (before, after) => {
    expect(remove(before, ['off', { item: 'x' }])).toBe(after)
  })
})

describe('refusal', () => {
  test.each<[string, string, Path, Json, number]>([
    ['a dangerous name', 'a = 1', at('__proto__'), {}, 1],
    ['a dangerous name on the path', 'a = 1', ['constructor', 'x'], 1, 1],
    ['a list item in a table', '\n[mcp_servers.a]', at({ field: 'name', is: 'a' }), {}, 2],
    ['a name in a list', '\n[[mcp_servers]]', at('a'), {}, 2],
    ['a name in a string', 'x = 1\nmcp_servers = "no"', at('a'), {}, 2],
    [
      'a duplicate entry',
      '[[mcp_servers]]\nname="a"\n[[mcp_servers]]\nname="a"',
      at({ field: 'name', is: 'a' }),
      {},
      3,
    ],
    ['a duplicate string', 'off = [\n"x",\n"x"]', ['off', { item: 'x' }], 'x', 3],
    ['a string in a list of tables', '[[off]]', ['off', { item: 'x' }], 'x', 1],
    ['null', 'a = 1\n[mcp_servers]', at('a'), { cwd: null }, 2],
    ['a string that is not valid Unicode', 'a = 1', at('a'), { cwd: '\ud800' }, 1],
    ['a table to a string', 'a = 1\n[mcp_servers.a]\nb = 1', at('a'), 'text', 2],
    ['the whole file', 'a = 1', [], {}, 1],
    [
      'another name for an item',
      '[[mcp_servers]]\nname = "a"',
      at({ field: 'name', is: 'a' }, 'name'),
      'b',
      1,
    ],
    ['an item with another name than its path', '', at({ field: 'name', is: 'a' }), { name: 'b' }, 1],
  ])('setting %s is refused', (_, before, path, value, line) => {
    const refusal = refusalOf(() => set(before, path, value))
    expect(refusal.position.line).toBe(line)
  })
})

test('a value is found where its name begins', () => {
  expect(find(FILE, at('docs'))).toEqual({ line: 2, column: 1 })
  expect(find(FILE, at('docs', 'env', 'KEY'))).toEqual({ line: 10, column: 1 })
  expect(find('\ufeff  a.b = ["x"]', ['a', 'b'])).toEqual({ line: 1, column: 3 })
  expect(find('\ufeff  a.b = ["x"]', ['a', 'b', { item: 'x' }])).toEqual({ line: 1, column: 10 })
  expect(find('[a.b]', ['a'])).toEqual({ line: 1, column: 1 })
  expect(find(FILE, at('unknown'))).toBeUndefined()
})

function refusalOf(work: () => unknown): CannotEdit {
  try {
    work()
  } catch (error) {
    if (error instanceof CannotEdit) return error
    throw error
  }
  throw new Error('nothing was refused')
}
