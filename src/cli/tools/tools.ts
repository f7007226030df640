import type { Run } from '../run/context.ts'
import { Failure } from '../run/failure.ts'
import { type Span, toned } from '../run/line.ts'
import { counted, thousands } from '../run/units.ts'
import { allServers, serverNamed } from '../servers/any-server.ts'
import { type Tool, toolsOf } from './tools-of.ts'

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
  if (!first)
    return { json: { items }, lines: ['No tools yet.'], plain: [], next: 'next: toolroom start --all' }
  return {
    json: { items, tokens: total },
    table: {
      head: ['SERVER', 'TOOL', '~TOKENS', 'STATE', 'DESCRIPTION'],
      rows: items.map((tool): Span[] => [
        tool.server_id,
        tool.name,
        tool.tokens,
        stateOf(tool),
        (tool.description ?? '').split('\n')[0] ?? '',
      ]),
    },
    lines: [
      `${counted(items.length, 'tool')}, about ${thousands(total)} tokens in the context of an agent that gets all of them`,
    ],
    next: `next: toolroom call ${first.server_id} ${first.name}`,
  }
}

function stateOf({ enabled, state, change }: Tool): Span {
  if (state === 'held') return toned('warn', '▲ held')
  if (change) return toned('warn', '▲ changed')
  return enabled ? toned('ok', '● on') : toned('dim', '○ off')
}
