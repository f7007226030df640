import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import * as Type from 'typebox'
import { AppError } from '../../kernel/errors.ts'
import { Tool, ToolKey, type ToolList } from '../../kernel/tool-fields.ts'
import type { Catalogues } from '../../upstreams/catalogues.ts'
import type { ToolPins } from './tool-pins.ts'

/** The servers of one kind. */
interface Kind {
  readonly path: '/servers' | '/http-servers'
  readonly tag: string
  readonly servers: {
    get(key: string): Promise<{ readonly id: string }>
    tools(key: string): Promise<ToolList>
  }
}

const Hash = Type.String({
  pattern: '^[0-9a-f]{64}$',
  expected: 'the hash of a tool, 64 hexadecimal digits',
  description:
    'The hash of the definition that you have reviewed. If the tool has changed since, it is not approved',
})
const Approval = Type.Object({ hash: Type.Optional(Hash) }, { additionalProperties: false, examples: [{}] })
const ApproveInput = Type.Union([Approval, Type.Null()], { examples: [{}] })

/** `POST …/tools/{tool}/approve`, for both kinds of server. */
export function approveToolRoutes(
  pins: Pick<ToolPins, 'approve'>,
  catalogues: Pick<Catalogues, 'of'>,
  kinds: readonly Kind[],
): FastifyPluginAsyncTypebox {
  return async (app) => {
    for (const { path, tag, servers } of kinds) {
      const approve = {
        tags: [tag],
        summary: 'Approve a changed tool',
        description:
          'Agents see the tool again and can call it. Needed only with HOLD_CHANGED_TOOLS. `change` in the tool list shows what has changed.',
        params: ToolKey,
        body: ApproveInput,
        response: { 200: Tool },
      }
      const config = { errors: ['nothing_to_approve'] }
      app.post(`${path}/:id/tools/:tool/approve`, { schema: approve, config }, async (request) => {
        const { tool } = request.params
        const { id } = await servers.get(request.params.id)
        const current = catalogues.of(id)?.tools ?? []
        await pins.approve({ server_id: id, tool }, current, request.body?.hash, { request_id: request.id })
        const approved = (await servers.tools(id)).items.find(({ name }) => name === tool)
        if (!approved) throw new AppError('not_found', `'${id}' no longer has this tool`)
        return approved
      })
    }
  }
}
