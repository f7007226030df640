import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  at,
  damaged,
  expectRead,
  expectRefusalInside,
  isByLines,
  isWithin,
  missingLines,
  nonBlank,
  orUndefined,
  put,
  valueFor,
  wantedAt,
  withName,
} from '../../../../test/support/formats/toml-checks.ts'
import { type MadeFile, madeFile } from '../../../../test/support/formats/toml-generated.ts'
import { runs } from '../../../../test/support/full-or-short.ts'
import { isSame, type Json, type Path } from '../../catalogue/json-value.ts'
import { tomlFormat } from './toml-format.ts'
import { tableJson } from './toml-model.ts'
import { scanToml } from './toml-scan.ts'

const { read, readAgain, find, set, remove } = tomlFormat
const RUNS = { numRuns: runs(50, 2000) }
const tape = fc.array(fc.nat({ max: 65_535 }), { minLength: 0, maxLength: 70, size: 'max' })
const file = tape.map(madeFile)
const value = fc.constantFrom<Json[]>(
  { command: 'npx', args: ['-y', 'pkg'], env: { TOKEN: 'a "b" \\ \n', 'x y': '' } },
  { url: 'https://example.com/mcp', http_headers: {}, enabled: true },
  { command: 'ü😀\u0000\u007f', startup_timeout_sec: 1.5, deep: [{ a: [1, { b: false }] }] },
  {},
)
const NEW = ['new-one', 'new "two".x'] as const

describe('add and remove', () => {
  test('adding and removing a value restores the same bytes', () => {
    const property = fc.property(file, value, fc.nat(), (made, entry, which) => {
      const paths = newPaths(made)
      for (const path of [made.path(NEW[0]), ...paths.slice(which % paths.length).slice(0, 1)]) {
        const edited = set(made.text, path, valueFor(path, entry))
        expect(find(edited.text, path)).toBeDefined()
        expect(remove(edited.text, path, edited.trace)).toBe(made.text)
      }
    })
    fc.assert(property, RUNS)
  })

  test('adding two values and removing them in either order restores the same bytes', () => {
    const property = fc.property(file, value, fc.nat(5), fc.boolean(), (made, entry, which, isSwapped) => {
      const [a, b] = twoPaths(made, which)
      const first = set(made.text, a, valueFor(a, entry))
      const both = set(first.text, b, valueFor(b, entry)).text
      const [one, other] = isSwapped ? [b, a] : [a, b]
      const left = remove(both, one, first.trace)
      expect(find(left, other)).toBeDefined()
      expect(remove(left, other, first.trace)).toBe(made.text)
      expect(remove(remove(both, one), other, first.trace)).toBe(made.text)
    })
    fc.assert(property, RUNS)
  })
})

describe('edit', () => {
  test('adding an entry keeps the lines of all others', () => {
    const property = fc.property(file, value, (made, entry) => {
      const path = made.path(NEW[1])
      const { text } = set(made.text, path, entry)
      expectRead(text, put(read(made.text), path, withName(path, entry)))
      if (isByLines(made)) expect(missingLines(made, text, undefined)).toEqual([])
      expect(text.endsWith('\n') || made.text.replace('\ufeff', '') === '').toBe(
        /\n$|^\ufeff?$/.test(made.text),
      )
    })
    fc.assert(property, RUNS)
  })

  test('setting, adding or removing a field keeps the lines of other entries', () => {
    const property = fc.property(file, fc.nat(3), fc.nat(3), (made, which, change) => {
      const name = made.entries[which]
      fc.pre(name !== undefined)
      const entry = made.path(name)
      const path = [...entry, ['command', 'enabled', 'cwd', 'env'][change] ?? '']
      const wanted = [['node', 'x'], false, '/tmp', { K: 'new', L: 'more' }][change] ?? null
      const { text, trace } = set(made.text, path, wanted)
      expectRead(text, put(read(made.text), path, wanted))
      if (isByLines(made)) expect(missingLines(made, text, name)).toEqual([])
      const gone = remove(text, path, trace)
      if (isByLines(made)) expect(missingLines(made, gone, name)).toEqual([])
      if (find(made.text, path) === undefined) expect(gone).toBe(made.text)
      expect(set(text, path, wanted)).toEqual({ text, trace: undefined })
    })
    fc.assert(property, RUNS)
  })

  test('removing an entry keeps the lines of all others', () => {
    const property = fc.property(file, fc.nat(3), (made, which) => {
      const name = made.entries[which]
      fc.pre(name !== undefined)
      const text = remove(made.text, made.path(name))
      expect(find(text, made.path(name))).toBeUndefined()
      for (const other of made.entries) {
        if (other !== name)
          expect(at(read(text), made.path(other))).toEqual(at(read(made.text), made.path(other)))
      }
      if (isByLines(made)) {
        expect(missingLines(made, text, name)).toEqual([])
        const kept = made.lines.filter(({ owner, text: line }) => owner !== name && line.trim() !== '')
        expect(nonBlank(text).length).toBe(nonBlank(kept.map(({ text: line }) => line).join('')).length)
      }
    })
    fc.assert(property, RUNS)
  })
})

const NASTY = [
  '"',
  "'",
  '"""',
  '[',
  ']',
  '[[',
  '{',
  '}',
  '=',
  ',',
  '.',
  '#',
  '\\',
  '\r',
  '\n',
  '\u0000',
  'a = 1\n',
  '[x]\n',
  '\ufeff',
  '😀',
  '_',
  '-',
  ' ',
]
const broken = fc
  .tuple(
    file,
    fc.array(fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom(...NASTY)), { minLength: 1, maxLength: 4 }),
  )
  .map(([{ text }, damages]) => damages.reduce((left, damage) => damaged(left, ...damage), text))
const garbage = fc
  .array(fc.constantFrom(...NASTY, 'a', 'mcp_servers', '1', 'true'), { maxLength: 30 })
  .map((parts) => parts.join(''))

describe('invalid text', () => {
  test('an invalid text is refused with a position inside it, and nothing else is thrown', () => {
    const property = fc.property(fc.oneof(broken, garbage), (text) => {
      const path = ['mcp_servers', 'docs']
      const works = [
        () => read(text),
        () => readAgain(text),
        () => find(text, path),
        () => remove(text, path, '{"depth":0}'),
        () => remove(text, ['list', { item: 'x' }], '{"depth":1,"inner":" "}'),
        () => expectRead(set(text, path, { a: 1 }).text, put(read(text), path, { a: 1 })),
        () => set(text, ['list', { item: 'x' }], 'x'),
      ]
      for (const work of works) expectRefusalInside(text, work)
    })
    fc.assert(property, RUNS)
  })

  test('a text that our scanner accepts is read the same by smol-toml', () => {
    const property = fc.property(
      fc.oneof(
        broken,
        garbage,
        file.map(({ text }) => text),
      ),
      (text) => {
        const [ours, theirs] = [
          orUndefined(() => tableJson(scanToml(text).root)),
          orUndefined(() => readAgain(text) ?? {}),
        ]
        if (ours !== undefined && theirs !== undefined) expect(isSame(ours, theirs)).toBe(true)
        if (ours !== undefined) expect(theirs).toBeDefined()
      },
    )
    fc.assert(property, RUNS)
  })
})

test('a removal with a trace keeps what was written since', () => {
  const property = fc.property(
    file,
    value,
    fc.nat(),
    fc.constantFrom('# mine\n', 'x = 1\n', '[x]\n', ' ', '\n'),
    (made, entry, where, theirs) => {
      for (const path of newPaths(made)) {
        const { text, trace } = set(made.text, path, valueFor(path, entry))
        const starts = [...text.matchAll(/\n/g)].map(({ index }) => index + 1)
        const offset = starts[where % Math.max(starts.length, 1)] ?? 0
        const changed = text.slice(0, offset) + theirs + text.slice(offset)
        const was = orUndefined(() => read(changed))
        if (was === undefined || orUndefined(() => find(changed, path)) === undefined) continue
        const left = remove(changed, path, trace)
        const isInside = isSame(at(was, path), wantedAt(path, entry)) === false
        if (theirs.trim() !== '' && !isInside && !isWithin(text, offset, path))
          expect(left).toContain(theirs.trim())
      }
    },
  )
  fc.assert(property, { numRuns: runs(100, 500) })
})

/** Paths of every kind where a value can be added. */
function newPaths(made: MadeFile): Path[] {
  const [name] = made.entries
  const field =
    name === undefined
      ? []
      : [
          [...made.path(name), 'note'],
          [...made.path(name), 'http_headers', 'X'],
        ]
  return [
    made.path(NEW[0]),
    ['disabled', { item: NEW[1] }],
    ['tools', 'off', { item: 'x' }],
    ['new', 'deep', 'flag'],
    ...field,
  ]
}

function twoPaths(made: MadeFile, which: number): [Path, Path] {
  const pairs: [Path, Path][] = [
    [made.path(NEW[0]), made.path(NEW[1])],
    [
      ['disabled', { item: 'x' }],
      ['disabled', { item: 'y' }],
    ],
    [
      ['new', 'deep', 'x'],
      ['new', 'deep', 'y'],
    ],
  ]
  return pairs[which % pairs.length] ?? [made.path(NEW[0]), made.path(NEW[1])]
}
