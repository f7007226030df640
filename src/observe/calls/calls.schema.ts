import * as Type from 'typebox'
import { component, ID_PATTERN, listOf, orNull, pageQuery, Timestamp } from '../../kernel/rest-parts.ts'
import { anyObject, integer, partial, text, textOrNull } from '../../kernel/schema-fields.ts'
import { LABEL, LogFilters } from '../logs/logs.schema.ts'

const { server_id, since, until } = LogFilters.properties
const STATUSES = ['ok', 'error', 'timeout', 'cancelled'] as const

export const CallQuery = partial({
  server_id,
  tool: text("The server's own name of the tool", { pattern: LABEL }),
  agent_type: Type.String({ pattern: ID_PATTERN }),
  session_id: Type.String({ pattern: LABEL }),
  status: Type.Array(Type.Enum(STATUSES), { maxItems: STATUSES.length, description: 'May be repeated' }),
  min_ms: integer('Only calls that took at least this long', { minimum: 0, maximum: 86_400_000 }),
  since,
  until,
  search: text(
    'Text in the tool, the error code or the error message, ignoring case. It needs the token, because it can find out what an error message says',
    { minLength: 1, maxLength: 256 },
  ),
  ...pageQuery(),
})
export type CallQuery = Type.Static<typeof CallQuery>

const duration = (description: string) => Type.Number({ minimum: 0, description, examples: [12.5] })

const fields = {
  id: integer('`call_id` of the live stream', { examples: [1794805403123] }),
  started_at: Timestamp,
  duration_ms: orNull(duration('From the request to the response: the sum of the next three')),
  queue_ms: duration('In Toolroom'),
  start_ms: duration('Waiting for the server to start, or for its connection'),
  server_ms: duration('In the server. 0 when the call did not reach it'),
  server_id: textOrNull('Null when the call reached no server, and it is not known which one was meant', {
    examples: ['github'],
  }),
  tool: text("The server's own name of the tool", { examples: ['create_issue'] }),
  agent_type: textOrNull('Null for a call over the API', { examples: ['cursor'] }),
  session_id: textOrNull('Only agents of the legacy era have sessions'),
  request_id: textOrNull('The same as in the log'),
  status: Type.Enum(STATUSES),
  error_code: orNull(Type.String({ examples: ['tool_error'] })),
  request_bytes: integer('Of the arguments', { minimum: 0 }),
  response_bytes: integer('Of the result', { minimum: 0 }),
}
const errorMessage = textOrNull('What went wrong. Shown only with the token', {
  examples: ['File not found'],
})

export const Call = Type.Object({ ...fields, error_message: Type.Optional(errorMessage) })
export type Call = Type.Static<typeof Call>
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

export const CallKey = Type.Object({ id: text('The id of a call', { examples: ['1794805403123'] }) })

const ReplayFields = partial({
  arguments: anyObject({ description: 'In place of those of the call', examples: [{ title: 'It works' }] }),
})
component({ ReplayInput: ReplayFields }, 'The arguments of the replay')
export const ReplayInput = Type.Union([ReplayFields, Type.Null()], { examples: [{}] })
