import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, ID_PATTERN, listOf, orNull, pageQuery, Timestamp } from '../../kernel/wire.ts'
import { Instant } from '../time-range.ts'

/** In the order of events of the same millisecond: a status follows from a change, and a notice from a status. */
export const KINDS = ['audit', 'server_status', 'notice'] as const
export type Kind = (typeof KINDS)[number]

export const EventQuery = Type.Object(
  {
    kind: Type.Optional(
      Type.Array(Type.Enum(KINDS), { maxItems: KINDS.length, description: 'May be repeated' }),
    ),
    server_id: Type.Optional(
      Type.Array(Type.String({ pattern: ID_PATTERN }), { maxItems: 50, description: 'May be repeated' }),
    ),
    since: Type.Optional(Instant),
    until: Type.Optional(Instant),
    ...pageQuery('^\\d{1,15}-[0-2]-\\d{1,15}$'),
  },
  { additionalProperties: false },
)
export type EventQuery = Static<typeof EventQuery>

export const EventView = Type.Object({
  id: Type.String({ description: 'Unique', examples: ['audit-17'] }),
  ts: Timestamp,
  kind: Type.Enum(KINDS, {
    description: '`audit`: a change of the configuration. The others are as on the live stream',
  }),
  server_id: orNull(Type.String({ examples: ['postgres'] })),
  agent_type: orNull(Type.String()),
  text: Type.String({ description: 'One sentence', examples: ['The server postgres was added'] }),
  data: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description:
      'Of an audit row: `action`, `subject`, `request_id` and `detail`, secrets masked. Of a status: `status` and `cause`. Of a notice: the notice',
  }),
})
export type EventView = Static<typeof EventView>
component({ Event: EventView }, 'Something that happened')
export const EventList = listOf(EventView)
