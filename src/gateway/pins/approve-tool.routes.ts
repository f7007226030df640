import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AppError } from '../../kernel/errors.ts'
import { Tool, ToolKey, type ToolList } from '../../kernel/tool-fields.ts'
import type { Catalogues } from '../../upstreams/catalogues.ts'
import { ApproveInput } from './pins.schema.ts'
import type { Pins } from './tool-pins.ts'

/** The servers of one kind. */
interface Kind {
  readonly path: '/servers' | '/http-servers'
  readonly tag: string
  readonly servers: {
    get(key: string): Promise<{ readonly id: string }>
    tools(key: string): Promise<ToolList>
  }
}

/** `POST …/tools/{tool}/approve`, for both kinds of server. */
export function pinRoutes(
  pins: Pick<Pins, 'approve'>,
  catalogues: Pick<Catalogues, 'of'>,
  kinds: readonly Kind[],
): FastifyPluginAsyncTypebox {
  return async (app) => {
    for (const { path, tag, servers } of kinds) {
      const approve = {
        tags: [tag],
        summary: 'Approve a changed tool',
        description:
          'Agents see and call it again, as it is now. Needed only under HOLD_CHANGED_TOOLS; `change` in the list of tools says what is another.',
        params: ToolKey,
        body: ApproveInput,
        response: { 200: Tool },
      }
      const config = { errors: ['nothing_to_approve'] }
      app.post(`${path}/:id/tools/:tool/approve`, { schema: approve, config }, async (request) => {
        const { tool } = request.params
        const { id } = await servers.get(request.params.id)
        const offered = catalogues.of(id)?.tools ?? []
        await pins.approve({ server_id: id, tool }, offered, request.body?.hash, { request_id: request.id })
        const approved = (await servers.tools(id)).items.find(({ name }) => name === tool)
        if (!approved) throw new AppError('not_found', `'${id}' no longer has this tool`)
        return approved
      })
    }
  }
}
