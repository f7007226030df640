import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { readMessage, resultOf } from './json-rpc-message.ts'
import { rawMember } from './raw-json.ts'

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\r', '\n'), maxLength: 3 })

/** A string in JSON, either as JSON.stringify writes it or with every character escaped. */
const spelledAny = (text: string) =>
  fc.constantFrom(
    JSON.stringify(text),
    `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`,
  )
const tricky = fc.constantFrom('result', 'id', '"', '\\', '\\"', '{"result":1}', '},', '__proto__', '', 'é🎈')
const spelledString = fc.oneof(tricky, fc.string(), fc.string({ unit: 'binary' })).chain(spelledAny)
const scalar = fc.oneof(
  fc.constantFrom('1.0', '-0', '1e2', '12345678901234567890', '0.10', 'true', 'false', 'null', '5E-324'),
  spelledString,
)

/** JSON as text, so that results can be compared character by character. */
const { value } = fc.letrec<{ value: string; array: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, scalar, tie('array'), tie('object')),
  array: fc
    .array(fc.tuple(space, tie('value'), space), { maxLength: 4 })
    .map((items) => `[${items.map((item) => item.join('')).join(',')}]`),
  object: fc
    .array(fc.tuple(space, spelledString, space, space, tie('value'), space), { maxLength: 4 })
    .map((members) => `{${members.map(([a, k, b, c, v, d]) => `${a}${k}${b}:${c}${v}${d}`).join(',')}}`),
}))

const member = fc.record({
  name: fc.oneof(fc.constantFrom('result', 'id', 'jsonrpc', 'x'), tricky),
  value,
  around: fc.tuple(space, space, space, space),
})
const members = fc
  .array(member, { maxLength: 6 })
  .chain((list) =>
    fc.tuple(fc.constant(list), fc.tuple(...list.map(({ name }) => spelledAny(name))), space, space),
  )

test('the raw text of a member is found at any position and in any notation', () => {
  fc.assert(
    fc.property(members, ([list, keys, before, after]) => {
      const inner = list.map(({ value, around: [a, b, c, d] }, at) => `${a}${keys[at]}${b}:${c}${value}${d}`)
      const text = `${before}{${inner.join(',')}${list.length === 0 ? before : ''}}${after}`
      const parsed = JSON.parse(text)
      const bytes = Buffer.from(text)
      for (const name of ['result', 'missing', ...list.map((each) => each.name)]) {
        const found = rawMember(bytes, name)
        expect(found !== undefined).toBe(Object.hasOwn(parsed, name))
        if (!found) continue
        const slice = bytes.toString('utf8', found.start, found.end)
        expect(slice).toBe(list.findLast((each) => each.name === name)?.value)
        expect(JSON.parse(slice)).toEqual(parsed[name])
      }
    }),
    { numRuns: runs(300, 2000) },
  )
})

test.each([
  '{}',
  ' { } ',
  '{"a":"result"}',
  '{"a":{"result":1}}',
  '{"a":["result",1]}',
  '{"a":"\\"result\\":1"}',
])('no member named result is found in %s', (text) => {
  expect(rawMember(Buffer.from(text), 'result')).toBeUndefined()
})

const answerFrames = fc.constantFrom<(result: string, more: string) => string>(
  (result, more) => `{"jsonrpc":"2.0","id":7,"result":${result}${more}}`,
  (result, more) => `{"result":${result}${more},"jsonrpc":"2.0","id":7}`,
  (result, more) => `{"jsonrpc": "2.0", "id": 7, "result": ${result}${more}}`,
  (result, more) => `{"result": ${result}${more}, "jsonrpc": "2.0", "id": 7}`,
  (result, more) => `{"id":7,"result":${result}${more},"jsonrpc":"2.0"}`,
)
const more = fc.oneof(
  fc.constant(''),
  value.map((text) => `,"extra":${text}`),
  value.map((text) => `,"result":${text}`),
  value.map((text) => `,"res\\u0075lt":${text}`),
)

test('a response is read like JSON.parse reads it, on the fast and on the general path', () => {
  fc.assert(
    fc.property(answerFrames, value, more, (frame, result, rest) => {
      const line = Buffer.from(frame(result, rest))
      const parsed = JSON.parse(line.toString())
      const message = readMessage(line)
      expect(message).toMatchObject({ id: 7 })
      const { value: read, bytes, written } = resultOf(message ?? {}, line, false)
      expect(read).toEqual(parsed.result)
      expect(JSON.parse(String(written))).toEqual(parsed.result)
      expect(String(written)).toBe(bytes.toString())
    }),
    { numRuns: runs(200, 1000) },
  )
})

test.each([
  '{"jsonrpc":"2.0","id":7,"result":}',
  '{"jsonrpc":"2.0","id":7,"result":1',
  '{"jsonrpc":"2.0","id":07,"result":1}',
  '{"jsonrpc":"2.0","id":7,"result":1}}',
  '{"jsonrpc":"2.0","id":7,"result":"\\x"}',
  '{"jsonrpc":"2.0","id":7,"result":"a\tb"}',
  '{"jsonrpc":"2.0","id":7,"result":{"a":1,}}',
  '{"jsonrpc":"2.0","id":7,"result":[1 2]}',
  '{"result":1,"id":7}',
  '{"result":,"jsonrpc":"2.0","id":7}',
  '[{"jsonrpc":"2.0","id":7,"result":1}]',
])('%s is not a message', (line) => {
  expect(readMessage(Buffer.from(line))).toBeUndefined()
})
