import * as Type from 'typebox'
import { component, ID_PATTERN, listOf, mapOf, Timestamp } from '../../kernel/rest-parts.ts'
import { closed, flag, partial, text, texts } from '../../kernel/schema-fields.ts'
import { MAX_SERVERS } from '../../servers/shared/server-fields.ts'
import { AgentToolsView, ServerIds, ToolNames } from '../catalogue/visibility.schema.ts'

/** No pattern: an unknown name is `not_found`. */
export const PresetKey = Type.Object({ name: Type.String({ examples: ['work'] }) })

/** A whole preset: omitted fields get their default. */
export const PresetInput = partial({ servers: ServerIds, tools: mapOf(ID_PATTERN, ToolNames, MAX_SERVERS) })
component({ PresetInput }, 'The whole preset. Omitted fields mean all servers, and all tools of each', {
  minProperties: 1,
  examples: [{ servers: ['github'], tools: { github: ['create_issue', 'search_issues'] } }],
})
export type PresetInput = Type.Static<typeof PresetInput>

export const PresetView = Type.Object({
  name: Type.String({ examples: ['work'] }),
  servers: ServerIds,
  tools: AgentToolsView.properties.tools,
  updated_at: Timestamp,
})
component({ Preset: PresetView }, 'A named choice of servers and tools')
export type PresetView = Type.Static<typeof PresetView>

export const PresetList = listOf(PresetView)

export const ApplyInput = closed({
  preset: text('The name of a preset', {
    pattern: ID_PATTERN,
    expected: 'the name of a preset',
    examples: ['work'],
  }),
  dry_run: flag('Report what the agent would see without changing anything'),
})
component({ ApplyInput }, 'The preset to apply', { examples: [{ preset: 'work', dry_run: true }] })
export type ApplyInput = Type.Static<typeof ApplyInput>

export const ApplyReport = Type.Object({
  preset: Type.String({ examples: ['work'] }),
  dry_run: Type.Boolean(),
  changed: Type.Boolean(),
  warnings: Type.Array(Type.String()),
  before: Type.Object(
    {
      servers: AgentToolsView.properties.servers,
      visible: AgentToolsView.properties.visible,
      by_server: AgentToolsView.properties.by_server,
    },
    { description: 'What the agent saw before' },
  ),
  gained: texts('Servers that it sees, and did not see before', { examples: [['slack']] }),
  lost: texts('Servers that it saw before'),
  more_tools: texts('Servers of which it sees more tools than before'),
  ...AgentToolsView.properties,
})
component({ AppliedPreset: ApplyReport }, 'Which tools the agent sees now, or would see')
export type ApplyReport = Type.Static<typeof ApplyReport>

/** A preset as it is stored. */
export interface Preset {
  readonly servers: readonly string[] | null
  readonly tools: Readonly<Record<string, readonly string[]>>
  readonly updated_at: number
}
