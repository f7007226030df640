import { memo } from '../../kernel/memo.ts'
import { isoTime } from '../../kernel/time.ts'
import type { HeldChange, Tool, ToolList } from '../../kernel/tool-fields.ts'
import type { Definition } from '../../mcp/protocol/listed-definitions.ts'
import type { Catalogue } from './catalogues.ts'
import { hashOf } from './compare-listed-definitions.ts'
import { type OfferSettings, settingOf } from './tool-settings.ts'

const toolsOf = memo((catalogue: Catalogue): readonly DescribedTool[] => catalogue.tools.map(toolOf))
type DescribedTool = Omit<Tool, 'enabled' | 'gateway_name' | 'state' | 'change'>

export const tokensOf = memo((catalogue: Catalogue): number =>
  toolsOf(catalogue).reduce((sum, { tokens }) => sum + tokens, 0),
)

/** How the gateway offers the tools of one server. */
interface Offered {
  readonly settings: OfferSettings
  /** The gateway's names of the tools that it offers, by their own names. */
  readonly names: ReadonlyMap<string, string>
  /** Tools that wait for approval, by name. */
  readonly held: ReadonlyMap<string, HeldChange>
}

export function toolListOf(
  catalogue: Catalogue,
  source: ToolList['source'],
  { settings, names, held }: Offered,
): ToolList {
  const items = toolsOf(catalogue).map((tool) => {
    const { enabled } = settingOf(settings, tool.name)
    const change = held.get(tool.name) ?? null
    const state = change ? ('held' as const) : ('ok' as const)
    return { ...tool, enabled, gateway_name: names.get(tool.name) ?? null, state, change }
  })
  const { truncated, duplicates } = catalogue
  const fetched_at = isoTime(catalogue.fetched_at)
  return { items, total: items.length, next_cursor: null, source, fetched_at, truncated, duplicates }
}

/** An estimate of the tokens that a tool takes in an agent's context: four characters per token. */
export const toolTokens = memo(({ name, description, inputSchema }: Definition): number =>
  Math.ceil(JSON.stringify([name, description ?? '', inputSchema ?? {}]).length / 4),
)

function toolOf(definition: Definition): DescribedTool {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition
  return {
    name: String(name),
    title: textOr(title),
    description: textOr(description),
    input_schema: objectOr(inputSchema) ?? {},
    output_schema: objectOr(outputSchema),
    annotations: objectOr(annotations),
    app_uri: pageOf(definition),
    tokens: toolTokens(definition),
    hash: hashOf(definition),
  }
}

/** In `_meta.ui.resourceUri`; older servers write `ui/resourceUri`. */
function pageOf({ _meta }: Definition): string | null {
  const meta = objectOr(_meta)
  const uri = objectOr(meta?.ui)?.resourceUri ?? meta?.['ui/resourceUri']
  return typeof uri === 'string' && uri.startsWith('ui://') ? uri : null
}

const textOr = (value: unknown): string | null => (typeof value === 'string' ? value : null)
const objectOr = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
