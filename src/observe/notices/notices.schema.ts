import * as Type from 'typebox'
import { REPAIR_ACTIONS, type RepairAction } from '../../kernel/repair-action.ts'
import { component, ID_PATTERN, listOf, orNull, pageQuery, Timestamp } from '../../kernel/rest-parts.ts'
import { integer, partial, text, textOrNull } from '../../kernel/schema-fields.ts'

export const KINDS = [
  'server_crashed',
  'server_failed',
  'server_degraded',
  'login_needed',
  'outgoing_held',
  'tools_changed',
  'tools_held',
  'agent_file_edited',
  'agent_file_unreadable',
  'package_update',
  'package_deprecated',
  'leaked_processes',
  'disk',
  'weak_token',
  'settings',
] as const
export type Kind = (typeof KINDS)[number]

export const LEVELS = ['info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]

const Kind = Type.Enum(KINDS, { description: 'What happened' })
const NoticeId = Type.Integer({ minimum: 1, examples: [12] })

/** Any string is accepted: one that is no id leads to a 404. */
export const NoticeKey = Type.Object({ id: Type.String({ examples: ['12'] }) })

const place = {
  label: Type.String({ examples: ['Show why'] }),
  route: text('A page of the dashboard', { examples: ['/servers/postgres'] }),
}
const withPlace = ({ properties, description }: Described) =>
  Type.Object({ ...place, ...properties }, { description })
interface Described {
  readonly properties: Type.TProperties
  readonly description: string
}

/** Where to do something, and what: a page, and the typed action. */
export type NoticeAction = { readonly label: string; readonly route: string } & RepairAction

const Action = Type.Unsafe<NoticeAction>(
  Type.Union((REPAIR_ACTIONS as readonly unknown[] as readonly Described[]).map(withPlace), {
    description:
      'Where to do something about it: `label` and `route` of a page. `kind` and its members say what, as `action` of a last error does',
  }),
)

export const NoticeView = Type.Object({
  id: NoticeId,
  kind: Kind,
  level: Type.Enum(LEVELS, { examples: ['error'] }),
  server_id: orNull(Type.String({ examples: ['postgres'] })),
  agent_type: orNull(Type.String()),
  text: text('What happened, and what to do', { examples: ["'postgres' crashed. Read its last lines"] }),
  evidence: Type.Optional(
    textOrNull('The decisive fact, such as the last line of a server. Only with the token', {
      examples: ['The server exited with code 1: connect ECONNREFUSED 127.0.0.1:5432'],
    }),
  ),
  action: Action,
  at: Type.String({ ...Timestamp, description: 'When it was opened' }),
  count: integer('How often the cause occurred while it was open', { minimum: 1 }),
  seen_at: orNull(Timestamp),
  resolved_at: orNull(Timestamp),
})
export type NoticeView = Type.Static<typeof NoticeView>
component({ Notice: NoticeView }, 'Something that needs a person')

export const NoticeList = listOf(NoticeView)

export const NoticeQuery = partial({
  state: Type.Enum(['open', 'all'], { default: 'open', description: '`open`: neither resolved nor muted' }),
  ...pageQuery(),
})
export type NoticeQuery = Type.Static<typeof NoticeQuery>

const mutes = {
  kinds: Type.Array(Kind, { maxItems: KINDS.length, uniqueItems: true, examples: [['package_update']] }),
  servers: Type.Array(Type.String({ pattern: ID_PATTERN }), {
    maxItems: 500,
    uniqueItems: true,
    description: 'Ids of servers',
    examples: [['postgres']],
  }),
}
/** The whole of what is muted. An omitted list is empty, but not both: an empty body is more likely a mistake. */
export const MutesInput = partial({ kinds: mutes.kinds, servers: mutes.servers })
export type MutesInput = Type.Static<typeof MutesInput>
component({ MutesInput }, 'What is muted', {
  minProperties: 1,
  examples: [{ kinds: ['package_update'], servers: [] }],
})

export const Mutes = Type.Object(mutes)
component({ Mutes }, 'Kinds and servers whose notices are not open')

export interface Mutes {
  readonly kinds: readonly Kind[]
  readonly servers: readonly string[]
}

/** Why a person is needed. */
export interface Cause {
  readonly kind: Kind
  /** Distinguishes causes of one kind: the id of a server, the path of a file, the name of a package. */
  readonly subject: string
  readonly server_id: string | null
  readonly agent_type: string | null
  /** What happened, and what to do. Readable without a token. */
  readonly text: string
  /** The decisive fact. It may quote what a server wrote. */
  readonly evidence: string | null
  readonly action: NoticeAction
}

/** A cause with its history. Times are in ms since 1970. */
export interface Notice extends Cause {
  readonly id: number
  readonly at: number
  readonly count: number
  readonly seen_at: number | null
  readonly resolved_at: number | null
}

interface Rule {
  readonly level: Level
  /** `/api/health` is degraded while the cause exists. */
  readonly degrades?: true
  /** It is about an event, so that only a person can end it, by having seen it. */
  readonly untilSeen?: true
}

export const RULES: Readonly<Record<Kind, Rule>> = {
  server_crashed: { level: 'error', degrades: true },
  server_failed: { level: 'error', degrades: true },
  server_degraded: { level: 'warn' },
  login_needed: { level: 'warn', degrades: true },
  outgoing_held: { level: 'warn' },
  tools_changed: { level: 'warn', untilSeen: true },
  tools_held: { level: 'warn' },
  agent_file_edited: { level: 'warn' },
  agent_file_unreadable: { level: 'warn' },
  package_update: { level: 'info' },
  package_deprecated: { level: 'warn' },
  leaked_processes: { level: 'warn' },
  disk: { level: 'error' }, // the checks of `/api/health` report it
  weak_token: { level: 'warn', degrades: true },
  settings: { level: 'warn', degrades: true },
}

export const keyOf = ({ kind, subject }: Pick<Cause, 'kind' | 'subject'>): string => `${kind} ${subject}`
