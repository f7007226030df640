import type { Static } from 'typebox'
import * as Type from 'typebox'
import { AppError, invalidField, pointer } from '../../kernel/errors.ts'
import { SHOWN_REFERENCE } from '../../kernel/secrets/references.ts'
import type { Carrier, MASK } from '../../kernel/secrets/secrets.ts'
import { component, ID_PATTERN, mapOf, orNull, Timestamp } from '../../kernel/wire.ts'

/** The fields that STDIO and HTTP servers have in common. */

export const MAX_SERVERS = 500
export const MAX_TOOLS = 5000
export const TOOL_NAME_PATTERN = '^[^\\u0000-\\u001f\\u007f]{1,256}$'

export const ServerId = Type.String({ pattern: ID_PATTERN, examples: ['github'] })

export const ServerName = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9][\\w .-]*$',
  expected: 'a letter or digit, followed by letters, digits, spaces or . _ -',
  description: 'Shown to people. The id is derived from it once and never changes',
  examples: ['GitHub'],
})

export const Tag = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^[\\w][\\w .:/-]*$',
  expected: 'letters, digits, spaces and . _ : / - only',
  examples: ['work'],
})
export const Tags = Type.Array(Tag, { maxItems: 32, uniqueItems: true, examples: [['work']] })

/** The parameter of a path. Any string is accepted: one that is neither an id nor a name leads to a 404. */
export const ServerKey = Type.Object({
  id: Type.String({ description: 'The id, or the exact name', examples: ['github'] }),
})

export const recordFields = {
  created_at: Timestamp,
  updated_at: Timestamp,
  revision: Type.Integer({
    minimum: 1,
    description: 'Increases with every change. Send it as If-Match to detect concurrent changes',
  }),
}

/** The calls of a server in the last 24 hours. */
export const Stats = Type.Object({
  calls: Type.Integer(),
  errors: Type.Integer(),
  p50_ms: orNull(Type.Number()),
  p95_ms: orNull(Type.Number()),
  last_call_at: orNull(Timestamp),
})
export type Stats = Static<typeof Stats>

export const healthSchema = (example: string) =>
  Type.Object({
    level: Type.Enum(['healthy', 'degraded', 'unhealthy', 'unknown']),
    summary: Type.String({ description: 'One sentence', examples: [example] }),
    action: orNull(Type.String({ description: 'What to do next, if anything' })),
  })
export type Health = Static<ReturnType<typeof healthSchema>>

export const lastErrorSchema = (exampleCode: string) =>
  orNull(
    Type.Object({
      code: Type.String({ examples: [exampleCode] }),
      message: Type.String({ description: 'The cause, in one sentence' }),
      hint: orNull(Type.String({ description: 'What to do next' })),
    }),
  )

/** The fields of a view that show what the server described in its last connection. */
export const describedFields = {
  protocol_version: orNull(Type.String({ examples: ['2025-11-25'] })),
  server_info: orNull(Type.Object({}, { additionalProperties: true })),
}
export const toolFields = {
  tool_count: orNull(Type.Integer({ description: 'Null until the tools have been listed once' })),
  tool_tokens: orNull(Type.Integer({ description: 'Estimated tokens of the tools in an agent’s context' })),
}

/** A map of masked secrets, such as environment variables or headers. A value that is a reference is shown. */
export const masked = (example: Record<string, typeof MASK>) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string', pattern: `^\\*{3}$|${SHOWN_REFERENCE}` },
    examples: [example],
  })

const Alias = orNull(
  Type.String({
    pattern: '^[A-Za-z0-9_-]{1,64}$',
    expected: 'at most 64 letters, digits, _ and -',
    description: 'The name that agents see; null: the tool’s own name',
    examples: ['new_issue'],
  }),
)
const Enabled = Type.Boolean({ description: 'false: agents neither see the tool nor can call it' })
const Expose = Type.Boolean({ description: 'false: the gateway does not offer the server' })

/** What the gateway offers of a server. A given map of tools replaces the stored one. */
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
    description: 'By the tool’s own name. A tool without an entry is enabled under its own name',
    examples: [{ create_issue: { enabled: true, alias: 'new_issue' } }],
  }),
  expose: Expose,
}

type OfferInput = Static<ReturnType<typeof Type.Object<typeof offerInput>>>

/** As it is stored. */
export interface OfferSettings {
  readonly tools: Readonly<Record<string, Static<typeof ToolSetting>>>
  readonly expose: boolean
}
/** The fields of every server record, whatever its kind. */
export interface ServerRecord extends OfferSettings {
  readonly id: string
  readonly name: string
  readonly created_at: number
  readonly updated_at: number
  readonly revision: number
}

export const OFFER_DEFAULTS: OfferSettings = { tools: {}, expose: true }

/** The settings of one tool. A tool may be called `constructor`, hence `hasOwn`. */
export const settingOf = ({ tools }: OfferSettings, tool: string): Static<typeof ToolSetting> =>
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

export const IfMatch = Type.Object({
  'if-match': Type.Optional(
    Type.String({ maxLength: 64, description: 'The revision that you have read', examples: ['"1"'] }),
  ),
})

/** The revision in `If-Match: "3"`, with or without quotes, strong or weak. Undefined for `*` or no header. */
export function revisionOf(header: string | undefined): number | 'unknown' | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  const digits = /^\s*(?:W\/)?"?(\d{1,15})"?\s*$/.exec(header)?.[1]
  return digits === undefined ? 'unknown' : Number(digits)
}

type Field = Exclude<keyof Carrier, 'oauth'>

/** The body of a request for a stored value that views mask. */
export const revealInput = (title: string, fields: readonly Field[]) =>
  component(
    {
      [title]: Type.Object(
        {
          field: Type.Enum([...fields]),
          name: Type.Optional(
            Type.String({
              minLength: 1,
              maxLength: 256,
              description: 'The variable or the header. For `args`, the position, beginning with 0',
            }),
          ),
        },
        { additionalProperties: false, examples: [{ field: fields[0], name: 'API_TOKEN' }] },
      ),
    },
    'Which value',
  )

export interface RevealInput {
  readonly field: Field
  readonly name?: string
}

export const Revealed = Type.Object({ value: Type.String({ examples: ['sk-…'] }) })
export type Revealed = Static<typeof Revealed>
component({ Revealed }, 'A stored value in full')

/** The stored value. Throws when there is none. */
export function storedValue(carrier: Carrier, { field, name }: RevealInput): string {
  const stored = carrier[field]
  if (typeof stored === 'string') {
    if (name !== undefined) throw invalidField('/name', `must be omitted: ${field} is a single value`)
    return stored
  }
  if (name === undefined) throw invalidField('/name', `is required for ${field}`)
  const value = Object.entries(stored ?? {}).find(([key]) => key === name)?.[1]
  if (value === undefined)
    throw new AppError('not_found', `The server has no '${name.slice(0, 100)}' in ${field}`)
  return value
}
