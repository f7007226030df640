import { expect, test } from 'vitest'
import { NOON } from '../../../../test/support/metrics.ts'
import { CALL, CUSTOM, openMetrics } from '../../../../test/support/metrics-api.ts'

test('recording needs the token and answers 202 with the number of events', async () => {
  const { post } = await openMetrics()
  expect((await post(CALL, {})).statusCode).toBe(401)
  const reply = await post(CALL)
  expect(reply.statusCode).toBe(202)
  expect(reply.json()).toEqual({ accepted: 1 })
})

test.each([
  ['the value NaN', '{"kind":"custom","name":"a","value":NaN}', 400, 'is not valid JSON'],
  ['the value 1e400', '{"kind":"custom","name":"a","value":1e400}', 422, 'value must be'],
  ['a negative duration', { ...CALL, duration_ms: -1 }, 422, 'duration_ms must be >= 0'],
  [
    'a name with a line break',
    { ...CUSTOM, name: 'a\nb' },
    422,
    'name must be at most 128 letters, digits or _ . : / -',
  ],
  ['a tool with a line break', { ...CALL, tool: 'a\nb' }, 422, 'tool must be at most 256'],
  ['a label of a megabyte', { ...CUSTOM, labels: { a: 'x'.repeat(1_048_576) } }, 422, 'labels.a must be'],
  ['a label with an invalid name', { ...CUSTOM, labels: { 'a-b': 'x' } }, 422, 'is not an allowed name'],
  ['an event with 17 labels', { ...CUSTOM, labels: labels(17) }, 422, 'labels must NOT have more than 16'],
  ['an unknown field', { ...CALL, nope: 1 }, 422, 'nope is not a known field'],
  ['an unknown kind', { ...CALL, kind: 'x' }, 422, 'kind must be one of'],
  ['an event without a kind', { name: 'a', value: 1 }, 422, 'kind is required'],
  ['a call without a tool', { ...CALL, tool: undefined }, 422, 'tool is required for a tool_call'],
  ['a custom metric without a value', { kind: 'custom', name: 'a' }, 422, 'value is required for a custom'],
  ['a call with a value', { ...CALL, value: 1 }, 422, 'value is not a field of a tool_call'],
  [
    'an event six minutes in the future',
    { ...CALL, ts: '2026-11-15T09:37:00Z' },
    422,
    'more than 5 minutes in the future',
  ],
  [
    'an event from 31 days ago',
    { ...CALL, ts: '2026-10-15T09:30:00Z' },
    422,
    'ts must not be older than the retention of 30 days',
  ],
  [
    'an event on a day that does not exist',
    { ...CALL, ts: '2026-11-31T99:30:00Z' },
    422,
    'ts must be a valid time, such as 2026-11-15T09:30:00.000Z',
  ],
  ['a JSON string', '"x"', 422, 'must be an object or a list'],
  ['an empty list', '[]', 422, 'must NOT have fewer than 1 items'],
  [
    'a list of 1001 events',
    Array.from({ length: 1001 }, () => CALL),
    422,
    'must NOT have more than 1000 items',
  ],
  [
    'a list with one invalid event',
    [CALL, CALL, { ...CALL, status: 'fine' }],
    422,
    '2.status must be one of',
  ],
  [
    'a list with one event that is too old',
    [CALL, { ...CALL, ts: '2020-01-01T00:00:00Z' }],
    422,
    '1/ts must not be older',
  ],
])('%s is refused, and nothing is recorded', async (_, payload, status, sentence) => {
  const { get, post, recorder } = await openMetrics()
  const reply = await post(payload)
  expect(reply.json()).toMatchObject({ status, detail: expect.stringContaining(sentence) })
  expect((await get('summary?window=7d')).json().calls.total).toBe(0)
  expect([...recorder.series.all()]).toEqual([])
})

test('1000 events are accepted at once, and a slightly future time counts as now', async () => {
  const { get, post } = await openMetrics()
  const ahead = { ...CALL, ts: new Date(NOON + 60_000).toISOString() }
  expect((await post(Array.from({ length: 1000 }, () => ahead))).json()).toEqual({ accepted: 1000 })
  expect((await get('summary')).json().calls.total).toBe(1000)
})

test('an event above the limit of label sets is refused with 429 and a hint', async () => {
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
