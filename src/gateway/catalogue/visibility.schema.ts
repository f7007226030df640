import * as Type from 'typebox'
import { component, ID_PATTERN, mapOf, orNull } from '../../kernel/rest-parts.ts'
import { integer, objects, partial, text } from '../../kernel/schema-fields.ts'
import { MAX_SERVERS, ServerId } from '../../servers/shared/server-fields.ts'
import { MAX_TOOLS, TOOL_NAME_PATTERN } from '../../servers/shared/tool-settings.ts'

const ToolMode = Type.Enum(['full', 'search'], {
  description:
    '`full`: the agent gets all its tools. `search`: it gets two, `find_tools` and `call_tool`, and finds the others with them.',
  examples: ['full'],
})
export const ServerIds = orNull(
  Type.Array(ServerId, {
    maxItems: MAX_SERVERS,
    uniqueItems: true,
    description: 'Only these servers. Null: all exposed servers, including those added later',
    examples: [['github']],
  }),
)
export const ToolNames = orNull(
  Type.Array(Type.String({ pattern: TOOL_NAME_PATTERN, expected: 'the name of a tool' }), {
    maxItems: MAX_TOOLS,
    uniqueItems: true,
  }),
)

/** Omitted fields keep their value. `tools` replaces the stored map. */
export const AgentToolsInput = partial({
  tool_mode: ToolMode,
  servers: ServerIds,
  tools: mapOf(ID_PATTERN, ToolNames, MAX_SERVERS),
})
export type AgentToolsInput = Type.Static<typeof AgentToolsInput>
component({ AgentToolsInput }, 'Which tools the agent sees', {
  minProperties: 1,
  examples: [{ servers: ['github'], tools: { github: ['create_issue', 'search_issues'] } }],
})

const Tokens = integer('Estimated: characters / 4', { minimum: 0, examples: [180] })
const Count = Type.Integer({ minimum: 0, examples: [2] })

export const AgentToolsView = Type.Object({
  agent_type: Type.String({ examples: ['claude-code'] }),
  tool_mode: ToolMode,
  servers: ServerIds,
  tools: Type.Unsafe<Record<string, string[]>>({
    type: 'object',
    additionalProperties: { type: 'array', items: { type: 'string' } },
    description: 'By server: only these tools, by the names that the server uses. Omitted: all tools',
    examples: [{ github: ['create_issue'] }],
  }),
  visible: Type.Object(
    { servers: Count, tools: Count, tokens: Tokens },
    {
      description:
        'What the agent can use now. `tokens`: what its tool list takes in its context in this tool mode',
    },
  ),
  tokens_full: integer('What the tool list would take in the mode `full`', { minimum: 0, examples: [180] }),
  by_server: objects({ server_id: ServerId, tools: Count, tokens: Tokens }),
})
export type AgentToolsView = Type.Static<typeof AgentToolsView>
component({ AgentTools: AgentToolsView }, 'Which tools the agent sees, and what they cost')

export const AgentKey = Type.Object({
  agent_type: text('An agent type, an alias of one, or the agent type of a gateway key', {
    examples: ['claude-code'],
  }),
})

/** Which tools an agent sees, as it is stored. A record is replaced as a whole, never modified. */
export interface AgentTools {
  readonly tool_mode: 'full' | 'search'
  readonly servers: readonly string[] | null
  readonly tools: Readonly<Record<string, readonly string[]>>
}

export const DEFAULT_AGENT_TOOLS: AgentTools = { tool_mode: 'full', servers: null, tools: {} }
