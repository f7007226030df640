import { expect, test } from 'vitest'
import { clean, writtenLine } from './printed-line.ts'

const PIPE = { isColoured: false, isAscii: false, width: undefined }

test.each([
  ['U+0000, NUL', '\0'],
  ['U+001B, the beginning of a terminal sequence', '\u001b[2J'],
  ['U+0085, next line', '\u0085'],
  ['U+009B, a sequence in one character', '\u009b2J'],
  ['U+200B, a space without width', '\u200b'],
  ['U+202E, right to left from here', '\u202e'],
  ['U+2066, an isolate', '\u2066'],
  ['U+2028, line separator', '\u2028'],
  ['U+2029, paragraph separator', '\u2029'],
  ['U+FEFF, byte order mark', '\ufeff'],
  ['U+E0041, an invisible tag', '\u{e0041}'],
])('%s in the text of a server is not printed', (_, text) => {
  const line = writtenLine(['from a server: ', `a${text}b`], PIPE)
  expect(line).toMatch(/^from a server: a (?:\[2J|2J)?b\n$/)
  expect(clean(text).replace(/[ -~]/g, '')).toBe('')
})

test('letters of every script, and signs, are printed as they are', () => {
  const text = 'Grüße, 日本語, עברית, العربية, 🎈 – ✓'
  expect(writtenLine(text, PIPE)).toBe(`${text}\n`)
})
