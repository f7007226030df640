import * as Type from 'typebox'
import { anyObject, text } from '../../kernel/schema-fields.ts'
import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import { ServerId } from '../../servers/shared/server-fields.ts'
import { KEY_REFUSALS } from '../messages/rpc-error.ts'

/** The gateway for the documentation. It is served without the framework and validates messages itself. */

const Message = Type.Object(
  {
    jsonrpc: Type.Literal('2.0'),
    id: Type.Optional(Type.Union([Type.String(), Type.Integer(), Type.Null()])),
    method: Type.Optional(Type.String()),
    params: Type.Optional(anyObject()),
    result: Type.Optional(Type.Unknown()),
    error: Type.Optional(
      Type.Object({ code: Type.Integer(), message: Type.String(), data: Type.Optional(Type.Unknown()) }),
    ),
  },
  {
    title: 'JsonRpcMessage',
    description: 'One message of MCP: a request, a notification or a response',
    additionalProperties: true,
    examples: [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }],
  },
)

const message = (description: string, examples?: object) => ({
  description,
  content: { 'application/json': { schema: Message, ...(examples && { examples }) } },
})
const stream = { schema: text('Server-sent events, each with one message') }
const refusal = (code: keyof typeof KEY_REFUSALS) => ({
  value: {
    jsonrpc: '2.0',
    id: null,
    error: { code: CODES.noKey, message: KEY_REFUSALS[code], data: { code } },
  },
})
const refused = {
  401: message('The gateway key is missing or wrong', {
    missing_key: refusal('missing_key'),
    invalid_key: refusal('invalid_key'),
    management_token: refusal('management_token'),
  }),
  404: message('The session has ended, or no such server is offered to this agent'),
}
const session = Type.Object({
  'mcp-session-id': Type.Optional(
    text('The session, for the revisions up to 2025-11-25. From the response to initialize'),
  ),
  'mcp-protocol-version': Type.Optional(
    text('The revision of MCP', { examples: ['2025-11-25', '2026-07-28'] }),
  ),
})

const tags = ['Gateway']
const PLACES = [
  { url: '/mcp', what: 'all servers', params: undefined },
  { url: '/mcp/:server_id', what: 'one server', params: Type.Object({ server_id: ServerId }) },
]

export const MCP_ROUTES = PLACES.flatMap(({ url, what, params }) => {
  const common = { tags, headers: session, ...(params && { params }) }
  return [
    {
      method: 'POST',
      url,
      schema: {
        ...common,
        summary: `Send an MCP message to ${what}`,
        description:
          'MCP over Streamable HTTP, with sessions (revisions up to 2025-11-25) or without (2026-07-28). An MCP client sends this; `tools/list` and `tools/call` are the usual methods.',
        body: Message,
        response: {
          200: {
            description: 'The response, or a stream that ends with it',
            content: { 'application/json': { schema: Message }, 'text/event-stream': stream },
          },
          202: Type.Null({ description: 'A notification or a response was accepted' }),
          400: message('The message is malformed, or a header does not match it'),
          ...refused,
          413: message('The body is larger than 10 MiB'),
          415: message('The body is not JSON'),
          429: message('Too much is kept for this key, or for all agents'),
        },
      },
    },
    {
      method: 'GET',
      url,
      schema: {
        ...common,
        summary: `Receive the notifications of a session with ${what}`,
        description: 'For the revisions with sessions. `Last-Event-ID` continues a stream that was cut off.',
        response: {
          200: { description: 'The stream', content: { 'text/event-stream': stream } },
          ...refused,
          405: message('The Mcp-Session-Id header is missing'),
        },
      },
    },
    {
      method: 'DELETE',
      url,
      schema: {
        ...common,
        summary: `End a session with ${what}`,
        description: 'Also ends processes that run for this session alone.',
        response: { 204: Type.Null(), ...refused, 405: message('The Mcp-Session-Id header is missing') },
      },
    },
  ]
})
