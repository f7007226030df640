import { expect, test } from 'vitest'
import { hanging } from './columns.ts'

test('a text is broken between words, and its later lines begin below its first word', () => {
  expect(hanging('  Try: ', 'install it, then start it again', 24)).toEqual([
    '  Try: install it, then',
    '       start it again',
  ])
})

test('a word that is too long stays whole, a pipe gets one line, and a narrow terminal no indent', () => {
  expect(hanging('> ', 'see /a/very/long/path now', 12)).toEqual(['> see', '  /a/very/long/path', '  now'])
  expect(hanging('> ', 'one two three', undefined)).toEqual(['> one two three'])
  expect(hanging('          ', 'one two', 12)).toEqual(['          one two'])
})
