import * as Type from 'typebox'
import { component, mapOf, orNull, Timestamp } from '../../kernel/rest-parts.ts'
import { boolean, closed, integer, objects, optional, partial, text } from '../../kernel/schema-fields.ts'
import { MASK } from '../../kernel/secrets/mask-secrets.ts'
import { AuthView } from '../logins/logins.schema.ts'
import { type OAuthConfig, OAuthInput } from '../logins/oauth-settings.ts'
import { REQUEST_S_DESCRIPTION } from '../shared/call-recorder.ts'
import { AllowOutgoing, outgoing } from '../shared/definition/outgoing.ts'
import { masked } from '../shared/masked-values.ts'
import {
  describedFields,
  ForAgents,
  healthSchema,
  last_try,
  lastErrorSchema,
  recordFields,
  ServerId,
  ServerName,
  type ServerRecord,
  Stats,
  Tags,
  toolFields,
  used_by_agents,
} from '../shared/server-fields.ts'
import { OFFER_DEFAULTS, offerInput, offerView } from '../shared/tool-settings.ts'

const Status = Type.Enum([
  'unknown',
  'connected',
  'degraded',
  'auth_required',
  'unreachable',
  'error',
  'disabled',
])
export type Status = Type.Static<typeof Status>

/** The result of a connection test. A server that does not answer is a result, not a request error. */
export const ConnectionReport = Type.Object({
  ok: Type.Boolean(),
  latency_ms: orNull(Type.Number()),
  steps: objects('In order. A failed step is the last one', {
    name: Type.Enum(['dns', 'tcp', 'tls', 'http', 'initialize', 'tools_list']),
    ok: Type.Boolean(),
    ms: Type.Number(),
    detail: text('One sentence'),
  }),
  transport: orNull(Type.Enum(['streamable_http', 'sse'])),
  ...describedFields,
  tool_count: orNull(Type.Integer()),
  error: lastErrorSchema('connection_refused'),
})
export type ConnectionReport = Type.Static<typeof ConnectionReport>
component({ ConnectionReport }, 'The result of each step of the test')

/** The current state of a server. Read-only. */
export const Live = Type.Object({
  status: Status,
  health: healthSchema('Connected with 12 tools'),
  auth: AuthView,
  latency_ms: orNull(Type.Number({ description: 'Duration of the last successful check' })),
  last_try,
  last_checked_at: orNull(Timestamp),
  next_check_at: orNull(Timestamp),
  ...describedFields,
  ...toolFields,
  stats: Stats,
  used_by_agents,
  last_error: lastErrorSchema('connection_refused'),
})
export type Live = Type.Static<typeof Live>

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

const Url = text('The MCP endpoint: http or https, without a user name or password', {
  maxLength: 2048,
  pattern: '^([hH][tT][tT][pP][sS]?://[^/?#@\\s\\\\]+([/?#]\\S*)?|\\$\\{(env|secret):\\S+)$',
  expected: 'an http or https URL without a user name or spaces',
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
const Enabled = boolean('false: the server is not checked and cannot be called')
const timeouts = {
  connect_s: integer('Seconds for the handshake and the tool list', { minimum: 1, maximum: 60 }),
  request_s: orNull(integer(REQUEST_S_DESCRIPTION, { minimum: 1, maximum: 3600 })),
}
const Timeouts = Type.Object(timeouts)

const settings = optional({
  transport: Transport,
  headers: mapOf(HEADER_NAME, HeaderValue, 64),
  tags: Tags,
  enabled: Enabled,
  timeouts: partial(timeouts, { minProperties: 1 }),
  oauth: orNull(OAuthInput),
  ...offerInput,
})
const example = {
  name: 'Docs',
  url: 'https://mcp.example.com/mcp',
  headers: { Authorization: 'Bearer my-token' },
}

export const HttpServerInput = closed({
  name: ServerName,
  type: Type.Optional(Type.Literal('http')),
  url: Url,
  ...settings,
  agents: Type.Optional(ForAgents),
})
export type HttpServerInput = Type.Static<typeof HttpServerInput>
component({ HttpServerInput }, 'An HTTP server to add', { examples: [example] })

export const HttpServerUpdate = partial({
  name: ServerName,
  url: Url,
  ...settings,
  allow_outgoing: AllowOutgoing,
})
export type HttpServerUpdate = Type.Static<typeof HttpServerUpdate>
component({ HttpServerUpdate }, 'The fields of an HTTP server to change', {
  minProperties: 1,
  examples: [{ headers: { Authorization: MASK, 'X-Team': 'docs' } }],
})

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
  outgoing,
  ...Live.properties,
  ...recordFields,
})
export type HttpServerView = Type.Static<typeof HttpServerView>
component({ HttpServer: HttpServerView }, 'An HTTP server and its state')

/** An HTTP server as it is stored. */
export interface HttpServer extends ServerRecord {
  readonly url: string
  readonly transport: Type.Static<typeof Transport>
  readonly headers: Readonly<Record<string, string>>
  readonly tags: readonly string[]
  readonly enabled: boolean
  readonly timeouts: Type.Static<typeof Timeouts>
  readonly oauth: OAuthConfig | null
}

export const DEFAULTS: Pick<HttpServer, 'enabled' | 'timeouts' | 'oauth' | 'tools' | 'expose'> = {
  enabled: true,
  oauth: null,
  timeouts: { connect_s: 10, request_s: null },
  ...OFFER_DEFAULTS,
}
