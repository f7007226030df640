import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ownFolder } from '../support/folder.ts'
import { Agent, type Era, newKey } from '../support/gateway.ts'
import { openService } from '../support/service-process.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/servers/${name}.mjs`, import.meta.url))
const node = (kind: string, ...args: string[]) => ({
  command: process.execPath,
  args: [fixture(kind), ...args],
})

/** The fixture of each server, and a call that it answers. */
const SERVERS: Readonly<Record<string, { start: ReturnType<typeof node>; tool: string; args?: object }>> = {
  files: { start: node('echo'), tool: 'echo', args: { text: 'hi' } },
  memory: { start: node('echo', '--as=memory'), tool: 'pid' },
  slow: { start: node('slow-handshake', '--ms=500'), tool: 'echo', args: { text: 'hi' } },
  deaf: { start: node('deaf'), tool: 'echo', args: { text: 'hi' } },
  noisy: { start: node('noisy'), tool: 'echo', args: { text: 'hi' } },
  later: { start: node('later'), tool: 'say', args: { text: 'hi', ms: 1 } },
  mirror: { start: node('mirror'), tool: 'mirror' },
  teller: { start: node('teller'), tool: 'tell' },
  recorder: { start: node('recorder'), tool: 'all' },
  asker: { start: node('asker'), tool: 'say', args: { text: 'hi' } },
  listing: { start: node('listing'), tool: 'echo', args: { text: 'hi' } },
  modern: { start: node('modern'), tool: 'echo', args: { text: 'hi' } },
}
const NAMES = Object.keys(SERVERS)
/** A person stops this one before the service is killed. */
const STOPPED = 'memory'

/** The files of nine agents, in their own formats. */
function writeAgents(home: string): void {
  const of = (...names: string[]) => Object.fromEntries(names.map((name) => [name, SERVERS[name]?.start]))
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    writeFileSync(join(home, path), text)
  }
  const json = (path: string, value: object) => write(path, JSON.stringify(value, null, 2))
  const { command, args } = node('later')
  json('.claude.json', { mcpServers: of('files', 'memory') })
  json('.config/Claude/claude_desktop_config.json', { mcpServers: of('slow') })
  json('.cursor/mcp.json', { mcpServers: of('deaf', 'noisy') })
  write(
    '.codex/config.toml',
    `[mcp_servers.later]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`,
  )
  json('.config/Code/User/mcp.json', { servers: of('mirror') })
  json('.gemini/settings.json', { mcpServers: of('teller', 'recorder') })
  json('.codeium/windsurf/mcp_config.json', { mcpServers: of('asker') })
  json('.config/zed/settings.json', { context_servers: of('listing') })
  const modern = SERVERS.modern?.start
  const local = { type: 'local', command: [modern?.command, ...(modern?.args ?? [])] }
  json('.config/opencode/opencode.json', { mcp: { modern: local } })
}

/** The servers whose call was answered with a result. */
async function answered(service: { address: string }, key: string, era: Era): Promise<string[]> {
  const agent = await Agent.open(service, key, era)
  const replies = await Promise.all(
    NAMES.map(async (name) => {
      const { tool = '', args } = SERVERS[name] ?? {}
      const [answer] = (await agent.call(`${name}__${tool}`, args)).answers
      return answer?.result && !(answer.result as { isError?: boolean }).isError ? [name] : []
    }),
  )
  return replies.flat()
}

async function listed(service: { address: string }, key: string): Promise<Set<string>> {
  const agent = await Agent.open(service, key, 'modern')
  const result = (await agent.ask('tools/list')).answers[0]?.result as { tools: { name: string }[] }
  return new Set(result.tools.map(({ name }) => name.split('__')[0] ?? ''))
}

test.runIf(process.platform === 'linux')(
  'twelve servers imported from nine agents with defaults work through the gateway, and again after the service was killed, without help; one that a person stopped is not offered',
  async () => {
    const home = ownFolder()
    writeAgents(home)
    const first = await openService({ home })
    const { body } = await first.ask('POST', '/agents/import', {})
    const created = (body.items as { name: string; outcome: string }[]).filter(
      ({ outcome }) => outcome === 'created',
    )
    expect(created.map(({ name }) => name).sort(), JSON.stringify(body)).toEqual(NAMES.toSorted())
    const key = await newKey(first)
    expect(await listed(first, key)).toEqual(new Set()) // answered at once; the starts run behind it
    await expect.poll(() => listed(first, key), { timeout: 60_000 }).toEqual(new Set(NAMES))
    expect(await answered(first, key, 'legacy')).toEqual(NAMES)
    await first.ask('POST', `/servers/${STOPPED}/stop`)
    await first.ask('GET', '/calls') // stores the calls of the last half second
    first.child.kill('SIGKILL')
    await first.ended

    const second = await openService({ home })
    const others = NAMES.filter((name) => name !== STOPPED)
    const statuses = new Set((await second.list()).map(({ id, status }) => `${id === STOPPED} ${status}`))
    expect(statuses).toEqual(new Set(['true stopped', 'false idle']))
    // The tools of a server that was listed just before the kill may not have been stored: it is started for the list.
    await expect.poll(() => listed(second, key)).toEqual(new Set(others))
    for (const era of ['legacy', 'modern'] as const) expect(await answered(second, key, era)).toEqual(others)
    const agent = await Agent.open(second, key, 'legacy')
    const [refused] = (await agent.call(`${STOPPED}__pid`)).answers
    expect(refused?.error).toMatchObject({
      message: `'${STOPPED}' is stopped, and only a person can start it`,
      data: { code: 'server_stopped' },
    })
    const logged = await second.ask('GET', `/logs?source=gateway&server_id=${STOPPED}&level=warn`)
    expect(logged.body.items[0]).toMatchObject({ tool: 'pid', data: { error_code: 'server_stopped' } })
    const history = await second.ask('GET', `/calls?server_id=${STOPPED}`)
    expect(history.body.items).toMatchObject([
      ...[1, 2, 3].map(() => ({ status: 'error', error_code: 'server_stopped' })),
      { status: 'ok' }, // before the restart
    ])
    expect((await second.list()).find(({ id }) => id === STOPPED)).toMatchObject({
      status: 'stopped',
      stats: { errors: 3 }, // of two rounds and this call
    })
  },
  120_000,
)
