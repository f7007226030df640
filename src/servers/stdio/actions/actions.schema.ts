import * as Type from 'typebox'
import { component, listOf, orNull } from '../../../kernel/rest-parts.ts'
import { boolean, closed, integer, objects, text, textOrNull, texts } from '../../../kernel/schema-fields.ts'
import { STATUSES } from '../../../kernel/server-state.ts'
import { Tool } from '../../../kernel/tool-fields.ts'
import {
  describedFields,
  lastErrorSchema,
  MAX_SERVERS,
  problemSchema,
  ServerId,
  ServerName,
  Tag,
} from '../../shared/server-fields.ts'
import { ServerInput } from '../servers.schema.ts'

const Action = Type.Enum(['start', 'stop', 'restart', 'delete'])

export const BulkInput = closed({
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
})
export type BulkInput = Type.Static<typeof BulkInput>
component({ BulkInput }, 'An action for several STDIO servers', {
  examples: [{ action: 'restart', tag: 'work' }],
})

export const BulkReport = Type.Object({
  action: Action,
  items: objects('One for each server, in the order of `ids`', {
    id: Type.String({ examples: ['github'] }),
    ok: Type.Boolean(),
    status: orNull(Type.Enum(STATUSES, { description: 'Null when the server does not exist any more' })),
    error: lastErrorSchema('server_start_failed'),
  }),
  total: Type.Integer(),
  failed: integer('How many items are not `ok`'),
})
export type BulkReport = Type.Static<typeof BulkReport>
component({ BulkReport }, 'The outcome for each server')

const { agents: _, ...definition } = ServerInput.properties
export const TrialInput = closed({ ...definition, name: Type.Optional(ServerName) })
export type TrialInput = Type.Static<typeof TrialInput>
component({ TrialInput }, 'A definition to try out', {
  examples: [{ command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'] }],
})

export const TrialReport = Type.Object({
  ok: boolean('It started, completed the handshake and listed its tools'),
  duration_ms: Type.Integer(),
  ...describedFields,
  tools: Type.Array(Tool),
  tool_count: orNull(Type.Integer()),
  error: problemSchema('missing_setting'),
  stderr_tail: texts('The last lines on stderr'),
})
export type TrialReport = Type.Static<typeof TrialReport>
component({ TrialReport }, 'The tools of the definition, or why it did not start')

export const Runtime = Type.Object({
  command: text('As servers name it. Secrets are masked', { examples: ['uvx'] }),
  path: textOrNull('The program that a start runs', { examples: ['/home/me/.local/bin/uvx'] }),
  version: textOrNull('Only of the Node.js that runs Toolroom', { examples: ['20.20.2'] }),
  problem: problemSchema('command_not_found'),
  shell_path: textOrNull(
    'Where your login shell finds it, if only a shell does: a Toolroom that a desktop or a service manager starts has another PATH',
    { examples: ['/home/me/tools/uvx'] },
  ),
  needed_by: Type.Array(ServerId, { description: 'The STDIO servers that run it' }),
})
export type Runtime = Type.Static<typeof Runtime>
component({ Runtime }, 'A program that STDIO servers need')
export const RuntimeList = listOf(Runtime)
