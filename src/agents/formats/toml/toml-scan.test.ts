import { describe, expect, test } from 'vitest'
import type { Json } from '../../catalogue/json-value.ts'
import { CannotEdit } from '../format.ts'
import { tomlFormat } from './toml-format.ts'

const VALID: readonly [string, Json | undefined][] = [
  ['', undefined],
  [' \t \n\r\n', undefined],
  ['\ufeff', undefined],
  ['# only a comment', undefined],
  ['# ü 😀\t|', undefined],
  ['\ufeffa = 1', { a: 1 }],
  ['a=1', { a: 1 }],
  ['\ta\t=\t1\t# c', { a: 1 }],
  ['a = 1\r\nb = 2\n', { a: 1, b: 2 }],
  ['1234 = "digits"', { 1234: 'digits' }],
  ['3.14 = "pi"', { 3: { 14: 'pi' } }],
  ['a-b_C = true', { 'a-b_C': true }],
  ['"" = "empty name"', { '': 'empty name' }],
  ['"a b" = 1', { 'a b': 1 }],
  ["'a\"b' = 1", { 'a"b': 1 }],
  ['"\\u00e9\\t" = 1', { 'é\t': 1 }],
  ['"a.b".c = 1', { 'a.b': { c: 1 } }],
  ['a . "b" . \'c\' = 1', { a: { b: { c: 1 } } }],
  ['a.b = 1\na.c = 2', { a: { b: 1, c: 2 } }],
  ['a.b = 1\nx = 0\na.c.d = 2', { a: { b: 1, c: { d: 2 } }, x: 0 }],
  ['toString = 1\nconstructor = 2', { toString: 1, constructor: 2 }],
  ['s = ""', { s: '' }],
  ["s = ''", { s: '' }],
  ['s = "a\\b\\t\\n\\f\\r\\"\\\\"', { s: 'a\b\t\n\f\r"\\' }],
  ['s = "\\u00E9\\U0001F600"', { s: 'é😀' }],
  ['s = "# no comment"', { s: '# no comment' }],
  ["s = 'C:\\dir\\n'", { s: 'C:\\dir\\n' }],
  ['s = """"""', { s: '' }],
  ["s = ''''''", { s: '' }],
  ['s = """\nfirst line end is dropped"""', { s: 'first line end is dropped' }],
  ['s = """\r\na\r\nb"""', { s: 'a\r\nb' }],
  ['s = """a\nb"""', { s: 'a\nb' }],
  ['s = """a \\\n   \n\t b"""', { s: 'a b' }],
  ['s = """a\\  \n  """', { s: 'a' }],
  ['s = """"quoted""""', { s: '"quoted"' }],
  ['s = """""two"""""', { s: '""two""' }],
  ['s = """a""b"""', { s: 'a""b' }],
  ["s = '''\n\\n 'x' ''y'''", { s: "\\n 'x' ''y" }],
  ["s = '''''a'''''", { s: "''a''" }],
  ['s = """\\"""\\""""', { s: '"""' + '"' }],
  ['n = 0\nm = +0\no = -0', { n: 0, m: 0, o: 0 }],
  ['n = +99\nm = -17', { n: 99, m: -17 }],
  ['n = 1_000\nm = 5_349_221', { n: 1000, m: 5349221 }],
  ['n = 0xDEAD_beef\nm = 0o755\no = 0b1101', { n: 0xdeadbeef, m: 0o755, o: 13 }],
  ['n = 9223372036854775807', { n: 2 ** 63 }],
  ['n = -9223372036854775808', { n: -(2 ** 63) }],
  ['f = 1.0\ng = -0.01', { f: 1, g: -0.01 }],
  ['f = 5e+22\ng = 1e06\nh = -2E-2\ni = 6.626e-34', { f: 5e22, g: 1e6, h: -0.02, i: 6.626e-34 }],
  ['f = 224_617.445_991_228', { f: 224617.445991228 }],
  ['f = inf\ng = -inf\nh = +inf', { f: Infinity, g: -Infinity, h: Infinity }],
  ['f = nan\ng = -nan', { f: NaN, g: NaN }],
  ['b = true\nc = false', { b: true, c: false }],
  ['d = 1979-05-27T07:32:00Z', { d: '1979-05-27T07:32:00.000Z' }],
  ['d = 1979-05-27t07:32:00z', { d: '1979-05-27T07:32:00.000Z' }],
  ['d = 1979-05-27T00:32:00.999999-07:00', { d: '1979-05-27T00:32:00.999-07:00' }],
  ['d = 1979-05-27 07:32:00.5', { d: '1979-05-27T07:32:00.500' }],
  ['d = 1979-05-27', { d: '1979-05-27' }],
  ['d = 2024-02-29 # leap', { d: '2024-02-29' }],
  ['d = 07:32:00\ne = 00:32:00.99', { d: '07:32:00.000', e: '00:32:00.990' }],
  ['a = []', { a: [] }],
  ['a = [ 1, 2, ]', { a: [1, 2] }],
  ['a = [ # c\n  "x", # d\n\n  # e\n  \'y\' # f\n]', { a: ['x', 'y'] }],
  ['a = [1, "x", [true], { b = 1 }]', { a: [1, 'x', [true], { b: 1 }] }],
  ['a = [\r\n1979-05-27,07:00:00\r\n,]', { a: ['1979-05-27', '07:00:00.000'] }],
  ['t = {}\nu = { }', { t: {}, u: {} }],
  ['t = { a = 1, "b c" = { d.e = [] } }', { t: { a: 1, 'b c': { d: { e: [] } } } }],
  ['t = { a.b = 1, a.c = 2 }', { t: { a: { b: 1, c: 2 } } }],
  ['t = { a = [\n1,\n] }', { t: { a: [1] } }],
  ['[a]', { a: {} }],
  ['[ a . "b" ] # c', { a: { b: {} } }],
  ['[a.b]\nc = 1\n[a]\nd = 2', { a: { b: { c: 1 }, d: 2 } }],
  ['[a]\nb.c = 1\n[a.b.d]\ne = 2', { a: { b: { c: 1, d: { e: 2 } } } }],
  ['a.b.c = 1\n[a.x]\ny = 2', { a: { b: { c: 1 }, x: { y: 2 } } }],
  ['[[a]]\n[[a]]\nb = 1', { a: [{}, { b: 1 }] }],
  ['[[a]]\n[a.b]\nc = 1\n[[a]]\n[a.b]\nc = 2', { a: [{ b: { c: 1 } }, { b: { c: 2 } }] }],
  ['[[a]]\n[[a.b]]\n[[a.b]]\n[[a]]\n[[a.b]]', { a: [{ b: [{}, {}] }, { b: [{}] }] }],
  ['[[a.b]]\nc = 1\n[a]\nd = 1', { a: { b: [{ c: 1 }], d: 1 } }],
  ['  [a]\n    b = 1\n  [[c]]', { a: { b: 1 }, c: [{}] }],
]

const INVALID: readonly string[] = [
  'a',
  'a =',
  'a = # c',
  '= 1',
  'a = 1 b = 2',
  'a = "x" y',
  'a b = 1',
  'a. = 1',
  '.a = 1',
  'a..b = 1',
  'ü = 1',
  '"a\nb" = 1',
  '"""a""" = 1',
  'a\n= 1',
  'a = 1\ra = 2',
  'a = 1\r',
  '# bell \u0007',
  '# delete \u007f',
  'a = "\u0000"',
  'a = "tab is fine\t, return \r is not"',
  'a = "open',
  "a = 'open",
  'a = "over\nlines"',
  'a = """open',
  "a = '''open''",
  'a = """""""""',
  "a = '''a''''''",
  'a = "\\x41"',
  'a = "\\e"',
  'a = "\\u12"',
  'a = "\\uD800"',
  'a = "\\U00110000"',
  'a = """\\ x"""',
  'a = True',
  'a = truefalse',
  'a = nul',
  'a = 01',
  'a = +0x10',
  'a = 0x',
  'a = 0XFF',
  'a = 1_',
  'a = 1__0',
  'a = _1',
  'a = 1.',
  'a = .5',
  'a = 1.e5',
  'a = 1e',
  'a = 1e_5',
  'a = 1_.5',
  'a = 9223372036854775808',
  'a = Inf',
  'a = 2021-02-29',
  'a = 2021-13-01',
  'a = 2021-1-1',
  'a = 24:00:00',
  'a = 07:32',
  'a = 07:60:00',
  'a = 1979-05-27T07:32Z',
  'a = 1979-05-27T07:32:00+24:00',
  'a = 1979-05-27T',
  'a = [1 2]',
  'a = [1,,2]',
  'a = [,]',
  'a = [1',
  'a = [1, # ]',
  'a = {',
  'a = { b = 1, }',
  'a = { b = 1 c = 2 }',
  'a = { b = 1,\nc = 2 }',
  'a = {\n}',
  'a = { b }',
  'a = { b = 1, b = 2 }',
  'a = { b.c = 1, b = 2 }',
  'a = { b = {}, b.c = 1 }',
  'a = 1\na = 2',
  'a = 1\n"a" = 2',
  'a = 1\na.b = 2',
  'a.b = 1\na = 2',
  'a = {}\na.b = 1',
  '[a',
  '[]',
  '[a.]',
  '[a] b = 1',
  '[a]]',
  '[[a]',
  '[[a] ]',
  '[ [a]]',
  '[a\n]',
  '[a]\n[a]',
  '[a]\nb = 1\n[a.b]',
  '[a]\nb.c = 1\n[a.b]',
  '[a.b]\n[a]\nb.c = 1',
  '[a.b.c]\n[a]\nb.d = 1',
  'a = {}\n[a]',
  'a = {}\n[a.b]',
  'a = { b.c = 1 }\n[a.b.d]',
  'a.b = 1\n[a]',
  'a = []\n[[a]]',
  'a = [{}]\n[a.b]',
  '[a]\n[[a]]',
  '[[a]]\n[a]',
  '[a.b]\n[[a]]',
  '[[a.b]]\n[a]\nb.c = 1',
  '[[a]]\n[a.b]\n[a.b]',
  'a = 1\n[[a]]',
]

describe('TOML', () => {
  test('at least 60 valid and 60 invalid texts are tested', () => {
    expect(VALID.length).toBeGreaterThanOrEqual(60)
    expect(INVALID.length).toBeGreaterThanOrEqual(60)
  })

  test.each(VALID)('%j is read the same by both parsers', (text, json) => {
    expect(tomlFormat.read(text)).toEqual(json)
    expect(tomlFormat.readAgain(text)).toEqual(json)
  })

  test.each(INVALID)('%j is refused with a position in the text', (text) => {
    const refusal = refusalOf(text)
    expect(refusal.message.length).toBeGreaterThan(20)
    const line = text.split('\n')[refusal.position.line - 1]
    expect(line).toBeDefined()
    expect(refusal.position.column).toBeGreaterThanOrEqual(1)
    expect(refusal.position.column).toBeLessThanOrEqual((line ?? '').length + 1)
  })

  test.each([
    ['a = 1\nb = 2\na = 3', 3, 1],
    ['a = 1\n\n  [b]\n  [b]', 4, 3],
    ['\ufeffü = 1', 1, 1],
    ['a = ["😀", x]', 1, 11],
    ['a = [\n1,\n"b"\n', 1, 5],
    ['a = """\nb\n', 1, 5],
  ])('%j is refused at line %i, column %i', (text, line, column) => {
    expect(refusalOf(text).position).toEqual({ line, column })
  })

  test('a refusal never quotes a value of the file', () => {
    for (const text of ['key = s3cret', 'key = "s3cret', 'a = 1\na = "s3cret"']) {
      expect(refusalOf(text).message).not.toContain('s3cret')
    }
    expect(() => tomlFormat.readAgain('key = s3cret')).toThrow(/^Invalid TOML$/)
  })

  test('__proto__ in a file is an ordinary name', () => {
    const text = '[__proto__]\npolluted = true\n[a]\n"__proto__" = { polluted = 1 }\nt = { __proto__ = 2 }'
    const json = tomlFormat.read(text)
    expect(JSON.stringify(json)).toBe(JSON.stringify(tomlFormat.readAgain(text)))
    expect(Object.hasOwn(json as object, '__proto__')).toBe(true)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect((json as Record<string, unknown>).polluted).toBeUndefined()
  })

  test('deep nesting is refused and does not exhaust the stack', () => {
    expect(refusalOf(`a = ${'['.repeat(200_000)}`).message).toContain('nested')
    expect(refusalOf(`a = ${'{a='.repeat(200_000)}`).message).toContain('nested')
    expect(refusalOf(`${'a.'.repeat(200_000)}a = 1`).message).toContain('dots')
  })
})

function refusalOf(text: string): CannotEdit {
  try {
    tomlFormat.read(text)
  } catch (error) {
    if (error instanceof CannotEdit) return error
    throw error
  }
  throw new Error(`${JSON.stringify(text)} was accepted`)
}
