import type { Static } from 'typebox'
import * as Type from 'typebox'
import { ID_PATTERN, mapOf, orNull } from '../../kernel/wire.ts'
import { MAX_SERVERS, MAX_TOOLS, ServerId, TOOL_NAME_PATTERN } from '../../upstreams/server-fields.ts'

const ToolMode = Type.Enum(['full', 'search'], {
  description:
    '`full`: the agent is given every tool. `search`: it is given two, `find_tools` and `call_tool`, and finds the others when it needs them.',
  examples: ['full'],
})
const ServerIds = orNull(
  Type.Array(ServerId, {
    maxItems: MAX_SERVERS,
    uniqueItems: true,
    description: 'Only these servers; null: all that are exposed, also those that come later',
    examples: [['github']],
  }),
)
const ToolNames = orNull(
  Type.Array(Type.String({ pattern: TOOL_NAME_PATTERN, expected: 'the name of a tool' }), {
    maxItems: MAX_TOOLS,
    uniqueItems: true,
  }),
)
const about = {
  description: 'By server: only these tools, by their own names; null or not named: all',
  examples: [{ github: ['create_issue'] }],
}

/** What is given changes; a map that is sent takes the place of the one that is stored. */
export const AgentToolsInput = Type.Object(
  {
    tool_mode: Type.Optional(ToolMode),
    servers: Type.Optional(ServerIds),
    tools: Type.Optional(mapOf(ID_PATTERN, ToolNames, MAX_SERVERS)),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    examples: [{ servers: ['github'], tools: { github: ['create_issue', 'search_issues'] } }],
  },
)
export type AgentToolsInput = Static<typeof AgentToolsInput>

const Tokens = Type.Integer({ minimum: 0, description: 'About: characters / 4', examples: [180] })
const Count = Type.Integer({ minimum: 0, examples: [2] })

export const AgentToolsView = Type.Object({
  agent_type: Type.String({ examples: ['claude-code'] }),
  tool_mode: ToolMode,
  servers: ServerIds,
  tools: Type.Unsafe<Record<string, string[]>>({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    ...about,
  }),
  visible: Type.Object(
    { servers: Count, tools: Count, tokens: Tokens },
    { description: 'What it can use now, and what its list of tools takes of its context in its mode' },
  ),
  tokens_full: Type.Integer({
    minimum: 0,
    description: 'What the list would take in the mode `full`',
    examples: [180],
  }),
  by_server: Type.Array(Type.Object({ server_id: ServerId, tools: Count, tokens: Tokens })),
})
export type AgentToolsView = Static<typeof AgentToolsView>

export const AgentKey = Type.Object({
  agent_type: Type.String({
    description: 'The type of an agent, one of its aliases, or the word that a key was made for',
    examples: ['claude-code'],
  }),
})

/** As it is stored. A record is never changed, only replaced. */
export interface AgentTools {
  readonly tool_mode: 'full' | 'search'
  readonly servers: readonly string[] | null
  readonly tools: Readonly<Record<string, readonly string[]>>
}

export const EVERYTHING: AgentTools = { tool_mode: 'full', servers: null, tools: {} }
