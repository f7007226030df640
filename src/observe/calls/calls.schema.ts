import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, ID_PATTERN, listOf, orNull, pageQuery, Timestamp } from '../../kernel/wire.ts'
import { Instant } from '../time-range.ts'

const LABEL = '^[^\\u0000-\\u001f\\u007f]{1,256}$'
const STATUSES = ['ok', 'error', 'timeout', 'cancelled'] as const

export const CallQuery = Type.Object(
  {
    server_id: Type.Optional(
      Type.Array(Type.String({ pattern: ID_PATTERN }), { maxItems: 50, description: 'May be repeated' }),
    ),
    tool: Type.Optional(Type.String({ pattern: LABEL, description: "The server's own name of the tool" })),
    agent_type: Type.Optional(Type.String({ pattern: ID_PATTERN })),
    session_id: Type.Optional(Type.String({ pattern: LABEL })),
    status: Type.Optional(
      Type.Array(Type.Enum(STATUSES), { maxItems: STATUSES.length, description: 'May be repeated' }),
    ),
    min_ms: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 86_400_000,
        description: 'Only calls that took at least this long',
      }),
    ),
    since: Type.Optional(Instant),
    until: Type.Optional(Instant),
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 256,
        description:
          'Text in the tool, the error code or the error message, ignoring case. It needs the token, because it can find out what an error message says',
      }),
    ),
    ...pageQuery(),
  },
  { additionalProperties: false },
)
export type CallQuery = Static<typeof CallQuery>

const duration = (description: string) => Type.Number({ minimum: 0, description, examples: [12.5] })

const fields = {
  id: Type.Integer({ description: '`call_id` of the live stream', examples: [1794805403123] }),
  started_at: Timestamp,
  duration_ms: duration('From the request to the response: the sum of the next three'),
  queue_ms: duration('In Toolroom'),
  start_ms: duration('Waiting for the server to start, or for its connection'),
  server_ms: duration('In the server. 0 when the call did not reach it'),
  server_id: orNull(
    Type.String({
      description: 'Null when the call reached no server, and it is not known which one was meant',
      examples: ['github'],
    }),
  ),
  tool: Type.String({ description: "The server's own name of the tool", examples: ['create_issue'] }),
  agent_type: orNull(Type.String({ description: 'Null for a call over the API', examples: ['cursor'] })),
  session_id: orNull(Type.String({ description: 'Only agents of the legacy era have sessions' })),
  request_id: orNull(Type.String({ description: 'The same as in the log' })),
  status: Type.Enum(STATUSES),
  error_code: orNull(Type.String({ examples: ['tool_error'] })),
  request_bytes: Type.Integer({ minimum: 0, description: 'Of the arguments' }),
  response_bytes: Type.Integer({ minimum: 0, description: 'Of the result' }),
}
const errorMessage = orNull(
  Type.String({ description: 'What went wrong. Shown only with the token', examples: ['File not found'] }),
)

export const Call = Type.Object({ ...fields, error_message: Type.Optional(errorMessage) })
export type Call = Static<typeof Call>
component({ Call }, 'A call of a tool, without its arguments and its result')
export const CallList = listOf(Call)

const PAYLOAD_STATES = ['kept', 'cut', 'not_kept'] as const

export const CallDetail = Type.Object({
  ...fields,
  error_message: errorMessage,
  arguments: Type.Unknown({
    description:
      'As they were sent, with secrets masked as `***`; null when there were none or they are not kept. If they are cut, the beginning of their JSON as a text',
    examples: [{ title: 'It works' }],
  }),
  result: Type.Unknown({
    description: 'The MCP result, likewise',
    examples: [{ content: [{ type: 'text', text: 'done' }] }],
  }),
  payload_state: Type.Enum(PAYLOAD_STATES, {
    description:
      '`cut`: larger than 64 KiB. `not_kept`: the setting CALL_PAYLOADS is `off`, or newer calls have taken its place',
  }),
})
component({ CallDetail }, 'A call of a tool, with its arguments and its result')

export const CallKey = Type.Object({
  id: Type.String({ description: 'The id of a call', examples: ['1794805403123'] }),
})

const ReplayFields = Type.Object(
  {
    arguments: Type.Optional(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: 'In place of those of the call',
          examples: [{ title: 'It works' }],
        },
      ),
    ),
  },
  { additionalProperties: false },
)
component({ ReplayInput: ReplayFields }, 'The arguments of the replay')
export const ReplayInput = Type.Union([ReplayFields, Type.Null()], { examples: [{}] })
