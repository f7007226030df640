import type { Static } from 'typebox'
import * as Type from 'typebox'
import { MASK } from '../../kernel/secrets/secrets.ts'
import { component, mapOf, orNull, Timestamp } from '../../kernel/wire.ts'
import { AuthView, type OAuthConfig, OAuthInput } from '../logins/logins.schema.ts'
import { REQUEST_S_DESCRIPTION } from '../shared/calls.ts'
import {
  describedFields,
  healthSchema,
  lastErrorSchema,
  masked,
  OFFER_DEFAULTS,
  offerInput,
  offerView,
  recordFields,
  ServerId,
  ServerName,
  type ServerRecord,
  Stats,
  Tags,
  toolFields,
} from '../shared/server-fields.ts'

const Status = Type.Enum([
  'unknown',
  'connected',
  'degraded',
  'auth_required',
  'unreachable',
  'error',
  'disabled',
])
export type Status = Static<typeof Status>

/** The result of a connection test. A server that does not answer is a result, not a request error. */
export const ConnectionReport = Type.Object({
  ok: Type.Boolean(),
  latency_ms: orNull(Type.Number()),
  steps: Type.Array(
    Type.Object({
      name: Type.Enum(['dns', 'tcp', 'tls', 'http', 'initialize', 'tools_list']),
      ok: Type.Boolean(),
      ms: Type.Number(),
      detail: Type.String({ description: 'One sentence' }),
    }),
    { description: 'In order. A failed step is the last one' },
  ),
  transport: orNull(Type.Enum(['streamable_http', 'sse'])),
  ...describedFields,
  tool_count: orNull(Type.Integer()),
  error: lastErrorSchema('connection_refused'),
})
export type ConnectionReport = Static<typeof ConnectionReport>
component({ ConnectionReport }, 'The result of each step of the test')

/** The current state of a server. Read-only. */
export const Live = Type.Object({
  status: Status,
  health: healthSchema('Connected with 12 tools'),
  auth: AuthView,
  latency_ms: orNull(Type.Number({ description: 'Duration of the last successful check' })),
  last_checked_at: orNull(Timestamp),
  next_check_at: orNull(Timestamp),
  ...describedFields,
  ...toolFields,
  stats: Stats,
  last_error: lastErrorSchema('connection_refused'),
})
export type Live = Static<typeof Live>

/** Connection headers. Setting them would break the request or allow request smuggling. */
const CONNECTION_HEADERS = [
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'keep-alive',
]
const anyCase = (word: string) => word.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)
const HEADER_NAME = `^(?!(?:${CONNECTION_HEADERS.map(anyCase).join('|')})$)[A-Za-z0-9!#$%&'*+.^_\`|~-]{1,256}$`

const Url = Type.String({
  maxLength: 2048,
  pattern: '^([hH][tT][tT][pP][sS]?://[^/?#@\\s\\\\]+([/?#]\\S*)?|\\$\\{(env|secret):\\S+)$',
  expected: 'an http or https URL without a user name or spaces',
  description: 'The MCP endpoint: http or https, without a user name or password',
  examples: ['https://mcp.example.com/mcp'],
})
const Transport = Type.Enum(['auto', 'streamable_http', 'sse'], {
  description: '`auto` detects the transport',
  examples: ['auto'],
})
const HeaderValue = Type.String({
  maxLength: 32_768,
  pattern: '^[\\t\\x20-\\x7e\\x80-\\xff]*$',
  expected: 'one line of Latin-1 characters',
})
const Enabled = Type.Boolean({ description: 'false: the server is not checked and cannot be called' })
const ConnectS = Type.Integer({
  minimum: 1,
  maximum: 60,
  description: 'Seconds for the handshake and the tool list',
})
const RequestS = orNull(Type.Integer({ minimum: 1, maximum: 3600, description: REQUEST_S_DESCRIPTION }))
const Timeouts = Type.Object({ connect_s: ConnectS, request_s: RequestS })

const optional = {
  transport: Type.Optional(Transport),
  headers: Type.Optional(mapOf(HEADER_NAME, HeaderValue, 64)),
  tags: Type.Optional(Tags),
  enabled: Type.Optional(Enabled),
  timeouts: Type.Optional(
    Type.Object(
      { connect_s: Type.Optional(ConnectS), request_s: Type.Optional(RequestS) },
      { additionalProperties: false, minProperties: 1 },
    ),
  ),
  oauth: Type.Optional(orNull(OAuthInput)),
  ...offerInput,
}
const example = {
  name: 'Docs',
  url: 'https://mcp.example.com/mcp',
  headers: { Authorization: 'Bearer my-token' },
}

export const HttpServerInput = Type.Object(
  { name: ServerName, type: Type.Optional(Type.Literal('http')), url: Url, ...optional },
  { additionalProperties: false, examples: [example] },
)
export type HttpServerInput = Static<typeof HttpServerInput>
component({ HttpServerInput }, 'An HTTP server to add')

export const HttpServerUpdate = Type.Object(
  { name: Type.Optional(ServerName), url: Type.Optional(Url), ...optional },
  {
    additionalProperties: false,
    minProperties: 1,
    examples: [{ headers: { Authorization: MASK, 'X-Team': 'docs' } }],
  },
)
export type HttpServerUpdate = Static<typeof HttpServerUpdate>
component({ HttpServerUpdate }, 'The fields of an HTTP server to change')

/** A server as the API shows it. Header values are secrets, so the type allows only '***'. */
export const HttpServerView = Type.Object({
  id: ServerId,
  type: Type.Literal('http'),
  name: ServerName,
  url: Type.String({ examples: ['https://mcp.example.com/mcp?key=***'] }),
  transport: Transport,
  headers: masked({ Authorization: MASK }),
  tags: Tags,
  enabled: Enabled,
  timeouts: Timeouts,
  oauth: orNull(Type.Object({ ...OAuthInput.properties, redirect_uri: Type.Optional(Type.String()) })),
  ...offerView,
  ...Live.properties,
  ...recordFields,
})
export type HttpServerView = Static<typeof HttpServerView>
component({ HttpServer: HttpServerView }, 'An HTTP server and its state')

/** An HTTP server as it is stored. */
export interface HttpServer extends ServerRecord {
  readonly url: string
  readonly transport: Static<typeof Transport>
  readonly headers: Readonly<Record<string, string>>
  readonly tags: readonly string[]
  readonly enabled: boolean
  readonly timeouts: Static<typeof Timeouts>
  readonly oauth: OAuthConfig | null
}

export const DEFAULTS: Pick<HttpServer, 'enabled' | 'timeouts' | 'oauth' | 'tools' | 'expose'> = {
  enabled: true,
  oauth: null,
  timeouts: { connect_s: 10, request_s: null },
  ...OFFER_DEFAULTS,
}
