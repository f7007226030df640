import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pathIn, type Sample, sample } from '../../../../test/support/formats/yaml-sample.ts'
import { runs } from '../../../../test/support/full-or-short.ts'
import type { Json, Path } from '../../catalogue/json-value.ts'
import { CannotEdit } from '../format.ts'
import { yamlFormat as yaml } from './yaml-format.ts'

const RUNS = { numRuns: runs(50, 2000), seed: 20261115 }
type Map = { [name: string]: Json }

const entry: Json = {
  type: 'stdio',
  cmd: 'npx',
  args: ['-y', '@scope/server', 'no', 'a: b'],
  envs: { TOKEN: 'x #y', EMPTY: '' },
  enabled: true,
  timeout: 300,
}
const other: Json = { type: 'streamable_http', uri: 'https://x.example/mcp', headers: {} }

test('adding one or two entries and removing them in any order restores the same bytes', () => {
  const taken = counted((file) => {
    const [a, b] = [pathIn(file, 'new one'), pathIn(file, 'null')] as const
    const { text, trace } = yaml.set(file.text, a, entry)
    if (file.names.length > 0) expect(trace).toBe(undefined)
    expect(yaml.remove(text, a, trace)).toBe(file.text)
    const both = yaml.set(text, b, other)
    expect(both.trace).toBe(undefined)
    expect(yaml.remove(both.text, b, trace)).toBe(text)
    expect(yaml.remove(yaml.remove(both.text, a, trace), b, trace)).toBe(file.text)
  })
  expect(taken).toBeGreaterThan(0.99)
})

test('adding an entry keeps every line and comment, and both parsers read the same', () => {
  const taken = counted((file) => {
    const path = pathIn(file, 'new one')
    const { text } = yaml.set(file.text, path, entry)
    const lost = linesLost(file.text, text)
    // Brackets, and an empty value, are on one or two lines themselves.
    expect(lost.length).toBeLessThanOrEqual(file.place === 'block' || file.place === 'missing' ? 0 : 2)
    expect(lost.join('')).not.toMatch(/# (?:about|left|right|head|the end|after|start)/)
    expect(commentsOf(text)).toBe(commentsOf(file.text))
    expect(yaml.read(text)).toEqual(added(file, 'new one', entry))
    expect(yaml.readAgain(text)).toEqual(yaml.read(text))
    if (file.text.includes('\r\n')) expect(text).not.toMatch(/(?<!\r)\n/)
    expect(yaml.readAgain(file.text)).toEqual(yaml.read(file.text))
  })
  expect(taken).toBeGreaterThan(0.99)
})

test('removing an entry removes its lines and no others', () => {
  const taken = counted((file) => {
    const name = file.names[0]
    if (name === undefined) return
    const path = pathIn(file, name)
    const position = yaml.find(file.text, path)
    const text = yaml.remove(file.text, path)
    expect(yaml.read(text)).toEqual(removed(file, name))
    if (file.place !== 'block' || file.names.length < 2) return
    const old = linesOf(file.text)
    const rest = linesOf(text)
    const from = (position?.line ?? 0) - 1
    const count = old.length - rest.length
    expect([...old.slice(0, from), ...old.slice(from + count)]).toEqual(rest)
    expect(old[from + count - 1]?.trim() === '' && !/[|>]\+/.test(file.text)).toBe(false)
  })
  expect(taken).toBeGreaterThan(0.99)
})

test('disabling an entry changes one line', () => {
  const taken = counted((file) => {
    const name = file.names.at(-1)
    if (name === undefined || file.kind === 'names') return
    const path: Path = [...pathIn(file, name), 'enabled']
    const had = yaml.find(file.text, path) !== undefined
    const { text } = yaml.set(file.text, path, false)
    expect(yaml.read(text)).toEqual(changed(file, name, 'enabled', false))
    expect(commentsOf(text)).toBe(commentsOf(file.text))
    const [old, now] = [linesOf(file.text), linesOf(text)]
    if (file.place === 'block') expect(now.length - old.length).toBe(had ? 0 : 1)
    expect(linesLost(file.text, text).length).toBeLessThanOrEqual(had || file.place === 'flow' ? 1 : 0)
  })
  expect(taken).toBeGreaterThan(0.99)
})

const value = fc.oneof(
  fc.constantFrom<Json>(
    null,
    true,
    0,
    -1.5,
    1e21,
    1e-7,
    'plain',
    'yes',
    '',
    ' x ',
    'a\nb\n',
    '# x',
    '- x',
    'x:',
  ),
  fc.constantFrom<Json>([], {}, ['a', 'b'], { a: 1, 'b c': [] }, [[1, [2]], { x: { y: [{ z: '1' }] } }]),
  fc.string({ unit: 'grapheme' }),
  fc.dictionary(fc.string(), fc.string()),
)

test('any field of an entry can be set to any value and removed', () => {
  const field = fc.constantFrom('cmd', 'type', 'enabled', 'args', 'envs', 'description', 'x y', 'more')
  const inputs = fc.tuple(field, value)
  const taken = counted((file, [key, to]) => {
    const name = file.names[0]
    if (name === undefined || file.kind === 'names') return
    const path = [...pathIn(file, name), key]
    const { text } = yaml.set(file.text, path, to)
    expect(yaml.read(text)).toEqual(changed(file, name, key, to))
    expect(linesLost(linesOutside(file, name), text)).toEqual([])
    const without = yaml.remove(text, path)
    expect(yaml.read(without)).toEqual(changed(file, name, key, undefined))
    expect(linesLost(linesOutside(file, name), without)).toEqual([])
  }, inputs)
  expect(taken).toBeGreaterThan(0.99)
})

test('an invalid file is refused with a position inside it, and nothing else is thrown', () => {
  const broken = fc.tuple(fc.nat(), fc.string({ unit: 'binary', maxLength: 4 }), fc.nat({ max: 12 }))
  const nasty = fc.constantFrom(
    '\t',
    '{',
    '}',
    '[',
    '"',
    "'",
    '&a ',
    '*a',
    '? ',
    '!!x ',
    '---\n',
    ': ',
    '- ',
    '|',
    '\r',
  )
  fc.assert(
    fc.property(sample, broken, nasty, fc.nat({ max: 2 }), (file, [at, junk, length], sign, kind) => {
      const from = at % (file.text.length + 1)
      const middle = [sign, junk, ''][kind] ?? ''
      const rest = kind === 2 ? '' : file.text.slice(from + length)
      expectRefusalOrSense(file.text.slice(0, from) + middle + rest, pathIn(file, 'new one'))
    }),
    RUNS,
  )
})

test('garbage is refused, and nothing else is thrown', () => {
  const marks = fc.constantFrom(
    ...'{}[],:-?&*!|>%@`#\'"~ \n\t',
    'a',
    '1',
    '\n  ',
    '<<',
    '---\n',
    '...\n',
    '\ufeff',
  )
  const garbage = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(marks, { maxLength: 40 }).map((all) => all.join('')),
  )
  fc.assert(
    fc.property(garbage, (text) => expectRefusalOrSense(text, ['extensions', 'new one'])),
    RUNS,
  )
})

/** Runs a property on generated files and returns the share of files that were not refused. */
function counted<More = undefined>(
  property: (file: Sample, more: More) => void,
  more: fc.Arbitrary<More> = fc.constant(undefined as More),
): number {
  let refused = 0
  const run = (file: Sample, extra: More) => {
    try {
      property(file, extra)
    } catch (cause) {
      if (!(cause instanceof CannotEdit)) throw cause
      if (cause.cause) throw cause.cause
      refused += 1
    }
  }
  fc.assert(fc.property(sample, more, run), RUNS)
  return 1 - refused / RUNS.numRuns
}

function expectRefusalOrSense(text: string, path: Path): void {
  try {
    const read = yaml.read(text)
    const edited = yaml.set(text, path, entry)
    expect(yaml.remove(edited.text, path, edited.trace)).toBe(text)
    expect(yaml.readAgain(text)).toEqual(read)
  } catch (cause) {
    if (!(cause instanceof CannotEdit)) throw cause
    const { line, column } = cause.position
    const lines = text.replace(/^\ufeff/, '').split('\n')
    expect(line >= 1 && line <= lines.length).toBe(true)
    expect(column >= 1 && column <= [...(lines[line - 1] ?? '')].length + 1).toBe(true)
  }
}

function linesOf(text: string): string[] {
  return text.replace(/^\ufeff/, '').split(/\r?\n/)
}

/** The lines of the old text that are missing in the new one, or in another order. */
function linesLost(old: string | string[], now: string): string[] {
  const lines = linesOf(now)
  let at = 0
  return (Array.isArray(old) ? old : linesOf(old)).filter((line) => {
    const found = lines.indexOf(line, at)
    if (found >= 0) at = found + 1
    return found < 0
  })
}

/** The lines above and below an entry that has its own lines; none for other entries. */
function linesOutside(file: Sample, name: string): string[] {
  if (file.place !== 'block') return []
  const lines = linesOf(file.text)
  const next = file.names[file.names.indexOf(name) + 1]
  const from = (yaml.find(file.text, pathIn(file, name))?.line ?? 1) - 1
  const to = next === undefined ? lines.length : (yaml.find(file.text, pathIn(file, next))?.line ?? 1) - 1
  return [...lines.slice(0, from), ...lines.slice(to)]
}

/** The comments of the generated files. Their words occur nowhere else, except in block scalars. */
function commentsOf(text: string): number {
  return text.match(/# (?:note|about it|left|right|head|the end|after|start|none|yet)|#: \{x/g)?.length ?? 0
}

function copyOf(file: Sample): Map {
  return structuredClone((yaml.read(file.text) ?? {}) as Map)
}

function added(file: Sample, name: string, to: Json): Map {
  const all = copyOf(file)
  if (file.kind === 'map') all.extensions = { ...(all.extensions as Map), [name]: to }
  if (file.kind === 'list') all.mcpServers = [...((all.mcpServers ?? []) as Json[]), { name, ...(to as Map) }]
  if (file.kind === 'names') {
    const mcp = (all.mcp ?? {}) as Map
    all.mcp = { ...mcp, disabledMcpServers: [...((mcp.disabledMcpServers ?? []) as Json[]), name] }
  }
  return all
}

function removed(file: Sample, name: string): Map {
  const all = copyOf(file)
  if (file.kind === 'map') delete (all.extensions as Map)[name]
  if (file.kind === 'list') all.mcpServers = (all.mcpServers as Map[]).filter((item) => item.name !== name)
  if (file.kind === 'names') {
    const list = (all.mcp as Map).disabledMcpServers as string[]
    all.mcp = { disabledMcpServers: list.filter((item) => item !== name) }
  }
  return all
}

function changed(file: Sample, name: string, field: string, to: Json | undefined): Map {
  const all = copyOf(file)
  const found =
    file.kind === 'map'
      ? (all.extensions as Map)[name]
      : (all.mcpServers as Map[]).find((item) => item.name === name)
  if (to === undefined) delete (found as Map)[field]
  else (found as Map)[field] = to
  return all
}
