import * as Type from 'typebox'
import { invalidField } from '../kernel/errors.ts'
import { text } from '../kernel/schema-fields.ts'

/** A point in time: ISO-8601, or an age such as `15m` counted back from now. */
export const Instant = Type.String({
  maxLength: 40,
  pattern: '^(\\d{1,6}(ms|s|m|h|d|w)|\\d{4}-\\d{2}-\\d{2}(T[\\d:.]+(Z|[+-]\\d{2}:\\d{2})?)?)$',
  expected: 'a time, such as 15m or 2026-11-15T09:30:00.000Z',
  examples: ['15m', '2026-11-15T09:30:00.000Z'],
})

/** The duration of one point of a chart. */
export const stepField = (byDefault: string) =>
  text(`Duration of one point. The default gives ${byDefault}`, {
    pattern: '^[1-9]\\d{0,4}(s|m|h|d)$',
    expected: 'a duration, such as 10s, 5m or 1h',
    examples: ['1m'],
  })

/** In ms since 1970. A missing end is open. */
export interface TimeRange {
  readonly since?: number
  readonly until?: number
}

/** Resolves the parameters `since` and `until` of a query. */
export function timeRange(
  { since, until }: { readonly since?: string | undefined; readonly until?: string | undefined },
  now: number,
): TimeRange {
  const from = since === undefined ? undefined : instant('since', since, now)
  const to = until === undefined ? undefined : instant('until', until, now)
  if (from !== undefined && to !== undefined && from > to)
    throw invalidField('/since', 'must not be later than until')
  return { ...(from !== undefined && { since: from }), ...(to !== undefined && { until: to }) }
}

const UNIT_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

function instant(field: string, text: string, now: number): number {
  const age = /^(\d+)(ms|s|m|h|d|w)$/.exec(text)
  if (age) return now - Number(age[1]) * UNIT_MS[age[2] as keyof typeof UNIT_MS]
  // Without a zone, JavaScript would assume local time; times in this API are UTC.
  const zoned = /T/.test(text) && !/(?:Z|[+-]\d{2}:\d{2})$/.test(text) ? `${text}Z` : text
  const time = Date.parse(zoned)
  const day = Number(text.slice(8, 10))
  if (Number.isNaN(time) || new Date(`${text.slice(0, 10)}T00:00:00Z`).getUTCDate() !== day) {
    throw invalidField(`/${field}`, 'must be a valid time, such as 15m or 2026-11-15T09:30:00.000Z')
  }
  return time
}
