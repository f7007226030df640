import * as Type from 'typebox'
import {
  boolean,
  closed,
  integer,
  objects,
  partial,
  text,
  textOrNull,
  texts,
} from '../../../kernel/fields.ts'
import { STATUSES } from '../../../kernel/server-state.ts'
import { Tool } from '../../../kernel/tool-fields.ts'
import { component, listOf, orNull } from '../../../kernel/wire.ts'
import {
  describedFields,
  lastErrorSchema,
  MAX_SERVERS,
  ServerId,
  ServerName,
  Tag,
} from '../../shared/server-fields.ts'
import { isolationInput, isolationView } from '../isolation.ts'
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

export const TrialInput = closed({ ...ServerInput.properties, name: Type.Optional(ServerName) })
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
  error: lastErrorSchema('missing_setting'),
  stderr_tail: texts('The last lines on stderr'),
})
export type TrialReport = Type.Static<typeof TrialReport>
component({ TrialReport }, 'The tools of the definition, or why it did not start')

const MAX_CALLS = 10
export const MAX_LOST_FILES = 50

export const IsolationTrialInput = partial({
  ...isolationInput,
  calls: Type.Array(
    closed({
      tool: Type.String({ pattern: '^[^\\u0000-\\u001f]{1,200}$', examples: ['read_file'] }),
      arguments: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    }),
    { maxItems: MAX_CALLS, description: 'Tools to call, in this order. They really run' },
  ),
})
export type IsolationTrialInput = Type.Static<typeof IsolationTrialInput>
component({ WallsTrialInput: IsolationTrialInput }, 'Isolation to try out with a server', {
  examples: [{ isolation: 'sandbox', isolation_options: { write: ['~/notes'] } }],
})

export const IsolationTrialReport = Type.Object({
  ...TrialReport.properties,
  isolation: isolationView.isolation,
  calls: objects('One for each call that was made', {
    tool: Type.String({ examples: ['read_file'] }),
    ok: boolean('It returned a result without `isError`'),
    text: text('The beginning of the text of the result, or the error'),
  }),
  refused: objects(
    'What the isolation kept from it. What it did not try is not seen, which does not mean that it is not needed',
    {
      kind: Type.Enum(['read', 'write', 'network']),
      path: textOrNull('Null for the network', { examples: ['/home/anna/notes'] }),
      evidence: text('The line that says so, or one of the lost files'),
      seen_in: Type.Enum(['errors', 'lost_files'], {
        description:
          '`errors`: the isolation refused it, according to its own errors. `lost_files`: it wrote there, but in memory only',
      }),
    },
  ),
  lost_files: Type.Array(Type.String({ examples: ['~/projects/site/index.html'] }), {
    maxItems: MAX_LOST_FILES,
    description:
      'Files that it wrote into its empty home. They are in memory only, and are lost when it ends. Those outside of hidden folders of the home come first. In a sandbox on Linux; empty elsewhere. Control characters in names are shown as `?`',
  }),
  lost_file_count: integer('How many such files were found. The search ends after 10000 names or 1.5 s'),
  suggested_options: isolationView.isolation_options,
})
export type IsolationTrialReport = Type.Static<typeof IsolationTrialReport>
component(
  { WallsTrialReport: IsolationTrialReport },
  'How the server ran in isolation, and what was kept from it',
)

export const Runtime = Type.Object({
  command: text('As servers name it. Secrets are masked', { examples: ['uvx'] }),
  path: textOrNull('The program that a start runs', { examples: ['/home/me/.local/bin/uvx'] }),
  version: textOrNull('Only of the Node.js that runs Toolroom', { examples: ['20.20.2'] }),
  problem: lastErrorSchema('command_not_found'),
  shell_path: textOrNull(
    'Where your login shell finds it, if only a shell does: a Toolroom that a desktop or a service manager starts has another PATH',
    { examples: ['/home/me/tools/uvx'] },
  ),
  needed_by: Type.Array(ServerId, { description: 'The STDIO servers that run it' }),
})
export type Runtime = Type.Static<typeof Runtime>
component({ Runtime }, 'A program that STDIO servers need')
export const RuntimeList = listOf(Runtime)
