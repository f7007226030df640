import * as Type from 'typebox'
import { invalidField, pointer } from '../../kernel/errors.ts'
import { mapOf } from '../../kernel/rest-parts.ts'
import { boolean, optional, partial, textOrNull } from '../../kernel/schema-fields.ts'

export const MAX_TOOLS = 5000
export const TOOL_NAME_PATTERN = '^[^\\u0000-\\u001f\\u007f]{1,256}$'

const Alias = textOrNull('The name that agents see; null: the tool’s own name', {
  pattern: '^[A-Za-z0-9_-]{1,64}$',
  expected: 'at most 64 letters, digits, _ and -',
  examples: ['new_issue'],
})
const setting = { enabled: boolean('false: agents neither see the tool nor can call it'), alias: Alias }
const Expose = boolean('false: the gateway does not offer the server')

/** What the gateway offers of a server. A given map of tools replaces the stored one. */
export const offerInput = optional({
  tools: mapOf(TOOL_NAME_PATTERN, partial(setting), MAX_TOOLS),
  expose: Expose,
})
const ToolSetting = Type.Object(setting)
export const offerView = {
  tools: Type.Unsafe<Record<string, Type.Static<typeof ToolSetting>>>({
    type: 'object',
    additionalProperties: ToolSetting,
    description: 'By the tool’s own name. A tool without an entry is enabled under its own name',
    examples: [{ create_issue: { enabled: true, alias: 'new_issue' } }],
  }),
  expose: Expose,
}

type OfferInput = Type.Static<ReturnType<typeof Type.Object<typeof offerInput>>>

/** As it is stored. */
export interface OfferSettings {
  readonly tools: Readonly<Record<string, Type.Static<typeof ToolSetting>>>
  readonly expose: boolean
}

export const OFFER_DEFAULTS: OfferSettings = { tools: {}, expose: true }

/** The settings of one tool. A tool may be called `constructor`, hence `hasOwn`. */
export const settingOf = ({ tools }: OfferSettings, tool: string): Type.Static<typeof ToolSetting> =>
  (Object.hasOwn(tools, tool) ? tools[tool] : undefined) ?? { enabled: true, alias: null }

/** The current settings with the given changes. Throws when two tools have the same alias. */
export function changedOffer(
  current: OfferSettings,
  { tools, expose = current.expose }: OfferInput,
): OfferSettings {
  if (tools === undefined) return { tools: current.tools, expose }
  const owners = new Map<string, string>()
  const complete = Object.entries(tools).map(([tool, { enabled = true, alias = null }]) => {
    const owner = alias === null ? undefined : owners.get(alias)
    if (owner !== undefined)
      throw invalidField(`/tools/${pointer(tool)}/alias`, `is also the alias of '${owner.slice(0, 64)}'`)
    if (alias !== null) owners.set(alias, tool)
    return [tool, { enabled, alias }] as const
  })
  return { tools: Object.fromEntries(complete), expose }
}
