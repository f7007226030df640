/** Tools and tool calls in the API, for both kinds of server. */

import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, orNull, Timestamp } from './wire.ts'

const anything = Type.Object({}, { additionalProperties: true })

/** What has changed in one field of one tool, of one prompt, or of the instructions. */
const ToolDiff = Type.Object({
  tool: Type.String({ description: 'The name of the tool or prompt', examples: ['create_issue'] }),
  field: Type.String({ description: 'JSON pointer', examples: ['/description'] }),
  words: Type.Array(Type.Object({ op: Type.Enum(['same', 'added', 'removed']), text: Type.String() }), {
    description: 'Invisible characters are written as `\\u{200B}`. An ellipsis marks text that is left out',
  }),
})
export type ToolDiff = Static<typeof ToolDiff>
component({ ToolDiff }, 'What has changed in one field of a tool, of a prompt, or of the instructions')

export const HeldChange = Type.Object({
  since: Timestamp,
  diffs: Type.Array(ToolDiff, {
    description:
      'From the approved definition to the current one. Without an approved one, everything is added',
  }),
})
export type HeldChange = Static<typeof HeldChange>

export const Tool = Type.Object({
  name: Type.String({ examples: ['create_issue'] }),
  title: orNull(Type.String()),
  description: orNull(Type.String()),
  input_schema: anything,
  output_schema: orNull(anything),
  annotations: orNull(anything),
  enabled: Type.Boolean({ description: "Set by the server's `tools`" }),
  gateway_name: orNull(
    Type.String({
      description:
        'The name at `/mcp`: `<server>__<alias or tool>`. Null if the tool is not offered there: it is disabled, its server is disabled or not exposed, its name could be mistaken for another tool, or its schema asks for an invalid header',
      examples: ['github__create_issue'],
    }),
  ),
  app_uri: orNull(
    Type.String({
      description: 'The `ui://` page that hosts show beside its results (MCP Apps)',
      examples: ['ui://github/issue.html'],
    }),
  ),
  tokens: Type.Integer({ description: 'Estimated tokens in an agent’s context: characters / 4' }),
  hash: Type.String({ description: 'SHA-256 of the definition. It changes whenever the tool changes' }),
  state: Type.Enum(['ok', 'held'], {
    description: '`held`: the tool is new or has changed, and agents do not see it until it is approved',
  }),
  change: orNull(HeldChange),
})
export type Tool = Static<typeof Tool>
component({ Tool }, 'A tool, and what agents see of it')

export const ToolList = Type.Object({
  items: Type.Array(Tool),
  total: Type.Integer(),
  next_cursor: Type.Null(),
  source: Type.Enum(['live', 'cache'], { description: '`cache`: from the last time the server ran' }),
  fetched_at: Timestamp,
  truncated: Type.Boolean({ description: 'The server offers more tools than Toolroom lists' }),
  duplicates: Type.Integer({
    description: 'Number of tools left out because an earlier one has the same name',
  }),
})
export type ToolList = Static<typeof ToolList>
component({ ToolList }, 'The tools of a server')

export const ToolKey = Type.Object({
  id: Type.String({ description: 'The id, or the exact name', examples: ['github'] }),
  tool: Type.String({ examples: ['create_issue'] }),
})

export const CallInput = Type.Object(
  {
    arguments: Type.Optional(
      Type.Object({}, { additionalProperties: true, examples: [{ title: 'It works' }] }),
    ),
    timeout_s: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 3600, description: 'Instead of `timeouts.request_s`' }),
    ),
  },
  { additionalProperties: false },
)
export type CallInput = Static<typeof CallInput>
component({ CallInput }, 'The arguments of a call')

/** The result, byte for byte as the server sent it. */
export const CallResult = Type.Object(
  {},
  {
    additionalProperties: true,
    examples: [{ content: [{ type: 'text', text: 'done' }] }],
  },
)
component({ CallResult }, 'The MCP result as the server sent it, including one with `isError`')
