import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { visible, type Word, wordDiff } from './word-diff.ts'

const side = (words: readonly Word[], without: Word['op']) =>
  words
    .filter(({ op }) => op !== without)
    .map(({ text }) => text)
    .join('')

describe('word diff', () => {
  test.each<[before: string, after: string, words: string]>([
    ['Reads a file', 'Reads any file', 'Reads [-a][+any] file'],
    ['Reads a file', 'Reads a file.', 'Reads a file[+.]'],
    ['', 'new', '[+new]'],
    ['old', '', '[-old]'],
    ['a  b', 'a b', 'a[-  ][+ ]b'],
    ['path', 'p\u0430th', '[-path][+p\u0430th]'],
    ['Adds', 'Adds\u200B', 'Adds[+\\u{200B}]'],
    ['Adds two', 'Adds\u{E0041} two', 'Adds[+\\u{E0041}] two'],
    ['a b', 'a\u00A0b', 'a[- ][+\\u{A0}]b'],
    ['a\\u{202E}', 'a\u202E', '[-a\\u{202E}][+a\\u{202E}]'],
  ])('the diff from %j to %j is %s', (before, after, words) => {
    const shown = wordDiff(before, after).map(({ op, text }) =>
      op === 'same' ? text : `[${op === 'added' ? '+' : '-'}${text}]`,
    )
    expect(shown.join('')).toBe(words)
  })

  test('unchanged text is shortened, and changed text is not', () => {
    const [head, tail] = ['before '.repeat(500), ' after'.repeat(500)]
    const words = wordDiff(`${head}one${tail}`, `${head}two${tail}`)
    expect(words.map(({ op }) => op)).toEqual(['same', 'removed', 'added', 'same'])
    expect(words.map(({ text }) => text.length).filter((length) => length > 130)).toEqual([])
    expect(words[0]?.text).toMatch(/^….*before $/)
    expect(words[3]?.text).toMatch(/^ after.*…$/)
  })

  test('both sides of a long replaced text are shown', () => {
    const words = wordDiff('old '.repeat(100_000), 'new '.repeat(100_000))
    expect(words.map(({ op, text }) => [op, text.slice(0, 4)])).toEqual([
      ['removed', 'old '],
      ['added', 'new '],
      ['same', expect.anything()],
    ])
  })

  test('a diff contains both short texts completely, and is never empty or longer than 2,000 characters', () => {
    const text = fc.array(fc.constantFrom('a', 'be', ' ', '\n', '😀', 'é', '.', '\u200D'), { maxLength: 30 })
    fc.assert(
      fc.property(text, text, (one, other) => {
        const [before, after] = [one.join(''), other.join('')]
        const words = wordDiff(before, after)
        expect(side(words, 'added')).toBe(before === after ? '' : visible(before))
        expect(side(words, 'removed')).toBe(before === after ? '' : visible(after))
      }),
    )
    fc.assert(
      fc.property(fc.string({ maxLength: 5000, unit: 'binary' }), fc.string({ maxLength: 5000 }), (a, b) => {
        const words = wordDiff(a, b)
        expect(words.some(({ op }) => op !== 'same')).toBe(a !== b)
        expect(words.reduce((sum, { text: each }) => sum + each.length, 0)).toBeLessThanOrEqual(2000)
      }),
    )
  })
})
