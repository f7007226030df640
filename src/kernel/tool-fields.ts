/** Tools and tool calls in the API, for both kinds of server. */

import * as Type from 'typebox'
import { component, orNull, Timestamp } from './rest-parts.ts'
import { anyObject, boolean, integer, objects, partial, text, textOrNull } from './schema-fields.ts'

const anything = anyObject()

/** What has changed in one field of one tool, of one prompt, or of the instructions. */
const ToolDiff = Type.Object({
  tool: text('The name of the tool or prompt', { examples: ['create_issue'] }),
  field: text('JSON pointer', { examples: ['/description'] }),
  words: objects('Invisible characters are written as `\\u{200B}`. An ellipsis marks text that is left out', {
    op: Type.Enum(['same', 'added', 'removed']),
    text: Type.String(),
  }),
})
export type ToolDiff = Type.Static<typeof ToolDiff>
component({ ToolDiff }, 'What has changed in one field of a tool, of a prompt, or of the instructions')

export const HeldChange = Type.Object({
  since: Timestamp,
  diffs: Type.Array(ToolDiff, {
    description:
      'From the approved definition to the current one. Without an approved one, everything is added',
  }),
})
export type HeldChange = Type.Static<typeof HeldChange>

export const Tool = Type.Object({
  name: Type.String({ examples: ['create_issue'] }),
  title: orNull(Type.String()),
  description: orNull(Type.String()),
  input_schema: anything,
  output_schema: orNull(anything),
  annotations: orNull(anything),
  enabled: boolean("Set by the server's `tools`"),
  gateway_name: textOrNull(
    'The name at `/mcp`: `<server>__<alias or tool>`. Null if the tool is not offered there: it is disabled, its server is disabled or not exposed, its name could be mistaken for another tool, or its schema asks for an invalid header',
    { examples: ['github__create_issue'] },
  ),
  app_uri: textOrNull('The `ui://` page that hosts show beside its results (MCP Apps)', {
    examples: ['ui://github/issue.html'],
  }),
  tokens: integer('Estimated tokens in an agent’s context: characters / 4'),
  hash: text('SHA-256 of the definition. It changes whenever the tool changes'),
  state: Type.Enum(['ok', 'held'], {
    description: '`held`: the tool is new or has changed, and agents do not see it until it is approved',
  }),
  change: orNull(HeldChange),
})
export type Tool = Type.Static<typeof Tool>
component({ Tool }, 'A tool, and what agents see of it')

export const ToolList = Type.Object({
  items: Type.Array(Tool),
  total: Type.Integer(),
  next_cursor: Type.Null(),
  source: Type.Enum(['live', 'cache'], { description: '`cache`: from the last time the server ran' }),
  fetched_at: Timestamp,
  truncated: boolean('The server offers more tools than Toolroom lists'),
  duplicates: integer('Number of tools left out because an earlier one has the same name'),
})
export type ToolList = Type.Static<typeof ToolList>
component({ ToolList }, 'The tools of a server')

export const ToolKey = Type.Object({
  id: text('The id, or the exact name', { examples: ['github'] }),
  tool: Type.String({ examples: ['create_issue'] }),
})

export const CallInput = partial({
  arguments: anyObject({ examples: [{ title: 'It works' }] }),
  timeout_s: integer('Instead of `timeouts.request_s`', { minimum: 1, maximum: 3600 }),
})
export type CallInput = Type.Static<typeof CallInput>
component({ CallInput }, 'The arguments of a call')

/** The result, byte for byte as the server sent it. */
export const CallResult = anyObject({ examples: [{ content: [{ type: 'text', text: 'done' }] }] })
component({ CallResult }, 'The MCP result as the server sent it, including one with `isError`')
