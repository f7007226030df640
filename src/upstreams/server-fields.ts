import type { Static } from 'typebox'
import * as Type from 'typebox'
import { invalidField, pointer } from '../kernel/errors.ts'
import { MASK } from '../kernel/secrets/secrets.ts'
import { ID_PATTERN, mapOf, orNull, Timestamp } from '../kernel/wire.ts'

/** What STDIO and HTTP servers have in common. */

export const ServerName = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9][\\w .-]*$',
  expected: 'letters, digits, spaces and . _ - only, and begin with a letter or digit',
  description: 'Shown to people; the id is made from it once and stays',
  examples: ['GitHub'],
})

export const Tags = Type.Array(
  Type.String({
    minLength: 1,
    maxLength: 64,
    pattern: '^[\\w][\\w .:/-]*$',
    expected: 'letters, digits, spaces and . _ : / - only',
  }),
  {
    maxItems: 32,
    uniqueItems: true,
    examples: [['work']],
  },
)

export const ServerId = Type.String({ pattern: ID_PATTERN, examples: ['github'] })

/** A path takes the id or the exact name. What can be neither is simply not there, so anything is let through. */
export const ServerKey = Type.Object({
  id: Type.String({ description: 'The id, or the exact name', examples: ['github'] }),
})

export const recordFields = {
  created_at: Timestamp,
  updated_at: Timestamp,
  revision: Type.Integer({ minimum: 1, description: 'Grows with every change; send it back as If-Match' }),
}

/** What was called of a server in the last 24 hours. */
export const Stats = Type.Object({
  calls: Type.Integer(),
  errors: Type.Integer(),
  p50_ms: orNull(Type.Number()),
  p95_ms: orNull(Type.Number()),
  last_call_at: orNull(Timestamp),
})
export type Stats = Static<typeof Stats>

/** Names with their values hidden: environment, headers. */
export const masked = (example: Record<string, typeof MASK>) =>
  Type.Unsafe<Record<string, typeof MASK>>({
    type: 'object',
    additionalProperties: { type: 'string', const: MASK },
    examples: [example],
  })

export const MAX_SERVERS = 500
export const MAX_TOOLS = 5000
export const TOOL_NAME_PATTERN = '^[^\\u0000-\\u001f\\u007f]{1,256}$'

const Alias = orNull(
  Type.String({
    pattern: '^[A-Za-z0-9_-]{1,64}$',
    expected: 'letters, digits, _ and - only, 64 of them at most',
    description: 'What agents call it instead; null: its own name',
    examples: ['new_issue'],
  }),
)
const Enabled = Type.Boolean({ description: 'false: no agent sees it, and none can call it' })
const Expose = Type.Boolean({ description: 'false: the gateway offers nothing of it' })
const toolsExample = { examples: [{ create_issue: { enabled: true, alias: 'new_issue' } }] }

/** What the gateway offers of a server. A map that is sent takes the place of the one that is stored. */
export const offerInput = {
  tools: Type.Optional(
    mapOf(
      TOOL_NAME_PATTERN,
      Type.Object(
        { enabled: Type.Optional(Enabled), alias: Type.Optional(Alias) },
        { additionalProperties: false },
      ),
      MAX_TOOLS,
    ),
  ),
  expose: Type.Optional(Expose),
}
const ToolSetting = Type.Object({ enabled: Enabled, alias: Alias })
export const offerView = {
  tools: Type.Unsafe<Record<string, Static<typeof ToolSetting>>>({
    type: 'object',
    additionalProperties: ToolSetting,
    description: 'By the tool’s own name; one that is not named is enabled under that name',
    ...toolsExample,
  }),
  expose: Expose,
}

type OfferInput = Static<ReturnType<typeof Type.Object<typeof offerInput>>>

/** As it is stored. */
export interface OfferSettings {
  readonly tools: Readonly<Record<string, Static<typeof ToolSetting>>>
  readonly expose: boolean
}
export const OFFER_DEFAULTS: OfferSettings = { tools: {}, expose: true }

/** Names come from outside, and `constructor` is one. */
export const settingOf = ({ tools }: OfferSettings, tool: string): Static<typeof ToolSetting> =>
  (Object.hasOwn(tools, tool) ? tools[tool] : undefined) ?? { enabled: true, alias: null }

/** What is given, over what there is. Two tools under one alias could not both be called. */
export function offerOver(
  current: OfferSettings,
  { tools, expose = current.expose }: OfferInput,
): OfferSettings {
  if (tools === undefined) return { tools: current.tools, expose }
  const owners = new Map<string, string>()
  const whole = Object.entries(tools).map(([tool, { enabled = true, alias = null }]) => {
    const owner = alias === null ? undefined : owners.get(alias)
    if (owner !== undefined)
      throw invalidField(`/tools/${pointer(tool)}/alias`, `is also the alias of '${owner.slice(0, 64)}'`)
    if (alias !== null) owners.set(alias, tool)
    return [tool, { enabled, alias }] as const
  })
  return { tools: Object.fromEntries(whole), expose }
}

export const IfMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({ maxLength: 64, description: 'The revision you have seen', examples: ['"1"'] }),
  ),
})

/** `If-Match: "3"`, also without quotes or weak; undefined when the header is absent or `*`. */
export function revisionOf(header: string | undefined): number | 'unknown' | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  const digits = /^\s*(?:W\/)?"?(\d{1,15})"?\s*$/.exec(header)?.[1]
  return digits === undefined ? 'unknown' : Number(digits)
}
