import fc from 'fast-check'
import { LEVELS, SOURCES, STREAMS } from '../../src/kernel/log.ts'
import type { ResolvedFilter, StoredEntry } from '../../src/observe/logs/log-store.ts'

/** Few values each, so that filters hit and miss; including words with a special meaning in LIKE, GLOB and MATCH. */
const WORDS = [
  'error',
  'Fehler',
  'über',
  'ÜBER',
  'café',
  '50%',
  'a_b',
  'a\\b',
  '"quoted"',
  "it's",
  '[x]*?',
  '-- AND OR',
  '日本語',
  '😀ok',
  'Привет',
  'ß',
  'ab',
  'x',
  '\n',
]
const KEYS = [
  'level',
  'source',
  'stream',
  'server_id',
  'agent_type',
  'tool',
  'request_id',
  'search',
  'since',
  'until',
] as const
const word = fc.constantFrom(...WORDS)
const id = fc.constantFrom('a', 'b', 'c')
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
export const line: fc.Arbitrary<StoredEntry> = fc.record({
  ts: fc.integer({ min: 0, max: 5000 }),
  level: fc.constantFrom(...LEVELS),
  source: fc.constantFrom(...SOURCES),
  stream: maybe(fc.constantFrom(...STREAMS)),
  server_id: maybe(id),
  agent_type: maybe(id),
  tool: maybe(id),
  request_id: maybe(id),
  message: fc.array(word, { minLength: 1, maxLength: 6 }).map((words) => words.join(' ')),
  data: fc.constant(null),
  repeat: fc.constant(1),
  truncated: fc.constant(false),
})

/** A part of one or two words, by code points, sometimes in another case. */
const term = fc
  .tuple(word, word, fc.nat(6), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 0, max: 2 }))
  .map(([first, second, start, length, turned]) => {
    const letters = [...`${first} ${second}`]
    const piece = letters
      .slice(Math.min(start, letters.length - 1))
      .slice(0, length)
      .join('')
    return turned === 0
      ? piece
      : turned === 1
        ? simpleCase(piece, 'toUpperCase')
        : simpleCase(piece, 'toLowerCase')
  })

/** ß becomes two letters in upper case, and then does not match. */
function simpleCase(text: string, turn: 'toUpperCase' | 'toLowerCase'): string {
  return [...text].map((letter) => ([...letter[turn]()].length === 1 ? letter[turn]() : letter)).join('')
}

export const order = fc.constantFrom('asc' as const, 'desc' as const)
/** At most three conditions at once; more of them would match hardly any line. */
export const filter: fc.Arbitrary<ResolvedFilter> = fc
  .tuple(
    fc.record({
      level: fc.constantFrom(...LEVELS),
      source: fc.uniqueArray(fc.constantFrom(...SOURCES), { minLength: 1, maxLength: 3 }),
      stream: fc.uniqueArray(fc.constantFrom(...STREAMS), { minLength: 1, maxLength: 2 }),
      server_id: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'none'), { minLength: 1, maxLength: 3 }),
      agent_type: id,
      tool: id,
      request_id: id,
      search: term,
      since: fc.integer({ min: 0, max: 5000 }),
      until: fc.integer({ min: 0, max: 5000 }),
    }),
    fc.subarray([...KEYS], { maxLength: 3 }),
  )
  .map(([all, keys]) => Object.fromEntries(keys.map((key) => [key, all[key]])))
