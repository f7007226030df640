import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { Static, TSchema } from 'typebox'
import * as Type from 'typebox'
import type { ErrorCode } from '../../kernel/error-catalogue.ts'
import { invalidField } from '../../kernel/errors.ts'
import { type Caller, callerOf, listOf, NO_CONTENT, operationsOf } from '../../kernel/rest-parts.ts'
import * as tool from '../../kernel/tool-fields.ts'
import type { CallOptions, CallResult } from '../../mcp/protocol/call-options.ts'
import { Diagnosis } from './diagnosis.ts'
import { ElicitationAnswer, ElicitationKey, type Elicitations } from './elicitations.ts'
import { Revealed, type RevealInput, revealInput } from './masked-values.ts'
import { IfMatch, revisionOf, ServerKey, type ServerRecord } from './server-fields.ts'
import { acceptsEvents, EVENT_STREAM, streamedCall } from './streamed-call.ts'
import type { ToolCall } from './upstream.ts'

/** By the headers of a request. */
export type IsOwner = (headers: Readonly<Record<string, unknown>>) => boolean

interface Options<Server extends ServerRecord, Input extends TSchema, Update extends TSchema> {
  readonly path: '/servers' | '/http-servers'
  readonly group: string
  /** For summaries: `an HTTP server`. */
  readonly one: string
  readonly input: Input
  readonly update: Update
  readonly updateMethod: 'PATCH' | 'PUT'
  readonly view: TSchema
  readonly descriptions: Readonly<Record<'add' | 'update' | 'remove' | 'tools' | 'diagnose' | 'call', string>>
  readonly callErrors: readonly ErrorCode[]
  /** The fields whose values are masked. */
  readonly maskedFields: readonly RevealInput['field'][]
  /** Whether the caller has the token, and so sees more of a definition. */
  readonly isOwner: IsOwner
  readonly elicitations: Elicitations
  readonly servers: {
    /** All views as JSON. */
    listText(isOwner: boolean): Promise<string>
    get(key: string): Promise<Server>
    view(server: Server, isOwner: boolean): unknown
    add(input: Static<Input>, by: Caller): Promise<Server>
    change(
      key: string,
      revision: ReturnType<typeof revisionOf>,
      update: Static<Update>,
      by: Caller,
    ): Promise<Server>
    remove(key: string, by: Caller): Promise<void>
    tools(key: string): Promise<tool.ToolList>
    diagnose(key: string): Promise<Diagnosis>
    reveal(key: string, input: RevealInput, by: Caller): Promise<Revealed>
    call(key: string, call: ToolCall): Promise<CallResult>
  }
}

/** With this type, text and bytes are sent as they are. */
export const JSON_TYPE = 'application/json; charset=utf-8'
const EVENTS_EXAMPLE =
  'event: progress\ndata: {"progress":1,"total":2}\n\nevent: result\ndata: {"content":[{"type":"text","text":"done"}]}\n\n'
const MAX_CALL_BYTES = 10 * 1_048_576

/** The routes that both kinds of server have. */
export function upstreamRoutes<S extends ServerRecord, I extends TSchema, U extends TSchema>(
  options: Options<S, I, U>,
): FastifyPluginAsyncTypebox {
  const { path, group, one, input, update, updateMethod, view, descriptions, callErrors, isOwner, servers } =
    options
  const { elicitations } = options
  const operation = operationsOf(group)
  const params = ServerKey
  const withEtag = (reply: FastifyReply, server: S, owner: boolean) =>
    reply.header('etag', `"${server.revision}"`).send(servers.view(server, owner))
  return async (app) => {
    const list = operation(`List ${group}`, 'With their state, secrets masked.', {
      response: { 200: listOf(view) },
    })
    app.get(path, list, async (request, reply) =>
      reply.type(JSON_TYPE).send((await servers.listText(isOwner(request.headers))) as never),
    )

    const add = operation(`Add ${one}`, descriptions.add, { body: input, response: { 201: view } })
    app.post(path, add, async (request, reply) => {
      const server = await servers.add(request.body as Static<I>, callerOf(request))
      return reply.code(201).header('location', `/api${path}/${server.id}`).send(servers.view(server, true))
    })

    const get = operation(`Get ${one}`, 'Its definition with secrets masked, and its state.', {
      params,
      response: { 200: view },
    })
    app.get(`${path}/:id`, get, async (request, reply) =>
      withEtag(reply, await servers.get(request.params.id), isOwner(request.headers)),
    )

    const change = operation(`Update ${one}`, descriptions.update, {
      params,
      headers: IfMatch,
      body: update,
      response: { 200: view },
    })
    app.route({
      method: updateMethod,
      url: `${path}/:id`,
      ...change,
      handler: async (request, reply) => {
        const revision = revisionOf(request.headers['if-match'])
        const body = request.body as Static<U>
        return withEtag(
          reply,
          await servers.change(request.params.id, revision, body, callerOf(request)),
          true,
        )
      },
    })

    const remove = operation(`Delete ${one}`, descriptions.remove, { params, response: NO_CONTENT })
    app.delete(`${path}/:id`, remove, async (request, reply) => {
      await servers.remove(request.params.id, callerOf(request))
      return reply.code(204).send(null)
    })

    const tools = operation("List the server's tools", descriptions.tools, {
      params,
      response: { 200: tool.ToolList },
      errors: ['server_not_running'],
    })
    app.get(`${path}/:id/tools`, tools, (request) => servers.tools(request.params.id))

    const diagnose = operation(`Diagnose ${one}`, descriptions.diagnose, {
      params,
      response: { 200: Diagnosis },
    })
    app.post(`${path}/:id/diagnose`, diagnose, (request) => servers.diagnose(request.params.id))

    const reveal = operation(
      'Reveal a masked value',
      'Returns one stored value in full. The audit trail names the field, never the value.',
      {
        params,
        body: revealInput(path === '/servers' ? 'RevealInput' : 'HttpRevealInput', options.maskedFields),
        response: { 200: Revealed },
      },
    )
    app.post(`${path}/:id/reveal`, reveal, (request) =>
      servers.reveal(request.params.id, request.body as RevealInput, callerOf(request)),
    )

    const call = operation('Call a tool', descriptions.call, {
      params: tool.ToolKey,
      body: tool.CallInput,
      response: {
        200: {
          description: 'The result, or with `Accept: text/event-stream` the events of the call',
          content: {
            'application/json': { schema: tool.CallResult },
            [EVENT_STREAM]: { schema: Type.String({ examples: [EVENTS_EXAMPLE] }) },
          },
        },
      },
      errors: [...callErrors, 'call_failed', 'call_timeout'],
      passedOn: true,
    })
    app.post(
      `${path}/:id/tools/:tool/call`,
      { ...call, bodyLimit: MAX_CALL_BYTES },
      async (request, reply) => {
        const { arguments: args = {}, timeout_s } = request.body
        const signal = abortOnDisconnect(reply)
        const by = callerOf(request)
        const run = (options: CallOptions) =>
          servers.call(request.params.id, { tool: request.params.tool, args, by, options, timeout_s })
        if (!acceptsEvents(request.headers.accept)) {
          const { bytes } = await run({ signal })
          return reply.type(JSON_TYPE).send(bytes as never)
        }
        const onUnexpected = (error: unknown) => request.log.error({ ...by, error }, 'streamed call failed')
        const events = await streamedCall(run, { elicitations, signal, ...by, onUnexpected })
        return reply
          .type(EVENT_STREAM)
          .header('x-accel-buffering', 'no')
          .send(events as never)
      },
    )
  }
}

/** Aborts when the caller disconnects before the response. */
export function abortOnDisconnect({ raw }: FastifyReply): AbortSignal {
  const disconnected = new AbortController()
  raw.once('close', () => {
    if (!raw.writableEnded) disconnected.abort()
  })
  return disconnected.signal
}

export function elicitationRoutes(elicitations: Elicitations): FastifyPluginAsyncTypebox {
  return async (app) => {
    const answer = operationsOf('Calls')(
      'Answer a question of a tool server',
      'For the event `elicitation` of a streamed call. Each question can be answered once.',
      { params: ElicitationKey, body: ElicitationAnswer, response: NO_CONTENT },
    )
    app.post('/elicitations/:id/answer', answer, async (request, reply) => {
      const { action, content } = request.body
      if (content !== undefined && action !== 'accept')
        throw invalidField('/content', 'is sent only with the action accept')
      elicitations.answer(request.params.id, request.body)
      return reply.code(204).send(null)
    })
  }
}
