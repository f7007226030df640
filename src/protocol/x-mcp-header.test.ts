import { expect, test } from 'vitest'
import { headerProblem, mirroredArguments } from './x-mcp-header.ts'

const region = { type: 'string', 'x-mcp-header': 'Region' }

test.each<[string, unknown]>([
  ['no schema', undefined],
  ['a schema without headers', { type: 'object', properties: { a: { type: 'string' } } }],
  ['a plain argument', { properties: { region } }],
  ['an argument in an argument', { properties: { where: { type: 'object', properties: { region } } } }],
  ['whole numbers and yes or no', { properties: { n: { type: 'integer', 'x-mcp-header': 'N' }, region } }],
  ['an argument that is called so', { properties: { 'x-mcp-header': { type: 'string' } } }],
  ['an example that looks like one', { properties: { a: { examples: [{ 'x-mcp-header': 'a b' }] } } }],
])('%s is nothing against a tool', (_, schema) => {
  expect(headerProblem(schema)).toBeUndefined()
})

test.each<[string, unknown]>([
  ['an empty name', { properties: { a: { type: 'string', 'x-mcp-header': '' } } }],
  ['a name with a line break', { properties: { a: { type: 'string', 'x-mcp-header': 'a\r\nb' } } }],
  ['a name that is no text', { properties: { a: { type: 'string', 'x-mcp-header': 7 } } }],
  ['a number that may have a point', { properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }],
  ['an object', { properties: { a: { type: 'object', 'x-mcp-header': 'A' } } }],
  ['no type', { properties: { a: { 'x-mcp-header': 'A' } } }],
  ['the whole of the arguments', { ...region, properties: {} }],
  ['an item of a list', { properties: { list: { type: 'array', items: region } } }],
  ['one of several', { anyOf: [{ properties: { region } }] }],
  ['a definition elsewhere', { $defs: { region }, properties: { a: { $ref: '#/$defs/region' } } }],
  ['the same name twice', { properties: { a: region, b: { type: 'string', 'x-mcp-header': 'REGION' } } }],
])('a header for %s keeps a tool away', (_, schema) => {
  expect(headerProblem(schema)).toContain('x-mcp-header')
})

test('arguments that are repeated are found with the way to them', () => {
  const schema = { properties: { where: { type: 'object', properties: { region } }, x: { type: 'string' } } }
  expect(mirroredArguments(schema)).toEqual([{ header: 'Region', path: ['where', 'region'] }])
})
