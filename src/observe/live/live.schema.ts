import * as Type from 'typebox'
import { LEVELS, SOURCES, STREAMS } from '../../kernel/log.ts'
import { ID_PATTERN } from '../../kernel/rest-parts.ts'
import { closed, partial } from '../../kernel/schema-fields.ts'

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

/** Topics, and messages about the stream itself. */
export type MessageType = Topic | 'logs' | 'hello' | 'snapshot' | 'dropped' | 'heartbeat' | 'error'

const Topics = Type.Array(Type.Enum(TOPICS), { minItems: 1, maxItems: TOPICS.length })
const ServerIds = Type.Array(Type.String({ pattern: ID_PATTERN }), { maxItems: 50 })

export const LogFilter = partial({
  level: Type.Enum(LEVELS),
  source: Type.Array(Type.Enum(SOURCES), { maxItems: SOURCES.length }),
  stream: Type.Array(Type.Enum(STREAMS), { maxItems: STREAMS.length }),
  search: Type.String({ minLength: 1, maxLength: 256 }),
})
export type LogFilter = Type.Static<typeof LogFilter>

const Subscribe = closed({
  type: Type.Literal('subscribe'),
  topics: Topics,
  server_ids: Type.Optional(ServerIds),
  filter: Type.Optional(LogFilter),
  batch: Type.Optional(Type.Boolean()),
})
export type SubscribeMessage = Type.Static<typeof Subscribe>
const Unsubscribe = closed({ type: Type.Literal('unsubscribe'), topics: Topics })
const Resume = closed({ type: Type.Literal('resume'), last_event: Type.Integer({ minimum: 0 }) })
const Ping = closed({ type: Type.Literal('ping') })

export type Message =
  | SubscribeMessage
  | Type.Static<typeof Unsubscribe>
  | Type.Static<typeof Resume>
  | Type.Static<typeof Ping>

export const MESSAGES = { subscribe: Subscribe, unsubscribe: Unsubscribe, resume: Resume, ping: Ping }
