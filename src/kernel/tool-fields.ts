/** What tools and their calls look like on the wire, whatever the kind of server. */

import type { Static } from 'typebox'
import * as Type from 'typebox'
import { orNull, Timestamp } from './wire.ts'

const anything = Type.Object({}, { additionalProperties: true })

/** What is another in one field of one tool. */
const ToolDiff = Type.Object({
  tool: Type.String({ examples: ['create_issue'] }),
  field: Type.String({ description: 'JSON pointer', examples: ['/description'] }),
  words: Type.Array(Type.Object({ op: Type.Enum(['same', 'added', 'removed']), text: Type.String() }), {
    description: 'What cannot be seen is written as `\\u{200B}`, what is left out is an ellipsis',
  }),
})
export type ToolDiff = Static<typeof ToolDiff>

const HeldChange = Type.Object({
  since: Timestamp,
  diffs: Type.Array(ToolDiff, { description: 'From what was approved to what is offered now' }),
})
export type HeldChange = Static<typeof HeldChange>

export const Tool = Type.Object({
  name: Type.String({ examples: ['create_issue'] }),
  title: orNull(Type.String()),
  description: orNull(Type.String()),
  input_schema: anything,
  output_schema: orNull(anything),
  annotations: orNull(anything),
  enabled: Type.Boolean({ description: 'As `tools` of the server says' }),
  gateway_name: orNull(
    Type.String({
      description:
        'Its name at `/mcp`: `<server>__<alias or tool>`. Null when it is not offered there: it is disabled, its server is not exposed or disabled, it could be taken for another tool, or its schema asks for a header that cannot be',
      examples: ['github__create_issue'],
    }),
  ),
  tokens: Type.Integer({ description: 'About what it takes of an agent’s context: characters / 4' }),
  hash: Type.String({ description: 'SHA-256 of the whole definition; another one is another tool' }),
  state: Type.Enum(['ok', 'held'], {
    description: '`held`: it has changed, and agents do not see it until it is approved',
  }),
  change: orNull(HeldChange),
})
export type Tool = Static<typeof Tool>

export const ToolList = Type.Object({
  items: Type.Array(Tool),
  total: Type.Integer(),
  next_cursor: Type.Null(),
  source: Type.Enum(['live', 'cache'], { description: '`cache`: as it was when the server last ran' }),
  fetched_at: Timestamp,
  truncated: Type.Boolean({ description: 'The server offers more than Toolroom takes' }),
  duplicates: Type.Integer({ description: 'Tools left out because an earlier one has their name' }),
})
export type ToolList = Static<typeof ToolList>

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

/** The result as the server sent it, to the last byte. */
export const CallResult = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'The MCP result as the server sent it, also when it says `isError`',
    examples: [{ content: [{ type: 'text', text: 'done' }] }],
  },
)
