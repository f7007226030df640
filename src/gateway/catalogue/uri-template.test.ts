import { expect, test } from 'vitest'
import { stopwatch } from '../../../test/support/measuring.ts'
import { parseTemplate } from './uri-template.ts'

test.each([
  ['book://{id}', 'book://7', true],
  ['book://{id}', 'book://', false],
  ['book://{id}', 'book://7/8', false],
  ['book://{a}/{b}', 'book://7/8', true],
  ['book://{a}-{b}', 'book://7-8-9', true],
  ['book://{id}/text', 'book://7/text', true],
  ['book://{id}/text', 'book://7/texts', false],
  ['file://{+path}', 'file:///a/b?c#d', true],
  ['file://{+path}.txt', 'file:///a.txt/b.txt', true],
  ['file://{+path}.txt', 'file:///a.txt/b', false],
  ['book://x{/a}', 'book://x/7', true],
  ['book://x{/a,b}', 'book://x/7/8', true],
  ['book://x{/a,b}', 'book://x/7', false],
  ['book://x{/a*}', 'book://x/7/8/9', true],
  ['book://x{?q,size}', 'book://x', true],
  ['book://x{?q,size}', 'book://x?size=2', true],
  ['book://x{?q,size}', 'book://x?q=1&size=2', true],
  ['book://x{?q,size}', 'book://x?page=1', false],
  ['book://x{?q*}', 'book://x?page=1&any=2', true],
  ['book://x?fixed=1{&q}', 'book://x?fixed=1&q=2', true],
  ['book://x{#part}', 'book://x#two', true],
  ['book://x{.kind}', 'book://x.txt', true],
  ['book://{id:3}', 'book://abc', true],
  ['book://plain', 'book://plain', true],
  ['book://plain', 'book://plain/', false],
  ['BOOK://{id}', 'book://7', false],
])('the template %s matches %s: %j', (template, uri, outcome) => {
  expect(parseTemplate(template)?.matches(uri)).toBe(outcome)
})

test.each([
  'book://{',
  'book://{id',
  'book://{}',
  'book://{a b}',
  'book://{id}}',
  `book://{x}${'y'.repeat(3000)}`,
])('the template %.40s is not supported', (template) => {
  expect(parseTemplate(template)).toBeUndefined()
})

test('the literal length counts the characters outside of expressions', () => {
  expect(parseTemplate('book://{id}/text')?.literalLength).toBe('book:///text'.length)
})

test('a hostile template is matched in less than 500 ms', () => {
  const hostile = parseTemplate(`a://${'{+x}a'.repeat(15)}!`)
  const spent = stopwatch()
  expect(hostile?.matches(`a://${'a'.repeat(4000)}`)).toBe(false)
  expect(spent()).toBeLessThan(500) // a regular expression would take years
})

test('a URI that is longer than 4,096 characters matches no template, so that its time is bounded', () => {
  const { matches } = parseTemplate('file:///{+path}') ?? expect.unreachable()
  const start = 'file:///'
  expect(matches(start + 'a'.repeat(4096 - start.length))).toBe(true)
  expect(matches(start + 'a'.repeat(4097 - start.length))).toBe(false)
})
