import fc from 'fast-check'
import { findNodeAtLocation, parseTree } from 'jsonc-parser'
import { describe, expect, test } from 'vitest'
import { generatedFile } from '../../../../test/support/formats/json-generated.ts'
import {
  commentsToKeep,
  isPartOf,
  linesLost,
  tokenEnds,
  tokensOf,
  withoutEmpty,
  withValue,
} from '../../../../test/support/formats/json-measure.ts'
import { runs } from '../../../../test/support/full-or-short.ts'
import type { Dialect } from '../../catalogue/agent-record.ts'
import type { Json, Path, Step } from '../../catalogue/json-value.ts'
import { CannotEdit } from '../format.ts'
import { jsonFormat } from './json-format.ts'

const STRICT: Dialect = { comments: false, trailingCommas: false, bom: false }
const strict = jsonFormat(STRICT)
const relaxed = jsonFormat({ comments: true, trailingCommas: true, bom: true })

const RUNS = { numRuns: runs(100, 2000), seed: 20261115 }
const choices = fc.array(fc.nat(999), { maxLength: 160, size: 'max' })
const anyFile = choices.map((list) => generatedFile(list))
const strictFile = choices.map((list) => generatedFile(list, { isStrict: true }))

const VALUES: readonly Json[] = [
  { command: 'npx', args: ['-y', '@scope/pkg', 'ünï "quoted" \\ \u2028 😀'], env: { TOKEN: '//no comment' } },
  { type: 'http', url: 'https://a.example/*not*/' },
  { command: 'x' },
  {},
  [],
  [[], {}, [{ a: null }]],
  'text',
  -1.5e-7,
  true,
  null,
]
const value = fc.constantFrom(...VALUES)

type Way = (name: string) => Path
const way = fc.constantFrom<Way>(
  (name) => ['mcpServers', name],
  (name) => ['mcpServers', name],
  (name) => ['deep', 'inner', name],
  (name) => [name],
)
/** List items contain the field by which they are found. */
const listed = fc.constantFrom<(name: string) => readonly [Path, Json]>(
  (name) => [['list', { field: 'name', is: name }], { name, command: 'x' }],
  (name) => [['list', { item: name }], name],
  (name) => [['list', { field: 'name', is: name }, 'command'], 'x'],
  (name) => [['deep', 'items', { item: name }], name],
)
const change = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(way, value).map(
      ([at, put]) =>
        (name: string) =>
          [at(name), put] as const,
    ),
  },
  { weight: 1, arbitrary: listed },
)

describe('add and remove', () => {
  test('adding and removing one entry restores the same bytes', () => {
    fc.assert(
      fc.property(anyFile, change, (text, at) => {
        const [path, put] = at('new')
        const added = relaxed.set(text, path, put)
        expect(relaxed.find(added.text, path)).toBeDefined()
        expect(relaxed.remove(added.text, path, added.trace)).toBe(text)
      }),
      RUNS,
    )
  })

  test('adding two entries and removing them in either order restores the same bytes', () => {
    fc.assert(
      fc.property(anyFile, way, value, value, fc.boolean(), (text, at, one, other, isFirstOut) => {
        const first = relaxed.set(text, at('first'), one)
        const second = relaxed.set(first.text, at('second 😀'), other)
        expect(second.trace).toBeUndefined()
        const isMap = typeof one === 'object' && one !== null && !Array.isArray(one)
        const both = isMap ? relaxed.set(second.text, [...at('first'), 'command'], 'z').text : second.text
        const [a, b] = isFirstOut ? ['first', 'second 😀'] : ['second 😀', 'first']
        const left = relaxed.remove(both, at(a ?? ''), first.trace)
        expect(relaxed.remove(left, at(b ?? ''), first.trace)).toBe(text)
        expect(relaxed.remove(relaxed.remove(both, at(a ?? '')), at(b ?? ''), first.trace)).toBe(text)
      }),
      RUNS,
    )
  })

  test('removing entries in several places, the last one first, restores the same bytes', () => {
    fc.assert(
      fc.property(anyFile, change, change, change, (text, ...changes) => {
        const done: { text: string; path: Path; trace: string | undefined }[] = []
        let now = text
        for (const [index, at] of changes.entries()) {
          const [path, put] = at(`new ${index}`)
          const added = relaxed.set(now, path, put)
          done.unshift({ text: now, path, trace: added.trace })
          now = added.text
        }
        for (const step of done) {
          now = relaxed.remove(now, step.path, step.trace)
          expect(now).toBe(step.text)
        }
      }),
      RUNS,
    )
  })
})

test('a removal keeps comments that were added since, whatever the trace contains', () => {
  const foreign = fc.constantFrom('/* c0; */', '// c0;\n', '\n/* c0; */\n', '\n// c0;\n')
  fc.assert(
    fc.property(anyFile, way, value, foreign, fc.nat(), (text, at, put, comment, where) => {
      const added = relaxed.set(text, at('new'), put)
      const ends = tokenEnds(added.text)
      const offset = ends[where % ends.length] ?? 0
      const touched = added.text.slice(0, offset) + comment + added.text.slice(offset)
      const removed = relaxed.remove(touched, at('new'), added.trace)
      for (const each of commentsToKeep(touched, at('new'))) expect(removed).toContain(each)
      expect(relaxed.readAgain(removed)).toEqual(relaxed.read(removed))
      expect(withoutEmpty(relaxed.read(removed))).toBe(withoutEmpty(relaxed.read(text)))
    }),
    RUNS,
  )
})

describe('edit', () => {
  test('adding an entry changes nothing else', () => {
    fc.assert(
      fc.property(anyFile, way, value, (text, at, put) => {
        const { text: edited } = relaxed.set(text, at('new'), put)
        expectSays(edited, withValue(relaxed.read(text), at('new'), put))
        expect(linesLost(text, edited)).toBeLessThanOrEqual(text.includes('over') ? 2 : 1)
        expect(isPartOf(tokensOf(text), tokensOf(edited))).toBe(true)
        expect(edited.startsWith('\ufeff')).toBe(text.startsWith('\ufeff'))
        if (relaxed.read(text) !== undefined) expect(edited.slice(-1)).toBe(text.slice(-1))
      }),
      RUNS,
    )
  })

  test('replacing a value changes nothing else', () => {
    fc.assert(
      fc.property(anyFile, value, fc.nat(9), (text, put, which) => {
        const path = somePath(text, which)
        if (path === undefined) return
        const { text: edited, trace } = relaxed.set(text, path, put)
        expect(trace).toBeUndefined()
        const start = text.startsWith('\ufeff') ? 1 : 0
        const root = parseTree(text.slice(start), [], { allowTrailingComma: true })
        const node = root && findNodeAtLocation(root, path.map(String))
        if (node === undefined) throw new Error('the value was not found')
        expect(edited.startsWith(text.slice(0, start + node.offset))).toBe(true)
        expect(edited.endsWith(text.slice(start + node.offset + node.length))).toBe(true)
        expectSays(edited, withValue(relaxed.read(text), path, put))
      }),
      RUNS,
    )
  })

  test('removing an entry changes nothing else', () => {
    fc.assert(
      fc.property(anyFile, fc.nat(9), (text, which) => {
        const path = somePath(text, which)
        if (path === undefined) return
        const edited = relaxed.remove(text, path)
        expectSays(edited, withValue(relaxed.read(text), path, undefined))
        expect(linesLost(edited, text)).toBeLessThanOrEqual(2)
        expect(isPartOf(tokensOf(edited), tokensOf(text))).toBe(true)
        for (const comment of commentsToKeep(text, path)) expect(edited).toContain(comment)
      }),
      RUNS,
    )
  })
})

describe('invalid text', () => {
  const scraps = fc.constantFrom(
    ...'{}[]",:/*\\\n\r\t 0123456789.-+eEtruefalsnN\'\ufeff\u00a0',
    '//',
    '/*',
    '*/',
    '"a":',
  )
  const garbage = fc.array(scraps, { maxLength: 30 }).map((list) => list.join(''))
  const damaged = fc.tuple(anyFile, fc.nat(), fc.nat(3), scraps).map(([text, at, cut, scrap]) => {
    const offset = at % (text.length + 1)
    return text.slice(0, offset) + (cut === 3 ? '' : scrap + text.slice(offset + cut))
  })
  const nasty = fc.oneof(garbage, damaged)

  test('both parsers refuse the same invalid texts', () => {
    fc.assert(
      fc.property(nasty, fc.boolean(), fc.boolean(), fc.boolean(), (text, comments, trailingCommas, bom) => {
        const format = jsonFormat({ comments, trailingCommas, bom })
        const first = attempt(text, () => format.read(text))
        const second = attempt(text, () => format.readAgain(text))
        expect(second).toEqual(first)
        attempt(text, () => format.find(text, ['mcpServers', 'a']))
        attempt(text, () => format.remove(text, ['mcpServers', 'a']))
        const edited = attempt(text, () => format.set(text, ['mcpServers', 'new'], { command: 'x' }))
        if (edited === REFUSED) return
        expect(format.readAgain(edited.text)).toEqual(format.read(edited.text))
        expect(format.remove(edited.text, ['mcpServers', 'new'], edited.trace)).toBe(text)
      }),
      RUNS,
    )
  })

  test('strict JSON refuses exactly what JSON.parse refuses', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const parsed = /^[ \t\r\n]*$/.test(text) ? undefined : parsedOrRefused(text)
        expect(attempt(text, () => strict.read(text))).toEqual(parsed)
      }),
      RUNS,
    )
  })

  test('a duplicate name on the path is refused', () => {
    fc.assert(
      fc.property(choices, (list) => {
        const text = generatedFile(list, { isTwice: true })
        const format = relaxed
        for (const act of [format.find, format.remove]) {
          expect(attempt(text, () => act(text, ['mcpServers', 'new']))).toBe(REFUSED)
        }
        expect(attempt(text, () => format.set(text, ['mcpServers', 'new'], 1))).toBe(REFUSED)
      }),
      RUNS,
    )
  })
})

test('both parsers read the same values, and for strict files the same as JSON.parse', () => {
  fc.assert(
    fc.property(anyFile, strictFile, (text, plain) => {
      expect(relaxed.readAgain(text)).toEqual(relaxed.read(text))
      const parsed = /^[ \t\r\n]*$/.test(plain) ? undefined : JSON.parse(plain)
      for (const format of [strict, relaxed]) {
        expect(format.read(plain)).toEqual(parsed)
        expect(format.readAgain(plain)).toEqual(parsed)
      }
    }),
    RUNS,
  )
})

const REFUSED = Symbol('refused')

function attempt<T>(text: string, act: () => T): T | typeof REFUSED {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof CannotEdit)) throw error
    const line = text.split('\n')[error.position.line - 1]
    expect(error.position.column).toBeGreaterThanOrEqual(1)
    expect(error.position.column).toBeLessThanOrEqual((line?.length ?? -1) + 1)
    return REFUSED
  }
}

function parsedOrRefused(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return REFUSED
  }
}

/** As text, so that the order of names counts. */
function expectSays(text: string, expected: unknown): void {
  expect(JSON.stringify(relaxed.read(text))).toBe(JSON.stringify(expected))
  expect(relaxed.readAgain(text)).toEqual(relaxed.read(text))
}

/** The path of an entry without a duplicate. */
function somePath(text: string, which: number): Step[] | undefined {
  const top = relaxed.read(text) as Record<string, Json> | undefined
  const paths = [
    ...Object.keys(top ?? {}).map((name) => [name]),
    ...Object.keys(top?.mcpServers ?? {}).map((name) => ['mcpServers', name]),
  ]
  const path = paths[which % Math.max(paths.length, 1)]
  return path === undefined || attempt(text, () => relaxed.find(text, path)) === REFUSED ? undefined : path
}
