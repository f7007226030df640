import { invalidField } from '../../../kernel/errors.ts'
import { DAY_MS } from '../windows/levels.ts'
import type { MetricEvent } from './record.schema.ts'
import type { Event } from './recorder.ts'

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
