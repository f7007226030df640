import * as Type from 'typebox'
import { REPAIR_ACTIONS } from '../../kernel/repair-action.ts'
import { type Caller, ID_PATTERN, orNull, Timestamp } from '../../kernel/rest-parts.ts'
import { anyObject, boolean, integer, text, textOrNull, texts } from '../../kernel/schema-fields.ts'
import type { LastError } from '../../kernel/server-state.ts'
import type { OfferSettings } from './tool-settings.ts'

/** The fields that STDIO and HTTP servers have in common. */

export const MAX_SERVERS = 500

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
    level: Type.Enum(['healthy', 'degraded', 'unhealthy', 'unknown'], {
      description: '`unknown`: it was not tried since its definition changed, is starting, or was stopped',
    }),
    state: Type.Enum(
      [
        'running',
        'connected',
        'idle',
        'not_allowed',
        'not_tried',
        'not_checked',
        'starting',
        'stopping',
        'stopped',
        'disabled',
        'degraded',
        'crashed',
        'failed',
        'auth_required',
        'unreachable',
        'error',
      ],
      { description: 'What lists show: the status, and what is known beyond it' },
    ),
    works: orNull(
      boolean(
        'true: it has worked since its definition last changed, and nothing is known that prevents it now. null: not tried',
      ),
    ),
    summary: text('One sentence', { examples: [example] }),
    action: textOrNull('What to do next, if anything'),
  })
export type Health = Type.Static<ReturnType<typeof healthSchema>>

const problem = (exampleCode: string) => ({
  code: Type.String({ examples: [exampleCode] }),
  message: text('The cause, in one sentence'),
  hint: textOrNull('What to do next'),
})

export const problemSchema = (exampleCode: string) => orNull(Type.Object(problem(exampleCode)))

/** Null comes first: most servers have no error, and a serializer tries the members of a union in turn. */
const action = Type.Union([Type.Null(), ...REPAIR_ACTIONS], {
  description: 'What to do next, as data: `kind` and what it is about',
})

export const lastErrorSchema = (exampleCode: string) =>
  orNull(Type.Object({ ...problem(exampleCode), action }))

export const errorView = ({ code, message, hint, action }: LastError) => ({
  code,
  message,
  hint,
  action: action ?? null,
})

/** The last `Try` of a view, without its words. */
export const last_try = orNull(
  Type.Object(
    {
      at: Timestamp,
      ok: boolean('It completed the handshake and listed its tools, and has not failed since'),
      code: textOrNull('Why not', { examples: ['command_not_found'] }),
    },
    {
      description:
        'How the last start went, or the last connection to a URL. It survives a restart of Toolroom. null: not tried since what runs, a secret that it refers to, or the version of its package has changed',
    },
  ),
)

/** The fields of a view that show what the server described in its last connection. */
export const describedFields = {
  protocol_version: orNull(Type.String({ examples: ['2025-11-25'] })),
  server_info: orNull(anyObject()),
}
export const used_by_agents = texts(
  'Agents that have an entry for it, or that may use it through the gateway',
)
export const toolFields = {
  tool_count: orNull(integer('Null until the tools have been listed once')),
  tool_tokens: orNull(integer('Estimated tokens of the tools in an agent’s context')),
}

/** The agents that see a new server. */
export const ForAgents = Type.Union(
  [
    Type.Literal('all'),
    Type.Array(Type.String({ minLength: 1, maxLength: 64 }), { maxItems: 64, uniqueItems: true }),
  ],
  {
    description:
      'The agents that see the new server at the gateway: their types, or `all`. If omitted: those that follow all servers. An agent with a choice of its own sees it only if it is named. One that follows all servers and is not named gets a choice of its own: the servers it sees now',
    examples: [['cursor']],
  },
)
export type ForAgents = Type.Static<typeof ForAgents>

/** Lets these agents see a server, and adds it. */
export type Adding = <T extends { readonly id: string }>(
  agents: ForAgents | undefined,
  by: Caller,
  add: () => Promise<T>,
) => Promise<T>

/** The fields of every server record, whatever its kind. */
export interface ServerRecord extends OfferSettings {
  readonly id: string
  readonly name: string
  readonly created_at: number
  readonly updated_at: number
  readonly revision: number
  /** A key for each value of a variable or secret that a person has allowed it to get. */
  readonly outgoing_allowed: readonly string[]
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
