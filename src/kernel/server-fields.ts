import type { Static } from 'typebox'
import * as Type from 'typebox'
import { MASK } from './secrets.ts'
import { ID_PATTERN, orNull, Timestamp } from './wire.ts'

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
