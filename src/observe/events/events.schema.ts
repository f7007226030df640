import * as Type from 'typebox'
import { component, listOf, orNull, pageQuery, Timestamp } from '../../kernel/rest-parts.ts'
import { partial, text } from '../../kernel/schema-fields.ts'
import { LogFilters } from '../logs/logs.schema.ts'

/** In the order of events of the same millisecond: a status follows from a change, and a notice from a status. */
export const KINDS = ['audit', 'server_status', 'notice'] as const
export type Kind = (typeof KINDS)[number]

const { server_id, since, until } = LogFilters.properties
export const EventQuery = partial({
  kind: Type.Array(Type.Enum(KINDS), { maxItems: KINDS.length, description: 'May be repeated' }),
  server_id,
  since,
  until,
  ...pageQuery('^\\d{1,15}-[0-2]-\\d{1,15}$'),
})
export type EventQuery = Type.Static<typeof EventQuery>

export const EventView = Type.Object({
  id: text('Unique', { examples: ['audit-17'] }),
  ts: Timestamp,
  kind: Type.Enum(KINDS, {
    description: '`audit`: a change of the configuration. The others are as on the live stream',
  }),
  server_id: orNull(Type.String({ examples: ['postgres'] })),
  agent_type: orNull(Type.String()),
  text: text('One sentence', { examples: ['The server postgres was added'] }),
  data: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description:
      'Of an audit row: `action`, `subject`, `request_id` and `detail`, secrets masked. Of a status: `status` and `cause`. Of a notice: the notice',
  }),
})
export type EventView = Type.Static<typeof EventView>
component({ Event: EventView }, 'Something that happened')
export const EventList = listOf(EventView)
