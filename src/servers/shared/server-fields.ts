import * as Type from 'typebox'
import { AppError, invalidField, pointer } from '../../kernel/errors.ts'
import { component, ID_PATTERN, mapOf, orNull, Timestamp } from '../../kernel/rest-parts.ts'
import type { Carrier, MASK } from '../../kernel/secrets/mask-secrets.ts'
import { SHOWN_REFERENCE } from '../../kernel/secrets/references.ts'
import {
  anyObject,
  boolean,
  closed,
  integer,
  optional,
  partial,
  text,
  textOrNull,
} from '../../kernel/typebox.ts'

/** The fields that STDIO and HTTP servers have in common. */

export const MAX_SERVERS = 500
export const MAX_TOOLS = 5000
export const TOOL_NAME_PATTERN = '^[^\\u0000-\\u001f\\u007f]{1,256}$'

export const ServerId = Type.String({ pattern: ID_PATTERN, examples: ['github'] })

export const ServerName = text('Shown to people. The id is derived from it once and never changes', {
  minLength: 1,
  maxLength: 64,
  pattern: '^[A-Za-z0-9][\\w .-]*$',
  expected: 'a letter or digit, followed by letters, digits, spaces or . _ -',
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
export const ServerKey = Type.Object({ id: text('The id, or the exact name', { examples: ['github'] }) })

export const recordFields = {
  created_at: Timestamp,
  updated_at: Timestamp,
  revision: integer('Increases with every change. Send it as If-Match to detect concurrent changes', {
    minimum: 1,
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
export type Stats = Type.Static<typeof Stats>

export const healthSchema = (example: string) =>
  Type.Object({
    level: Type.Enum(['healthy', 'degraded', 'unhealthy', 'unknown']),
    summary: text('One sentence', { examples: [example] }),
    action: textOrNull('What to do next, if anything'),
  })
export type Health = Type.Static<ReturnType<typeof healthSchema>>

export const lastErrorSchema = (exampleCode: string) =>
  orNull(
    Type.Object({
      code: Type.String({ examples: [exampleCode] }),
      message: text('The cause, in one sentence'),
      hint: textOrNull('What to do next'),
    }),
  )

/** The fields of a view that show what the server described in its last connection. */
export const describedFields = {
  protocol_version: orNull(Type.String({ examples: ['2025-11-25'] })),
  server_info: orNull(anyObject()),
}
export const toolFields = {
  tool_count: orNull(integer('Null until the tools have been listed once')),
  tool_tokens: orNull(integer('Estimated tokens of the tools in an agent’s context')),
}

/** A map of masked secrets, such as environment variables or headers. A value that is a reference is shown. */
export const masked = (example: Record<string, typeof MASK>) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string', pattern: `^\\*{3}$|${SHOWN_REFERENCE}` },
    examples: [example],
  })

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

export const IfMatch = Type.Object({
  'if-match': Type.Optional(text('The revision that you have read', { maxLength: 64, examples: ['"1"'] })),
})

/** The revision in `If-Match: "3"`, with or without quotes, strong or weak. Undefined for `*` or no header. */
export function revisionOf(header: string | undefined): number | 'unknown' | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  const digits = /^\s*(?:W\/)?"?(\d{1,15})"?\s*$/.exec(header)?.[1]
  return digits === undefined ? 'unknown' : Number(digits)
}

type Field = Exclude<keyof Carrier, 'oauth'>

/** The body of a request for a stored value that views mask. */
export const revealInput = (title: string, fields: readonly Field[]) => {
  const description = 'The variable or the header. For `args`, the position, beginning with 0'
  const name = Type.Optional(text(description, { minLength: 1, maxLength: 256 }))
  const input = closed({ field: Type.Enum([...fields]), name })
  return component({ [title]: input }, 'Which value', { examples: [{ field: fields[0], name: 'API_TOKEN' }] })
}

export interface RevealInput {
  readonly field: Field
  readonly name?: string
}

export const Revealed = Type.Object({ value: Type.String({ examples: ['sk-…'] }) })
export type Revealed = Type.Static<typeof Revealed>
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
