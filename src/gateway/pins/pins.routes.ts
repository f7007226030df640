import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AppError } from '../../kernel/errors.ts'
import { Tool, ToolKey, type ToolList } from '../../kernel/tool-fields.ts'
import { wholeList } from '../../kernel/wire.ts'
import type { Definition } from '../../mcp/protocol/lists.ts'
import {
  type Catalogues,
  INSTRUCTIONS,
  instructionsIn,
  type PinKind,
} from '../../servers/shared/catalogues.ts'
import { hashOf } from '../../servers/shared/definition-hash.ts'
import { ServerKey } from '../../servers/shared/server-fields.ts'
import { ApproveInput, Instructions, Prompt, PromptKey, PromptList } from './pins.schema.ts'
import type { Pins } from './pins.ts'

/** The servers of one kind. */
interface Kind {
  readonly path: '/servers' | '/http-servers'
  readonly tag: string
  readonly servers: {
    get(key: string): Promise<{ readonly id: string }>
    /** Throws when the lists of the server are not known. */
    tools(key: string): Promise<ToolList>
  }
}

const ONLY_HELD = 'Needed only with HOLD_CHANGED_TOOLS.'

/** What agents see of prompts and instructions, and the approval of what is held, for both kinds of server. */
export function pinRoutes(
  pins: Pick<Pins, 'approve' | 'heldIn'>,
  catalogues: Pick<Catalogues, 'of'>,
  kinds: readonly Kind[],
): FastifyPluginAsyncTypebox {
  const itemsOf = (id: string, kind: PinKind): readonly Definition[] => {
    const catalogue = catalogues.of(id)
    if (!catalogue) return []
    if (kind === 'instructions') return instructionsIn(catalogue)
    return kind === 'tool' ? catalogue.tools : catalogue.prompts
  }

  function promptsOf(id: string): Prompt[] {
    const prompts = itemsOf(id, 'prompt')
    const held = pins.heldIn(id, 'prompt', prompts)
    return prompts.map((definition) => {
      const { name, title, description, arguments: args } = definition
      const change = held.get(String(name)) ?? null
      return {
        name: String(name),
        title: textOr(title),
        description: textOr(description),
        arguments: Array.isArray(args) ? args : [],
        hash: hashOf(definition),
        state: change ? 'held' : 'ok',
        change,
      }
    })
  }

  function instructionsOf(id: string): Instructions {
    const items = itemsOf(id, 'instructions')
    const [definition] = items
    const change = pins.heldIn(id, 'instructions', items).get(INSTRUCTIONS) ?? null
    return {
      instructions: textOr(definition?.instructions),
      hash: definition ? hashOf(definition) : null,
      state: change ? 'held' : 'ok',
      change,
    }
  }

  return async (app) => {
    for (const { path, tag, servers } of kinds) {
      const tags = [tag]
      const config = { errors: ['nothing_to_approve'] }
      const unknown = { errors: ['server_not_running'] }

      const approveTool = {
        tags,
        summary: 'Approve a new or changed tool',
        description: `Agents see the tool again and can call it. ${ONLY_HELD} \`change\` in the tool list shows what has changed.`,
        params: ToolKey,
        body: ApproveInput,
        response: { 200: Tool },
      }
      app.post(`${path}/:id/tools/:tool/approve`, { schema: approveTool, config }, async (request) => {
        const { tool: name } = request.params
        const { id } = await servers.get(request.params.id)
        const by = { request_id: request.id }
        await pins.approve({ server_id: id, kind: 'tool', name }, itemsOf(id, 'tool'), request.body?.hash, by)
        return found(
          (await servers.tools(id)).items.find((tool) => tool.name === name),
          `'${id}' no longer has this tool`,
        )
      })

      const prompts = {
        tags,
        summary: "List the server's prompts",
        description:
          'As of the last time the server ran. `state` and `change` show which prompts are held, as in the tool list.',
        params: ServerKey,
        response: { 200: PromptList },
      }
      app.get(`${path}/:id/prompts`, { schema: prompts, config: unknown }, async (request) => {
        const { id } = await servers.get(request.params.id)
        const { source, fetched_at } = await servers.tools(id)
        return { ...wholeList(promptsOf(id)), source, fetched_at }
      })

      const approvePrompt = {
        tags,
        summary: 'Approve a new or changed prompt',
        description: `Agents see the prompt again and can get it. ${ONLY_HELD}`,
        params: PromptKey,
        body: ApproveInput,
        response: { 200: Prompt },
      }
      app.post(`${path}/:id/prompts/:prompt/approve`, { schema: approvePrompt, config }, async (request) => {
        const { prompt: name } = request.params
        const { id } = await servers.get(request.params.id)
        const by = { request_id: request.id }
        const items = itemsOf(id, 'prompt')
        await pins.approve({ server_id: id, kind: 'prompt', name }, items, request.body?.hash, by)
        return found(
          promptsOf(id).find((prompt) => prompt.name === name),
          `'${id}' no longer has this prompt`,
        )
      })

      const instructions = {
        tags,
        summary: "Get the server's instructions for agents",
        description: 'As of the last time the server ran.',
        params: ServerKey,
        response: { 200: Instructions },
      }
      app.get(`${path}/:id/instructions`, { schema: instructions, config: unknown }, async (request) => {
        const { id } = await servers.get(request.params.id)
        await servers.tools(id)
        return instructionsOf(id)
      })

      const approveInstructions = {
        tags,
        summary: 'Approve new or changed instructions',
        description: `Agents that connect from now on get them. ${ONLY_HELD}`,
        params: ServerKey,
        body: ApproveInput,
        response: { 200: Instructions },
      }
      app.post(
        `${path}/:id/instructions/approve`,
        { schema: approveInstructions, config },
        async (request) => {
          const { id } = await servers.get(request.params.id)
          const pinned = { server_id: id, kind: 'instructions', name: INSTRUCTIONS } as const
          const by = { request_id: request.id }
          await pins.approve(pinned, itemsOf(id, 'instructions'), request.body?.hash, by)
          return instructionsOf(id)
        },
      )
    }
  }
}

const textOr = (value: unknown): string | null => (typeof value === 'string' ? value : null)

function found<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new AppError('not_found', message)
  return value
}
