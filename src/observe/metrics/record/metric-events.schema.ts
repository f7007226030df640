import * as Type from 'typebox'
import { invalidField } from '../../../kernel/errors.ts'
import { component, ID_PATTERN, mapOf } from '../../../kernel/rest-parts.ts'
import { closed, optional, text } from '../../../kernel/schema-fields.ts'
import { DAY_MS } from '../metric-history.ts'
import { LABEL_PATTERN, NAME_PATTERN } from '../metrics.schema.ts'
import { CALL_STATUSES } from '../sketch/metric-cells.ts'
import type { Event } from './recorder.ts'
import { KINDS } from './series-table.ts'

const MAX_EVENTS = 1000
const MAX_LABELS = 16
/** 30 days: no call takes longer. */
const MAX_DURATION_MS = 30 * 86_400_000
const MAX_VALUE = 1e15

const name = { expected: 'at most 256 characters, none of them a control character' }
const Bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export const MetricEvent = closed({
  ts: Type.Optional(
    text('Default: now', {
      pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})?(Z|[+-]\\d{2}:\\d{2})$',
      expected: 'a time, such as 2026-11-15T09:30:00.000Z',
      examples: ['2026-11-15T09:30:00.000Z'],
    }),
  ),
  kind: Type.Enum(KINDS),
  ...optional({
    server_id: Type.String({ pattern: ID_PATTERN, expected: 'the id of a server' }),
    tool: Type.String({ pattern: LABEL_PATTERN, ...name }),
    agent_type: Type.String({ pattern: ID_PATTERN, expected: 'the type of an agent' }),
    duration_ms: Type.Number({ minimum: 0, maximum: MAX_DURATION_MS }),
    status: Type.Enum(CALL_STATUSES),
    error_code: Type.String({
      pattern: '^[A-Za-z0-9_.:-]{1,64}$',
      expected: 'a short code, such as call_timeout',
    }),
    request_bytes: Bytes,
    response_bytes: Bytes,
    name: Type.String({ pattern: NAME_PATTERN, expected: 'at most 128 letters, digits or _ . : / -' }),
    value: Type.Number({ minimum: 0, maximum: MAX_VALUE }),
    labels: mapOf(
      '^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$',
      Type.String({ pattern: LABEL_PATTERN, ...name }),
      MAX_LABELS,
    ),
  }),
})
export type MetricEvent = Type.Static<typeof MetricEvent>
component({ MetricEvent }, 'One event')

const example = {
  kind: 'tool_call',
  server_id: 'github',
  tool: 'search',
  agent_type: 'claude-code',
  duration_ms: 41.7,
  status: 'ok',
}

/**
 * One event, or a list of events. One schema instead of a union, so that an error refers to the form that was sent:
 * object rules ignore lists, and list rules ignore objects.
 */
export const MetricEvents = Type.Unsafe<MetricEvent | MetricEvent[]>({
  ...MetricEvent,
  type: ['object', 'array'],
  items: MetricEvent,
  minItems: 1,
  maxItems: MAX_EVENTS,
  title: 'MetricEvents',
  description:
    'One event, or up to 1000. `tool_call` needs `server_id`, `tool`, `duration_ms` and `status`; `check` needs `server_id`, `duration_ms` and `status`; `custom` needs `name` and `value`.',
  examples: [example],
})

export const Accepted = Type.Object({ accepted: Type.Integer({ minimum: 1 }) })
component({ RecordedMetrics: Accepted }, 'How many events were recorded')

/** Allows for small differences between the clocks of two programs. */
const MAX_AHEAD_MS = 5 * 60_000

const REQUIRED = {
  tool_call: ['server_id', 'tool', 'duration_ms', 'status'],
  check: ['server_id', 'duration_ms', 'status'],
  custom: ['name', 'value'],
} as const satisfies Record<MetricEvent['kind'], readonly (keyof MetricEvent)[]>

/** Refused, because they would be ignored. */
const FORBIDDEN = {
  tool_call: ['name', 'value', 'labels'],
  check: ['tool', 'agent_type', 'name', 'value', 'labels'],
  custom: ['duration_ms'],
} as const satisfies Record<MetricEvent['kind'], readonly (keyof MetricEvent)[]>

/** Validates and converts events. Throws for the first invalid field. */
export function eventsOf(
  body: MetricEvent | readonly MetricEvent[],
  now: number,
  retentionDays: number,
): Event[] {
  const list = Array.isArray(body) ? (body as readonly MetricEvent[]) : undefined
  const one = (event: MetricEvent, path: string) => eventOf(event, path, now, retentionDays)
  return list?.map((event, index) => one(event, `/${index}`)) ?? [one(body as MetricEvent, '')]
}

function eventOf(event: MetricEvent, path: string, now: number, retentionDays: number): Event {
  const { kind, status = 'ok' } = event
  for (const field of REQUIRED[kind])
    if (event[field] === undefined) throw invalidField(`${path}/${field}`, `is required for a ${kind}`)
  for (const field of FORBIDDEN[kind])
    if (event[field] !== undefined) throw invalidField(`${path}/${field}`, `is not a field of a ${kind}`)
  return {
    ts: timeOf(event.ts, path, now, retentionDays),
    kind,
    server_id: event.server_id ?? null,
    tool: event.tool ?? null,
    agent_type: event.agent_type ?? null,
    name: event.name ?? null,
    labels: event.labels ?? null,
    value: (kind === 'custom' ? event.value : event.duration_ms) ?? 0,
    status,
    error_code: event.error_code ?? (status === 'ok' || status === 'cancelled' ? null : status),
    request_bytes: event.request_bytes ?? 0,
    response_bytes: event.response_bytes ?? 0,
  }
}

function timeOf(text: string | undefined, path: string, now: number, retentionDays: number): number {
  if (text === undefined) return now
  const ts = Date.parse(text)
  if (Number.isNaN(ts))
    throw invalidField(`${path}/ts`, 'must be a valid time, such as 2026-11-15T09:30:00.000Z')
  if (ts > now + MAX_AHEAD_MS)
    throw invalidField(`${path}/ts`, 'must not be more than 5 minutes in the future')
  if (ts < now - retentionDays * DAY_MS)
    throw invalidField(`${path}/ts`, `must not be older than the retention of ${retentionDays} days`)
  return Math.min(ts, now)
}
