import { expect, test } from 'vitest'
import { NOON } from '../../../test/support/metrics.ts'
import { CALL, CUSTOM, openMetrics } from '../../../test/support/metrics-door.ts'

test('recording needs the token, and answers 202 with the number', async () => {
  const { post } = await openMetrics()
  expect((await post(CALL, {})).statusCode).toBe(401)
  const reply = await post(CALL)
  expect(reply.statusCode).toBe(202)
  expect(reply.json()).toEqual({ accepted: 1 })
})

test.each([
  ['NaN', '{"kind":"custom","name":"a","value":NaN}', 400, 'is not valid JSON'],
  ['1e400', '{"kind":"custom","name":"a","value":1e400}', 422, 'value must be'],
  ['a negative duration', { ...CALL, duration_ms: -1 }, 422, 'duration_ms must be >= 0'],
  ['a line break in a name', { ...CUSTOM, name: 'a\nb' }, 422, 'name must be a name of letters'],
  ['a line break in a tool', { ...CALL, tool: 'a\nb' }, 422, 'tool must be at most 256'],
  ['a label of a megabyte', { ...CUSTOM, labels: { a: 'x'.repeat(1_048_576) } }, 422, 'labels.a must be'],
  ['a label whose name is none', { ...CUSTOM, labels: { 'a-b': 'x' } }, 422, 'is not an allowed name'],
  ['17 labels', { ...CUSTOM, labels: labels(17) }, 422, 'labels must NOT have more than 16'],
  ['an unknown field', { ...CALL, nope: 1 }, 422, 'nope is not a known field'],
  ['an unknown kind', { ...CALL, kind: 'x' }, 422, 'kind must be one of'],
  ['no kind', { name: 'a', value: 1 }, 422, 'kind is required'],
  ['a call without a tool', { ...CALL, tool: undefined }, 422, 'tool is required of a tool_call'],
  ['a custom one without a value', { kind: 'custom', name: 'a' }, 422, 'value is required of a custom'],
  ['a call with a value', { ...CALL, value: 1 }, 422, 'value is not a field of a tool_call'],
  ['six minutes ahead', { ...CALL, ts: '2026-11-15T09:37:00Z' }, 422, 'more than 5 minutes in the future'],
  ['31 days ago', { ...CALL, ts: '2026-10-15T09:30:00Z' }, 422, 'older than the 30 days'],
  ['no such day', { ...CALL, ts: '2026-11-31T99:30:00Z' }, 422, 'ts is no valid time'],
  ['text', '"x"', 422, 'must be an object or a list'],
  ['an empty list', '[]', 422, 'must NOT have fewer than 1 items'],
  ['1001 events', Array.from({ length: 1001 }, () => CALL), 422, 'must NOT have more than 1000 items'],
  ['one wrong among many', [CALL, CALL, { ...CALL, status: 'fine' }], 422, '2.status must be one of'],
  ['one too old among many', [CALL, { ...CALL, ts: '2020-01-01T00:00:00Z' }], 422, '1/ts must not be older'],
])('%s is refused, and nothing is recorded', async (_, payload, status, sentence) => {
  const { get, post, recorder } = await openMetrics()
  const reply = await post(payload)
  expect(reply.json()).toMatchObject({ status, detail: expect.stringContaining(sentence) })
  expect((await get('summary?window=7d')).json().calls.total).toBe(0)
  expect([...recorder.series.all()]).toEqual([])
})

test('a thousand at once are taken, and a little ahead of our clock counts as now', async () => {
  const { get, post } = await openMetrics()
  const ahead = { ...CALL, ts: new Date(NOON + 60_000).toISOString() }
  expect((await post(Array.from({ length: 1000 }, () => ahead))).json()).toEqual({ accepted: 1000 })
  expect((await get('summary')).json().calls.total).toBe(1000)
})

test('more label sets than are counted is a 429 that says what to do', async () => {
  const { post, recorder } = await openMetrics()
  const batch = (from: number) =>
    Array.from({ length: 1000 }, (_, n) => ({ ...CUSTOM, labels: { n: String(from + n) } }))
  for (let from = 0; from < 10_000; from += 1000) expect((await post(batch(from))).statusCode).toBe(202)
  const reply = await post([CUSTOM, CALL])
  expect(reply.json()).toMatchObject({ status: 429, code: 'cardinality_limit', hint: expect.any(String) })
  expect((await post(batch(0))).statusCode).toBe(202)
  expect([...recorder.series.all()]).toHaveLength(10_000)
})

function labels(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`l${n}`, 'x']))
}
