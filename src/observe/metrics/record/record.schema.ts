import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, ID_PATTERN, mapOf } from '../../../kernel/wire.ts'
import { LABEL_PATTERN, NAME_PATTERN } from '../metrics.schema.ts'
import { CALL_STATUSES } from '../sketch/cell.ts'
import { KINDS } from './series.ts'

const MAX_EVENTS = 1000
const MAX_LABELS = 16
/** 30 days: no call takes longer. */
const MAX_DURATION_MS = 30 * 86_400_000
const MAX_VALUE = 1e15

const name = { expected: 'at most 256 characters, none of them a control character' }
const Bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

export const MetricEvent = Type.Object(
  {
    ts: Type.Optional(
      Type.String({
        pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,9})?(Z|[+-]\\d{2}:\\d{2})$',
        expected: 'a time, such as 2026-11-15T09:30:00.000Z',
        description: 'Default: now',
        examples: ['2026-11-15T09:30:00.000Z'],
      }),
    ),
    kind: Type.Enum(KINDS),
    server_id: Type.Optional(Type.String({ pattern: ID_PATTERN, expected: 'the id of a server' })),
    tool: Type.Optional(Type.String({ pattern: LABEL_PATTERN, ...name })),
    agent_type: Type.Optional(Type.String({ pattern: ID_PATTERN, expected: 'the type of an agent' })),
    duration_ms: Type.Optional(Type.Number({ minimum: 0, maximum: MAX_DURATION_MS })),
    status: Type.Optional(Type.Enum(CALL_STATUSES)),
    error_code: Type.Optional(
      Type.String({ pattern: '^[A-Za-z0-9_.:-]{1,64}$', expected: 'a short code, such as call_timeout' }),
    ),
    request_bytes: Type.Optional(Bytes),
    response_bytes: Type.Optional(Bytes),
    name: Type.Optional(
      Type.String({
        pattern: NAME_PATTERN,
        expected: 'at most 128 letters, digits or _ . : / -',
      }),
    ),
    value: Type.Optional(Type.Number({ minimum: 0, maximum: MAX_VALUE })),
    labels: Type.Optional(
      mapOf(
        '^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$',
        Type.String({ pattern: LABEL_PATTERN, ...name }),
        MAX_LABELS,
      ),
    ),
  },
  { additionalProperties: false },
)
export type MetricEvent = Static<typeof MetricEvent>
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
