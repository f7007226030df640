import { expect, test } from 'vitest'
import type { LogLine } from '../../../logs/logs.schema.ts'
import { FORMATTERS } from './format.ts'

const line = (given: Partial<LogLine>): LogLine => ({
  id: 7,
  ts: '2026-11-15T09:30:00.000Z',
  level: 'warn',
  source: 'server',
  stream: 'stderr',
  server_id: 'docs',
  agent_type: null,
  tool: null,
  request_id: null,
  message: 'hello',
  data: null,
  repeat: 1,
  truncated: false,
  ...given,
})

const AT = '2026-11-15T09:30:00.000Z'

test.each<[string, Partial<LogLine>, string]>([
  ['the level is padded', {}, `${AT} WARN  server/docs hello\n`],
  ['without a server', { server_id: null, source: 'service', level: 'error' }, `${AT} ERROR service hello\n`],
  ['line breaks', { message: 'a\r\nb\tc' }, `${AT} WARN  server/docs a\\r\\nb\\tc\n`],
  [
    'escape sequences',
    { message: '\u001b[2J\u0007\u009b\u007f' },
    `${AT} WARN  server/docs \\x1b[2J\\x07\\x9b\\x7f\n`,
  ],
  ['turned text', { message: 'a\u202eb\u2028' }, `${AT} WARN  server/docs a\\u202eb\\u2028\n`],
  ['other letters', { message: 'Grüße 世界 😀 C:\\new' }, `${AT} WARN  server/docs Grüße 世界 😀 C:\\new\n`],
])('text: %s', (_, given, expected) => {
  expect(FORMATTERS.text.line(line(given))).toBe(expected)
})

test('ndjson: one object a line, whatever it contains', () => {
  const text = FORMATTERS.ndjson.line(line({ message: 'a\nb', data: { n: 1 } }))

  expect(text.match(/\n/g)).toHaveLength(1)
  expect(JSON.parse(text)).toEqual(line({ message: 'a\nb', data: { n: 1 } }))
})

test('csv: a header with every field', () => {
  expect(FORMATTERS.csv.head).toBe(`${Object.keys(line({})).join(',')}\r\n`)
})

const before = `7,${AT},warn,server,stderr,docs,,,,`
test.each<[string, Partial<LogLine>, string]>([
  ['nothing special', {}, `${before}hello,,1,false\r\n`],
  ['commas and quotes', { message: 'say "hi", you' }, `${before}"say ""hi"", you",,1,false\r\n`],
  ['line breaks', { message: 'a\nb' }, `${before}"a\nb",,1,false\r\n`],
  ['data', { data: { a: 'b' } }, `${before}hello,"{""a"":""b""}",1,false\r\n`],
  ...['=1+1', '+1', '-1', '@sum', '\tx'].map((message): [string, Partial<LogLine>, string] => [
    `a spreadsheet would run ${JSON.stringify(message)}`,
    { message },
    `${before}'${message},,1,false\r\n`,
  ]),
  ['a formula behind a carriage return', { message: '\r=1' }, `${before}"'\r=1",,1,false\r\n`],
])('csv: %s', (_, given, expected) => {
  expect(FORMATTERS.csv.line(line(given))).toBe(expected)
})
