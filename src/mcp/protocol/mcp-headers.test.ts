import { expect, test } from 'vitest'
import { headerProblem, mirroredArguments } from './mcp-headers.ts'

const region = { type: 'string', 'x-mcp-header': 'Region' }

test.each<[string, unknown]>([
  ['no schema', undefined],
  ['a schema without headers', { type: 'object', properties: { a: { type: 'string' } } }],
  ['a header for an argument', { properties: { region } }],
  ['a header for a nested argument', { properties: { where: { type: 'object', properties: { region } } } }],
  ['a header for an integer', { properties: { n: { type: 'integer', 'x-mcp-header': 'N' }, region } }],
  ['an argument named x-mcp-header', { properties: { 'x-mcp-header': { type: 'string' } } }],
  [
    'an example that looks like a declaration',
    { properties: { a: { examples: [{ 'x-mcp-header': 'a b' }] } } },
  ],
])('a tool with %s may be offered', (_, schema) => {
  expect(headerProblem(schema)).toBeUndefined()
})

test.each<[string, unknown]>([
  ['an empty name', { properties: { a: { type: 'string', 'x-mcp-header': '' } } }],
  ['a name with a line break', { properties: { a: { type: 'string', 'x-mcp-header': 'a\r\nb' } } }],
  ['a name that is not a string', { properties: { a: { type: 'string', 'x-mcp-header': 7 } } }],
  ['a number that may have decimals', { properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }],
  ['an object', { properties: { a: { type: 'object', 'x-mcp-header': 'A' } } }],
  ['no type', { properties: { a: { 'x-mcp-header': 'A' } } }],
  ['the arguments object itself', { ...region, properties: {} }],
  ['an item of a list', { properties: { list: { type: 'array', items: region } } }],
  ['an alternative in anyOf', { anyOf: [{ properties: { region } }] }],
  ['a shared definition', { $defs: { region }, properties: { a: { $ref: '#/$defs/region' } } }],
  ['the same name twice', { properties: { a: region, b: { type: 'string', 'x-mcp-header': 'REGION' } } }],
])('a tool with an invalid header declaration must not be offered: %s', (_, schema) => {
  expect(headerProblem(schema)).toContain('x-mcp-header')
})

test('arguments with a declared header are found with their path', () => {
  const schema = { properties: { where: { type: 'object', properties: { region } }, x: { type: 'string' } } }
  expect(mirroredArguments(schema)).toEqual([{ header: 'Region', path: ['where', 'region'] }])
})
