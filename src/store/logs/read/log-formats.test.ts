import { expect, test } from 'vitest'
import type { LogLine } from '../../../observe/logs/logs.schema.ts'
import { FORMATTERS } from './page-reader.ts'

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
  ['pads the level', {}, `${AT} WARN  server/docs hello\n`],
  [
    'shows the source of a line without a server',
    { server_id: null, source: 'service', level: 'error' },
    `${AT} ERROR service hello\n`,
  ],
  ['escapes line breaks', { message: 'a\r\nb\tc' }, `${AT} WARN  server/docs a\\r\\nb\\tc\n`],
  [
    'escapes terminal control sequences',
    { message: '\u001b[2J\u0007\u009b\u007f' },
    `${AT} WARN  server/docs \\x1b[2J\\x07\\x9b\\x7f\n`,
  ],
  [
    'escapes characters that reverse the text direction',
    { message: 'a\u202eb\u2028' },
    `${AT} WARN  server/docs a\\u202eb\\u2028\n`,
  ],
  [
    'keeps all other letters',
    { message: 'Grüße 世界 😀 C:\\new' },
    `${AT} WARN  server/docs Grüße 世界 😀 C:\\new\n`,
  ],
])('the text format %s', (_, given, expected) => {
  expect(FORMATTERS.text.line(line(given))).toBe(expected)
})

test('the ndjson format writes one object per line, even for messages with line breaks', () => {
  const text = FORMATTERS.ndjson.line(line({ message: 'a\nb', data: { n: 1 } }))

  expect(text.match(/\n/g)).toHaveLength(1)
  expect(JSON.parse(text)).toEqual(line({ message: 'a\nb', data: { n: 1 } }))
})

test('the csv header has every field', () => {
  expect(FORMATTERS.csv.head).toBe(`${Object.keys(line({})).join(',')}\r\n`)
})

const before = `7,${AT},warn,server,stderr,docs,,,,`
test.each<[string, Partial<LogLine>, string]>([
  ['writes plain values unquoted', {}, `${before}hello,,1,false\r\n`],
  [
    'quotes commas and quotation marks',
    { message: 'say "hi", you' },
    `${before}"say ""hi"", you",,1,false\r\n`,
  ],
  ['quotes line breaks', { message: 'a\nb' }, `${before}"a\nb",,1,false\r\n`],
  ['writes data as quoted JSON', { data: { a: 'b' } }, `${before}hello,"{""a"":""b""}",1,false\r\n`],
  ...['=1+1', '+1', '-1', '@sum', '\tx'].map((message): [string, Partial<LogLine>, string] => [
    `protects the formula ${JSON.stringify(message)}`,
    { message },
    `${before}'${message},,1,false\r\n`,
  ]),
  ['protects a formula after a carriage return', { message: '\r=1' }, `${before}"'\r=1",,1,false\r\n`],
])('the csv format %s', (_, given, expected) => {
  expect(FORMATTERS.csv.line(line(given))).toBe(expected)
})
