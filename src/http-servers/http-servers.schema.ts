import type { Static } from 'typebox'
import * as Type from 'typebox'
import { MASK } from '../kernel/secrets/secrets.ts'
import { listOf, mapOf } from '../kernel/wire.ts'
import {
  masked,
  OFFER_DEFAULTS,
  offerInput,
  offerView,
  recordFields,
  ServerId,
  ServerName,
  Tags,
} from '../upstreams/server-fields.ts'
import type { ServerRecord } from '../upstreams/server-registry.ts'
import { Live } from './report.schema.ts'

export const TRANSPORTS = ['auto', 'streamable_http', 'sse'] as const

/** Headers that belong to the connection. Whoever sets them breaks the request, or smuggles another. */
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

const input = {
  name: ServerName,
  url: Type.String({
    maxLength: 2048,
    pattern: '^[hH][tT][tT][pP][sS]?://[^/?#@\\s\\\\]+([/?#]\\S*)?$',
    expected: 'an http or https URL without user name and spaces',
    description: 'The MCP endpoint: http or https, without user name or password',
    examples: ['https://mcp.example.com/mcp'],
  }),
  transport: Type.Enum(TRANSPORTS, { description: '`auto` finds out', examples: ['auto'] }),
  headers: mapOf(
    HEADER_NAME,
    Type.String({
      maxLength: 32_768,
      pattern: '^[\\t\\x20-\\x7e\\x80-\\xff]*$',
      expected: 'one line of Latin characters',
    }),
    64,
  ),
  tags: Tags,
  enabled: Type.Boolean({ description: 'false: it is left alone, and cannot be called' }),
}
const ConnectS = Type.Integer({
  minimum: 1,
  maximum: 60,
  description: 'Until it has greeted and its tools are listed',
})
const RequestS = Type.Integer({ minimum: 1, maximum: 3600, description: 'For one call' })
const Timeouts = Type.Object({ connect_s: ConnectS, request_s: RequestS })
const SomeTimeouts = Type.Object(
  { connect_s: Type.Optional(ConnectS), request_s: Type.Optional(RequestS) },
  { additionalProperties: false, minProperties: 1 },
)
const example = { name: 'Docs', url: 'https://mcp.example.com/mcp', headers: { Authorization: 'Bearer …' } }

/** What a caller sends. The same object is the type, the validator and the OpenAPI page. */
export const HttpServerInput = Type.Object(
  {
    name: input.name,
    type: Type.Optional(Type.Literal('http')),
    url: input.url,
    transport: Type.Optional(input.transport),
    headers: Type.Optional(input.headers),
    tags: Type.Optional(input.tags),
    enabled: Type.Optional(input.enabled),
    timeouts: Type.Optional(SomeTimeouts),
    ...offerInput,
  },
  { additionalProperties: false, examples: [example] },
)
export type HttpServerInput = Static<typeof HttpServerInput>

export const HttpServerUpdate = Type.Object(
  {
    name: Type.Optional(input.name),
    url: Type.Optional(input.url),
    transport: Type.Optional(input.transport),
    headers: Type.Optional(input.headers),
    tags: Type.Optional(input.tags),
    enabled: Type.Optional(input.enabled),
    timeouts: Type.Optional(SomeTimeouts),
    ...offerInput,
  },
  {
    additionalProperties: false,
    minProperties: 1,
    examples: [{ headers: { Authorization: MASK, 'X-Team': 'docs' } }],
  },
)
export type HttpServerUpdate = Static<typeof HttpServerUpdate>

/** What a caller sees. Header values are secrets: they leave the service as '***', and the type says so. */
export const HttpServerView = Type.Object({
  id: ServerId,
  type: Type.Literal('http'),
  name: input.name,
  url: Type.String({ examples: ['https://mcp.example.com/mcp?key=***'] }),
  transport: input.transport,
  headers: masked({ Authorization: MASK }),
  tags: Tags,
  enabled: input.enabled,
  timeouts: Timeouts,
  ...offerView,
  ...Live.properties,
  ...recordFields,
})
export type HttpServerView = Static<typeof HttpServerView>
export const HttpServerList = listOf(HttpServerView)

/** An HTTP server as it is stored. */
export interface HttpServer extends ServerRecord {
  readonly url: string
  readonly transport: (typeof TRANSPORTS)[number]
  readonly headers: Readonly<Record<string, string>>
  readonly tags: readonly string[]
  readonly enabled: boolean
  readonly timeouts: Static<typeof Timeouts>
}

export const DEFAULTS: Pick<HttpServer, 'enabled' | 'timeouts' | 'tools' | 'expose'> = {
  enabled: true,
  timeouts: { connect_s: 10, request_s: 60 },
  ...OFFER_DEFAULTS,
}
