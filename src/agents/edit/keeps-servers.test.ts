import fc from 'fast-check'
import { expect, test } from 'vitest'
import { agentView, done, put, textOf } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { runs } from '../../../test/support/full-or-short.ts'
import { post } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import type { AgentToolsView } from '../../gateway/catalogue/visibility.schema.ts'

/** A server as an agent has it: what is started, and with which values. */
interface Start {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

const NAMES = ['memory', 'github', 'files'] as const
const start = fc.record({
  command: fc.constantFrom('npx', 'uvx'),
  args: fc.constantFrom(['-y', 'one'], ['-y', 'two', '--here']),
  env: fc.dictionary(fc.constantFrom('FACTS', 'REGION'), fc.constantFrom('a', 'b', 'c'), { maxKeys: 2 }),
})
const entries = fc.dictionary(fc.constantFrom(...NAMES), start, { maxKeys: 3 })

const toml = (servers: Readonly<Record<string, Start>>) =>
  Object.entries(servers)
    .map(([name, { command, args, env }]) => {
      const values = Object.entries(env).map(([key, value]) => `${key} = ${JSON.stringify(value)}`)
      return `[mcp_servers.${name}]\ncommand = "${command}"\nargs = ${JSON.stringify(args)}\nenv = { ${values.join(', ')} }\n`
    })
    .join('\n')
const json = (servers: Readonly<Record<string, Start>>) => JSON.stringify({ mcpServers: servers }, null, 2)

const AGENTS = {
  'claude-code': { file: '.claude.json', write: json },
  cursor: { file: '.cursor/mcp.json', write: json },
  codex: { file: '.codex/config.toml', write: toml },
} as const
type AgentType = keyof typeof AGENTS
const TYPES = Object.keys(AGENTS) as AgentType[]

const textOfStart = ({ command, args, env }: Start): string =>
  JSON.stringify([command, args, Object.entries(env).sort()])

const asSet = (starts: readonly Start[]): string[] => [...new Set(starts.map(textOfStart))].sort()

/** The servers that an agent reaches through the gateway, with their values. */
async function throughGateway(service: TestService, agent: AgentType): Promise<Start[]> {
  const read = async <T>(url: string) => (await service.inject({ url, headers: AUTHORISED })).json<T>()
  const { by_server } = await read<AgentToolsView>(`/api/agents/${agent}/tools`)
  return Promise.all(
    by_server.map(async ({ server_id }) => {
      const url = `/api/servers/${server_id}`
      const server = await read<Start>(url)
      const values = Object.keys(server.env).map(async (name) => {
        const revealed = await post(service, `${url}/reveal`, { field: 'env', name })
        return [name, revealed.json().value] as const
      })
      return { ...server, env: Object.fromEntries(await Promise.all(values)) }
    }),
  )
}

/** The names of the servers in a file of an agent, and which of them lead to the gateway. */
async function entriesOf(service: TestService, agent: AgentType) {
  const { servers } = await agentView(service, agent)
  const used = servers.filter(({ parked }) => !parked)
  return { names: used.map(({ name }) => name).sort(), managed: used.every(({ managed }) => managed) }
}

/** Ways to take a take-over back. */
const BACK = {
  disconnect: (service: TestService, agent: AgentType) => done(service, 'POST', `/${agent}/disconnect`),
  undo: (service: TestService, agent: AgentType) => done(service, 'POST', `/${agent}/undo`),
  remove: (service: TestService, agent: AgentType) => done(service, 'DELETE', `/${agent}/servers`),
  restore: (service: TestService, agent: AgentType) =>
    post(service, '/api/backups/restore', { agent_type: agent }),
} as const
const way = fc.record({
  keep_names: fc.boolean(),
  back: fc.constantFrom(...(Object.keys(BACK) as (keyof typeof BACK)[])),
})

test('for every agent, the servers with their values are the same before and after a take-over, with new names and with old ones, and disconnect, undo, removal and restore return every byte (property)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.tuple(entries, entries, entries), fc.tuple(way, way, way), async (homes, ways) => {
      const home = ownFolder()
      const texts = new Map<AgentType, string>()
      for (const [n, agent] of TYPES.entries()) {
        const { file, write } = AGENTS[agent]
        texts.set(agent, write(homes[n] ?? {}))
        put(home, file, texts.get(agent) ?? '')
      }
      const service = await openTestService({ home })
      try {
        await done(service, 'POST', '/import', {})
        for (const [n, agent] of TYPES.entries()) {
          const had = asSet(Object.values(homes[n] ?? {}))
          const keep_names = ways[n]?.keep_names ?? false
          const report = await done(service, 'POST', `/${agent}/connect`, { take_over: true, keep_names })
          expect([report.gateway?.gained, report.gateway?.kept]).toEqual([[], []])
          const { names, managed } = await entriesOf(service, agent)
          expect(names).toEqual(keep_names ? Object.keys(homes[n] ?? {}).sort() : ['toolroom'])
          expect(managed).toBe(true)
          expect(asSet(await throughGateway(service, agent)), agent).toEqual(had)
        }
        for (const [n, agent] of TYPES.entries()) {
          const isWritten = !ways[n]?.keep_names || Object.keys(homes[n] ?? {}).length > 0
          const back = isWritten ? (ways[n]?.back ?? 'undo') : 'disconnect'
          await BACK[back](service, agent)
          expect([back, textOf(home, AGENTS[agent].file)]).toEqual([back, texts.get(agent)])
          expect(
            (await agentView(service, agent)).servers.some(({ managed, parked }) => managed || parked),
          ).toBe(false)
        }
      } finally {
        await service.close()
      }
    }),
    { numRuns: runs(12, 300) },
  )
})
