import type { Static } from 'typebox'
import * as Type from 'typebox'
import { STATUSES } from '../../kernel/server-state.ts'
import { Tool } from '../../kernel/tool-fields.ts'
import { component, orNull } from '../../kernel/wire.ts'
import {
  describedFields,
  lastErrorSchema,
  MAX_SERVERS,
  ServerName,
  Tag,
} from '../../upstreams/server-fields.ts'
import { ServerInput } from '../servers.schema.ts'

const Action = Type.Enum(['start', 'stop', 'restart', 'delete'])

export const BulkInput = Type.Object(
  {
    action: Action,
    ids: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        minItems: 1,
        maxItems: MAX_SERVERS,
        uniqueItems: true,
        description: 'Ids or exact names',
      }),
    ),
    tag: Type.Optional(Tag),
  },
  {
    additionalProperties: false,
    description: 'Either `ids` or `tag`',
    examples: [{ action: 'restart', tag: 'work' }],
  },
)
export type BulkInput = Static<typeof BulkInput>
component({ BulkInput }, 'An action for several STDIO servers')

export const BulkReport = Type.Object({
  action: Action,
  items: Type.Array(
    Type.Object({
      id: Type.String({ examples: ['github'] }),
      ok: Type.Boolean(),
      status: orNull(Type.Enum(STATUSES, { description: 'Null when the server does not exist any more' })),
      error: lastErrorSchema('server_start_failed'),
    }),
    { description: 'One for each server, in the order of `ids`' },
  ),
  total: Type.Integer(),
  failed: Type.Integer({ description: 'How many items are not `ok`' }),
})
export type BulkReport = Static<typeof BulkReport>
component({ BulkReport }, 'The outcome for each server')

export const TrialInput = Type.Object(
  { ...ServerInput.properties, name: Type.Optional(ServerName) },
  {
    additionalProperties: false,
    description: 'A definition as for adding it. The name may be omitted',
    examples: [{ command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'] }],
  },
)
export type TrialInput = Static<typeof TrialInput>
component({ TrialInput }, 'A definition to try out')

export const TrialReport = Type.Object({
  ok: Type.Boolean({ description: 'It started, completed the handshake and listed its tools' }),
  duration_ms: Type.Integer(),
  ...describedFields,
  tools: Type.Array(Tool),
  tool_count: orNull(Type.Integer()),
  error: lastErrorSchema('missing_setting'),
  stderr_tail: Type.Array(Type.String(), { description: 'The last lines on stderr, when it failed' }),
})
export type TrialReport = Static<typeof TrialReport>
component({ TrialReport }, 'The tools of the definition, or why it did not start')
