import { expect, test } from 'vitest'
import { readTemplate } from './uri-template.ts'

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
])('%s makes %s: %j', (template, uri, outcome) => {
  expect(readTemplate(template)?.matches(uri)).toBe(outcome)
})

test.each([
  'book://{',
  'book://{id',
  'book://{}',
  'book://{a b}',
  'book://{id}}',
  `book://{x}${'y'.repeat(3000)}`,
])('%.40s is no template that we follow', (template) => {
  expect(readTemplate(template)).toBeUndefined()
})

test('the more a template says itself, the more it means', () => {
  expect(readTemplate('book://{id}/text')?.literal).toBe('book:///text'.length)
})

test('a template that means ill takes no longer than another', () => {
  const evil = readTemplate(`a://${'{+x}a'.repeat(15)}!`)
  const startedAt = performance.now()
  expect(evil?.matches(`a://${'a'.repeat(4000)}`)).toBe(false)
  expect(performance.now() - startedAt).toBeLessThan(500) // with a regular expression: years
})
