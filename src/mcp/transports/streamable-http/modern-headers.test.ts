import { expect, test } from 'vitest'
import { mirroredHeaders, mirrorsIn } from './streamable-http-transport.ts'

const tool = (name: string, properties: object) => ({ name, inputSchema: { type: 'object', properties } })
const mirrorsOf = (...tools: object[]) =>
  mirrorsIn({ tools: tools as Record<string, unknown>[], truncated: false, duplicates: 0 })
const call = (name: string, args: unknown, mirrors = mirrorsOf()) =>
  mirroredHeaders({ method: 'tools/call', params: { name, arguments: args } }, mirrors)

test.each([
  ['echo', 'echo'],
  ['two words', 'two words'],
  ['', ''],
  ['grüße', '=?base64?Z3LDvMOfZQ==?='],
  [' edge', '=?base64?IGVkZ2U=?='],
  ['a\r\nX-Evil: 1', '=?base64?YQ0KWC1FdmlsOiAx?='],
  ['=?base64?eA==?=', '=?base64?PT9iYXNlNjQ/ZUE9PT89?='],
  ['half \ud800', '=?base64?aGFsZiDvv70=?='],
])('the tool name %j is sent as the header value %j', (name, header) => {
  expect(call(name, {})).toEqual({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': header,
  })
})

test('Mcp-Name is sent only for requests that name a tool, prompt, resource or task', () => {
  const names = [
    { method: 'tools/list', params: { name: 'x' } },
    { method: 'prompts/get', params: { name: 'x' } },
    { method: 'resources/read', params: { uri: 'file:///x' } },
    { method: 'tasks/get', params: { taskId: 'x-1' } },
    { method: 'tools/call', params: { name: 7 } },
    { method: 'tools/call' },
  ].map((message) => mirroredHeaders(message, mirrorsOf())['mcp-name'])
  expect(names).toEqual([undefined, 'x', 'file:///x', 'x-1', undefined, undefined])
})

test('arguments are repeated in headers where the tool declares it and the specification allows it', () => {
  const mirrors = mirrorsOf(
    tool('t', {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      nested: { type: 'object', properties: { count: { type: 'integer', 'x-mcp-header': 'Count' } } },
      flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
      none: { type: 'string', 'x-mcp-header': 'None' },
      ratio: { type: 'number', 'x-mcp-header': 'Ratio' },
      list: { type: 'array', items: { type: 'string', 'x-mcp-header': 'Item' } },
      evil: { type: 'string', 'x-mcp-header': 'a: b\r\nc' },
      constructor: { type: 'string', 'x-mcp-header': 'Ctor' },
    }),
    tool('plain', { a: { type: 'string' } }),
    { name: 'bare' },
  )
  expect([...mirrors.keys()]).toEqual(['t'])
  const args = {
    region: 'ü',
    nested: { count: 0 },
    flag: false,
    none: null,
    ratio: 1,
    list: ['x'],
    evil: 'e',
  }
  expect(call('t', args, mirrors)).toMatchObject({
    'mcp-param-region': '=?base64?w7w=?=',
    'mcp-param-count': '0',
    'mcp-param-flag': 'false',
  })
  expect(Object.keys(call('t', args, mirrors)).filter((name) => name.startsWith('mcp-param'))).toHaveLength(3)
  expect(Object.keys(call('t', 'no object', mirrors))).toHaveLength(3)
})
