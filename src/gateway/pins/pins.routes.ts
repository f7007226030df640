import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from 'typebox'
import { AppError } from '../../kernel/errors.ts'
import { callerOf, operationsOf, wholeList } from '../../kernel/rest-parts.ts'
import { Tool, ToolKey, type ToolList } from '../../kernel/tool-fields.ts'
import type { Definition } from '../../mcp/protocol/listed-definitions.ts'
import {
  type Catalogues,
  INSTRUCTIONS,
  instructionsIn,
  type PinKind,
} from '../../servers/shared/catalogues.ts'
import { hashOf } from '../../servers/shared/compare-listed-definitions.ts'
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

/** A request to approve something of the server `id`. */
interface Approval {
  readonly id: string
  readonly params: { readonly id: string }
  readonly body: Static<typeof ApproveInput>
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
      const operation = operationsOf(tag)
      const approve = async (request: Approval, kind: PinKind, name: string): Promise<string> => {
        const { id } = await servers.get(request.params.id)
        const pinned = { server_id: id, kind, name }
        await pins.approve(pinned, itemsOf(id, kind), request.body?.hash, callerOf(request))
        return id
      }

      const approveTool = operation(
        'Approve a new or changed tool',
        `Agents see the tool again and can call it. ${ONLY_HELD} \`change\` in the tool list shows what has changed.`,
        { params: ToolKey, body: ApproveInput, response: { 200: Tool }, errors: ['nothing_to_approve'] },
      )
      app.post(`${path}/:id/tools/:tool/approve`, approveTool, async (request) => {
        const { tool: name } = request.params
        const id = await approve(request, 'tool', name)
        return found(
          (await servers.tools(id)).items.find((tool) => tool.name === name),
          `'${id}' no longer has this tool`,
        )
      })

      const prompts = operation(
        "List the server's prompts",
        'As of the last time the server ran. `state` and `change` show which prompts are held, as in the tool list.',
        { params: ServerKey, response: { 200: PromptList }, errors: ['server_not_running'] },
      )
      app.get(`${path}/:id/prompts`, prompts, async (request) => {
        const { id } = await servers.get(request.params.id)
        const { source, fetched_at } = await servers.tools(id)
        return { ...wholeList(promptsOf(id)), source, fetched_at }
      })

      const approvePrompt = operation(
        'Approve a new or changed prompt',
        `Agents see the prompt again and can get it. ${ONLY_HELD}`,
        { params: PromptKey, body: ApproveInput, response: { 200: Prompt }, errors: ['nothing_to_approve'] },
      )
      app.post(`${path}/:id/prompts/:prompt/approve`, approvePrompt, async (request) => {
        const { prompt: name } = request.params
        const id = await approve(request, 'prompt', name)
        return found(
          promptsOf(id).find((prompt) => prompt.name === name),
          `'${id}' no longer has this prompt`,
        )
      })

      const instructions = operation(
        "Get the server's instructions for agents",
        'As of the last time the server ran.',
        { params: ServerKey, response: { 200: Instructions }, errors: ['server_not_running'] },
      )
      app.get(`${path}/:id/instructions`, instructions, async (request) => {
        const { id } = await servers.get(request.params.id)
        await servers.tools(id)
        return instructionsOf(id)
      })

      const approveInstructions = operation(
        'Approve new or changed instructions',
        `Agents that connect from now on get them. ${ONLY_HELD}`,
        {
          params: ServerKey,
          body: ApproveInput,
          response: { 200: Instructions },
          errors: ['nothing_to_approve'],
        },
      )
      app.post(`${path}/:id/instructions/approve`, approveInstructions, async (request) =>
        instructionsOf(await approve(request, 'instructions', INSTRUCTIONS)),
      )
    }
  }
}

const textOr = (value: unknown): string | null => (typeof value === 'string' ? value : null)

function found<T>(value: T | undefined, message: string): T {
  if (value === undefined) throw new AppError('not_found', message)
  return value
}
