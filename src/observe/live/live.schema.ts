import type { Static } from 'typebox'
import * as Type from 'typebox'
import { LEVELS, SOURCES, STREAMS } from '../../kernel/log.ts'
import { ID_PATTERN } from '../../kernel/wire.ts'

/** Clients are subscribed to every topic except `log` by default. */
export const TOPICS = [
  'metrics',
  'call_started',
  'call_completed',
  'server_status',
  'server_resources',
  'server_added',
  'server_updated',
  'server_removed',
  'http_server_check',
  'http_server_login',
  'tools_changed',
  'agent_changed',
  'package_progress',
  'image_progress',
  'notice',
  'log',
] as const
export type Topic = (typeof TOPICS)[number]

/** Topics, and frames about the stream itself. */
export type FrameType = Topic | 'logs' | 'hello' | 'snapshot' | 'dropped' | 'heartbeat' | 'error'

const Topics = Type.Array(Type.Enum(TOPICS), { minItems: 1, maxItems: TOPICS.length })
const ServerIds = Type.Array(Type.String({ pattern: ID_PATTERN }), { maxItems: 50 })
const closed = { additionalProperties: false }

export const LogFilter = Type.Object(
  {
    level: Type.Optional(Type.Enum(LEVELS)),
    source: Type.Optional(Type.Array(Type.Enum(SOURCES), { maxItems: SOURCES.length })),
    stream: Type.Optional(Type.Array(Type.Enum(STREAMS), { maxItems: STREAMS.length })),
    search: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
  },
  closed,
)
export type LogFilter = Static<typeof LogFilter>

const Subscribe = Type.Object(
  {
    type: Type.Literal('subscribe'),
    topics: Topics,
    server_ids: Type.Optional(ServerIds),
    filter: Type.Optional(LogFilter),
    batch: Type.Optional(Type.Boolean()),
  },
  closed,
)
export type SubscribeMessage = Static<typeof Subscribe>
const Unsubscribe = Type.Object({ type: Type.Literal('unsubscribe'), topics: Topics }, closed)
const Resume = Type.Object({ type: Type.Literal('resume'), last_event: Type.Integer({ minimum: 0 }) }, closed)
const Ping = Type.Object({ type: Type.Literal('ping') }, closed)

export type Message =
  | SubscribeMessage
  | Static<typeof Unsubscribe>
  | Static<typeof Resume>
  | Static<typeof Ping>

export const MESSAGES = { subscribe: Subscribe, unsubscribe: Unsubscribe, resume: Resume, ping: Ping }
