import { didYouMean } from '../../kernel/did-you-mean.ts'
import { type AnyServer, allServers, isStdio, routeOf, serverNamed } from '../run/any-server.ts'
import { dryRun, emptyList, type Run } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import { counted, thousands } from '../run/human-readable.ts'
import { type Span, toned } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'

export type Tool = Schemas['Tool']

/** `toolroom tools [SERVER]` */
export const listTools: Run = async ({ api, given }) => {
  const word = given.wordIfAny('SERVER')
  const servers = word === undefined ? await allServers(api) : [await serverNamed(api, word)]
  const lists = await Promise.all(
    servers.map(async (server) => {
      const tools = await toolsOf(api, server).catch((error: unknown) => {
        // Never listed yet: that is a failure only if this server was asked for.
        if (word === undefined && error instanceof Failure) return []
        throw error
      })
      return tools.map((tool) => ({ server_id: server.id, ...tool }))
    }),
  )
  const items = lists.flat()
  if (given.is('tokens')) items.sort((a, b) => b.tokens - a.tokens)
  const total = items.reduce((sum, { tokens, enabled }) => sum + (enabled ? tokens : 0), 0)
  const [first] = items
  if (!first) return emptyList({ items }, 'No tools yet.', 'next: toolroom start --all')
  return {
    json: { items, tokens: total },
    table: {
      head: ['SERVER', 'TOOL', '~TOKENS', 'STATE', 'DESCRIPTION'],
      rows: items.map((tool): Span[] => [
        tool.server_id,
        tool.name,
        tool.tokens,
        toolState(tool),
        (tool.description ?? '').split('\n')[0] ?? '',
      ]),
    },
    lines: [
      `${counted(items.length, 'tool')}, about ${thousands(total)} tokens in the context of an agent that gets all of them`,
    ],
    next: `next: toolroom call ${first.server_id} ${first.name}`,
  }
}

function toolState({ enabled, state, change }: Tool): Span {
  if (state === 'held') return toned('warn', '▲ held')
  if (change) return toned('warn', '▲ changed')
  return enabled ? toned('ok', '● on') : toned('dim', '○ off')
}

/** `toolroom tool on|off SERVER TOOL...` */
export const switchTools: Run = async ({ api, given }) => {
  const enabled = given.word('STATE') === 'on'
  const server = await serverNamed(api, given.word('SERVER'))
  const known = await toolsOf(api, server)
  const names = given.words('TOOL').map((word) => toolNamed(known, word, server.id).name)
  const changed = names.filter((name) => known.some((tool) => tool.name === name && tool.enabled !== enabled))
  const json = { server_id: server.id, enabled, tools: names, changed }
  const state = enabled ? 'on' : 'off'
  if (given.is('dry-run'))
    return dryRun(
      json,
      names.map((name) => `Would switch ${name} ${state}${changed.includes(name) ? '' : ' (it is already)'}`),
    )
  const settings = names.map((name) => [name, { ...server.tools[name], enabled }] as const)
  const body = { tools: { ...server.tools, ...Object.fromEntries(settings) } }
  const path = { id: server.id }
  if (isStdio(server)) await api.patch('/api/servers/{id}', { path, body })
  else await api.put('/api/http-servers/{id}', { path, body })
  return {
    json,
    lines: names.map((name) => `${server.id} ${name} is ${state}`),
    next: `next: toolroom tools ${server.id}`,
  }
}

/** The tools of a server, from its last listing if it does not run. */
export async function toolsOf(api: Api, server: AnyServer): Promise<Tool[]> {
  return (await api.get(`${routeOf(server)}/tools`, { path: { id: server.id } })).items
}

/** The tool with this name, or the only one that begins with it. */
export function toolNamed(tools: readonly Tool[], given: string, server: string): Tool {
  const begun = tools.filter(({ name }) => name.startsWith(given))
  const found = tools.find(({ name }) => name === given) ?? (begun.length === 1 ? begun[0] : undefined)
  if (found) return found
  const names = (begun.length > 1 ? begun : tools).map(({ name }) => name)
  const hint = begun.length > 1 ? `Several begin with it: ${names.join(', ')}` : didYouMean(given, names)
  throw new Failure('not_found', `${server} has no tool '${given}'`, hint ?? `See toolroom tools ${server}`)
}
