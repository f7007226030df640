import { describe, expect, test } from 'vitest'
import { expectLinear } from '../../../../test/support/linear.ts'
import { stopwatch } from '../../../../test/support/measuring.ts'
import type { Json, Path } from '../../catalogue/json-value.ts'
import { CannotEdit } from '../format.ts'
import { yamlFormat as yaml } from './yaml-format.ts'

const goose = `GOOSE_MODEL: gpt-4 # mine
extensions:
  developer:
    enabled: true   # keep
    type: builtin
    timeout: 300
  # about memory
  memory:
    # how it starts
    type: stdio
    cmd: npx
    args:
    - -y
    - server
    description: |
      Remembers
      things
  # none below

# the theme
theme: dark
`
const added: Json = { type: 'stdio', cmd: 'uvx', args: ['a', 'no'], envs: {} }

test('an entry is added after the last one with the indentation of the file', () => {
  expect(yaml.set(goose, ['extensions', 'x.y'], added)).toEqual({
    trace: undefined,
    text: goose.replace(
      '  # none below\n',
      '  # none below\n  x.y:\n    type: stdio\n    cmd: uvx\n    args:\n    - a\n    - "no"\n    envs: {}\n',
    ),
  })
})

test.each<[string, Path, Json, string, string]>([
  ['a string', ['cmd'], 'uvx', 'cmd: npx', 'cmd: uvx'],
  ['a value with a comment after it', ['enabled'], false, 'true   # keep', 'false   # keep'],
  ['a list', ['args'], ['b'], '    - -y\n    - server\n', '    - b\n'],
  ['a list with an empty one', ['args'], [], 'args:\n    - -y\n    - server\n', 'args: []\n'],
  ['a block of text', ['description'], 'x', '|\n      Remembers\n      things\n', 'x\n'],
  ['a string with a map', ['cmd'], { a: 1 }, 'cmd: npx\n', 'cmd:\n      a: 1\n'],
])('replacing %s changes nothing beside it', (_, field, value, from, to) => {
  const name = field[0] === 'enabled' ? 'developer' : 'memory'
  expect(yaml.set(goose, ['extensions', name, ...field], value).text).toBe(goose.replace(from, to))
})

test('setting a field to its current value changes nothing', () => {
  expect(yaml.set(goose, ['extensions', 'memory', 'args'], ['-y', 'server']).text).toBe(goose)
})

test('removing an entry removes the comments inside it and keeps those above it', () => {
  const from = goose.indexOf('  memory:')
  const text = goose.slice(0, from) + goose.slice(goose.indexOf('  # none below'))
  expect(yaml.remove(goose, ['extensions', 'memory'])).toBe(text)
})

test('removing the last entry leaves an empty map, and removing a missing entry changes nothing', () => {
  const one = 'extensions: # all\n  # one\n  a:\n    x: 1 # c\nb: 2\n'
  expect(yaml.remove(one, ['extensions', 'a'])).toBe('extensions: {} # all\n  # one\nb: 2\n')
  expect(yaml.remove(one, ['extensions', 'z'])).toBe(one)
  expect(yaml.remove(one, ['other', 'z'])).toBe(one)
})

test('a removal keeps what was written since, with or without a trace', () => {
  const { text, trace } = yaml.set('a: 1\n', ['extensions', 'x'], { y: 1 })
  const noted = text.replace('extensions:\n', 'extensions:\n  # mine\n')
  expect(yaml.remove(noted, ['extensions', 'x'], trace)).toBe('a: 1\nextensions: {}\n  # mine\n')
  const shared = `${text}  z: 1\n`
  expect(yaml.remove(shared, ['extensions', 'x'], trace)).toBe('a: 1\nextensions:\n  z: 1\n')
  expect(yaml.remove(text, ['extensions', 'x'], 'an invalid trace')).toBe('a: 1\nextensions: {}\n')
})

describe('list', () => {
  const list = 'mcpServers:\n  - name: a\n    command: x # c\n  - command: y\n    name: "b"\n'
  const named = (is: string): Path => ['mcpServers', { field: 'name', is }]

  test('a list item is added with the field that names it', () => {
    const text = `${list}  - name: srv\n    command: z\n    args:\n      - "1"\n`
    expect(yaml.set(list, named('srv'), { command: 'z', args: ['1'] }).text).toBe(text)
    expect(yaml.set('', named('srv'), { command: 'z' }).text).toBe(
      'mcpServers:\n  - name: srv\n    command: z\n',
    )
  })

  test('a list item is changed and removed by its name', () => {
    expect(yaml.set(list, [...named('b'), 'command'], 'z').text).toBe(
      list.replace('command: y', 'command: z'),
    )
    expect(yaml.remove(list, [...named('b'), 'command'])).toBe(list.replace('command: y\n    name', 'name'))
    expect(yaml.remove(list, named('a'))).toBe('mcpServers:\n  - command: y\n    name: "b"\n')
  })

  test('a string is added to a list once and removed again', () => {
    const path: Path = ['mcp', 'disabledMcpServers', { item: 'no' }]
    const { text, trace } = yaml.set('mcp:\n    disabledMcpServers: [ ] # c\n', path, 'no')
    expect(text).toBe('mcp:\n    disabledMcpServers: # c\n      - "no"\n')
    expect(yaml.set(text, path, 'no').text).toBe(text)
    expect(yaml.remove(text, path)).toBe('mcp:\n    disabledMcpServers: [] # c\n')
    expect(yaml.remove(text, path, trace)).toBe('mcp:\n    disabledMcpServers: [ ] # c\n')
  })
})

test('an entry inside brackets is added in brackets, with the quotes of its neighbours', () => {
  const json = '{\n  "extensions": {\n    "a": {"x": 1} # c\n  }\n}\n'
  const text = '{\n  "extensions": {\n    "a": {"x": 1}, # c\n    "b": {"y": ["z"]}\n  }\n}\n'
  expect(yaml.set(json, ['extensions', 'b'], { y: ['z'] }).text).toBe(text)
  expect(yaml.set('extensions: {a: 1}\n', ['extensions', 'b'], 'x').text).toBe('extensions: {a: 1, b: x}\n')
})

test('a string that some parser reads as another type is quoted', () => {
  const texts =
    'yes|NO|on|Off|y|null|~|true|1|1.5|0x1f|1_000|12:30:45|2024-01-01|.inf|.5|-y|a: b|a #b| a|b |x:|@a|&a|*a|!a|%a|`a`|{a}|[a|a,b|?|<<|=|---|...|\u2028|é|'
  for (const text of texts.split('|')) {
    expect(yaml.set('', ['a'], text).text).toBe(`a: ${JSON.stringify(text).replace('\u2028', '\\u2028')}\n`)
  }
  for (const text of ['npx', '/usr/bin/x', './x', 'https://a.b/c', 'two words', 'a@b', 'x=1']) {
    expect(yaml.set('', ['a'], text).text).toBe(`a: ${text}\n`)
  }
})

test.each<[string, string, number, number]>([
  ['several documents', 'a: 1\n---\nb: 2\n', 2, 1],
  ['an anchor on the path', 'extensions: &x\n  a: 1\n', 1, 1],
  ['an alias on the path', 'b: &x {}\nextensions: *x\n', 2, 1],
  ['an anchor in the entry', 'extensions:\n  new:\n    a: &x 1\n  b: *x\n', 3, 11],
  ['a merge key on the path', 'b: &x {a: 1}\nextensions:\n  <<: *x\n', 3, 3],
  ['a tag on the path', 'extensions: !!map\n  a: 1\n', 1, 1],
  ['a map as a name', '? {a: 1}\n: 2\n', 1, 3],
  ['a duplicate container', 'extensions: {}\nextensions: {}\n', 2, 1],
  ['a duplicate entry', 'extensions:\n  new: 1\n  "new": 2\n', 3, 3],
  ['a tab as indentation', 'extensions:\n\ta: 1\n', 2, 1],
  ['an unknown tag', 'a: !secret x\n', 1, 4],
  ['a list at the top', '- a\n', 1, 1],
  ['a string at the top', 'a\n', 1, 1],
  ['a list where a map is needed', 'extensions:\n- a\n', 1, 1],
  ['an open quote', 'a: "b\n', 2, 1],
  ['a lone carriage return', 'a: 1\rb: 2\n', 1, 5],
  ['an alias in itself', 'a: &a [*a]\n', 1, 8],
])('%s is refused with its position', (_, text, line, column) => {
  const refusal = refusalOf(() => yaml.set(text, ['extensions', 'new'], added))
  expect([refusal.position, refusal.cause]).toEqual([{ line, column }, undefined])
})

test('names such as __proto__ are refused on the path and harmless in a file', () => {
  for (const name of ['__proto__', 'constructor', 'prototype']) {
    refusalOf(() => yaml.set('', ['extensions', name], {}))
    refusalOf(() => yaml.remove('', [name, 'x']))
  }
  const text = '__proto__: {polluted: true}\na: 1\n'
  for (const read of [yaml.read, yaml.readAgain]) {
    const json = read(text) as Record<string, Json>
    expect([Object.keys(json), json.polluted]).toEqual([['__proto__', 'a'], undefined])
  }
  expect(yaml.set(text, ['a'], 2).text).toBe(text.replace('a: 1', 'a: 2'))
})

test('anchors, aliases and merge keys elsewhere stay', () => {
  const text = 'base: &b {x: 1}\nuse:\n  <<: *b\nextensions:\n  a: *b\n'
  expect(yaml.set(text, ['extensions', 'new'], 1).text).toBe(`${text}  new: 1\n`)
})

test('an edit that would change a neighbour is refused: blank lines are part of a string with |+', () => {
  const text = 'extensions:\n  a: |+\n    x\n  b: 1\n\n  c: 2\n'
  expect(refusalOf(() => yaml.remove(text, ['extensions', 'b'])).position).toEqual({ line: 4, column: 3 })
})

test('a refusal never quotes the file', () => {
  for (const text of [
    'a: "s3cret\n',
    's3cret',
    'a: !s3cret 1\n',
    '- s3cret: [',
    '*s3cret : 1',
    'a: s3cret: b',
  ]) {
    expect(refusalOf(() => yaml.set(text, ['a', 'b'], 1)).message).not.toContain('s3cret')
  }
})

test('an alias bomb and a bracket bomb are refused at once', () => {
  const levels = Array.from({ length: 30 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}*a${n}]`)
  const bomb = `a0: &a0 [x]\n${levels.join('\n')}\n`
  const spent = stopwatch()
  for (const read of [yaml.read, yaml.readAgain]) refusalOf(() => read(bomb))
  refusalOf(() => yaml.set(bomb, ['extensions', 'x'], 1))
  expect(spent()).toBeLessThan(300)
  for (const deep of ['['.repeat(20_000), '- '.repeat(5_000), `a: ${'{b: '.repeat(500)}`]) {
    for (const read of [yaml.read, yaml.readAgain]) refusalOf(() => read(deep))
  }
})

test('the CPU time of an edit grows with the size of a YAML file, and not with its square (safety goal R9)', () => {
  const entry = (_: unknown, n: number) =>
    `  e${n}:\n    enabled: true # c\n    description: ${'some words '.repeat(15)}\n`
  const fileOf = (length: number) => `extensions:\n${Array.from({ length }, entry).join('')}b: 1\n`
  const files = { small: fileOf(250), large: fileOf(1000) }
  const edited = yaml.set(files.large, ['extensions', 'new'], added).text
  expect(yaml.remove(edited, ['extensions', 'new'])).toBe(files.large)
  expect(yaml.set(files.large, ['extensions', 'e7', 'enabled'], true).text).toBe(files.large)
  expectLinear((size) => yaml.set(files[size], ['extensions', 'new'], added))
  expectLinear((size) => yaml.remove(files[size], ['extensions', 'e7']))
  expectLinear((size) => yaml.set(files[size], ['extensions', 'e7', 'enabled'], true))
})

function refusalOf(work: () => unknown): CannotEdit {
  try {
    work()
  } catch (cause) {
    expect(cause).toBeInstanceOf(CannotEdit)
    return cause as CannotEdit
  }
  throw new Error('nothing was refused')
}
