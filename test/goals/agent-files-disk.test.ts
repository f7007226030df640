import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { agents, agentView, done, put, textOf } from '../support/agents.ts'
import { ownFolder } from '../support/folder.ts'
import { mayMount, smallDisk } from '../support/small-disk.ts'
import { AUTHORISED, openTestService, type TestService } from '../support/test-service.ts'

const CURSOR = '{\n  "mcpServers": {\n    "theirs": { "command": "x" }\n  }\n}\n'
const CLAUDE = '{\n  "numStartups": 7\n}\n'
const servers = { ours: { command: 'ours', args: ['x'.repeat(20_000)] } }

const keys = async (service: TestService): Promise<{ agent_type: string }[]> =>
  (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json().items

test.runIf(mayMount).each([
  ['the data folder', 'data'],
  ["the data folder and the agents' files", ''],
])(
  'on a full disk with %s, every change of a file that answers 507 has changed neither the file nor the keys (R15)',
  async (_, small) => {
    const home = ownFolder()
    const disk = smallDisk(join(home, small), 24)
    put(home, '.cursor/mcp.json', CURSOR)
    put(home, '.claude.json', CLAUDE)
    const service = await openTestService({ home, env: { LOG_MAX_MB: '8' } })
    onTestFinished(() => service.close()) // before the disk is unmounted
    await done(service, 'POST', '/cursor/connect')
    const connected = textOf(home, '.cursor/mcp.json')
    disk.fill()

    // The first of them meets the full disk before the reserve is released, the others after that.
    for (let n = 0; n < 6; n += 1) {
      const requests = [
        await agents<{ code: string }>(service, 'PUT', '/claude-code/servers', { servers }),
        await agents<{ code: string }>(service, 'POST', '/claude-code/connect'),
        await agents<{ code: string }>(service, 'POST', '/cursor/connect'),
      ]
      for (const { status, body } of requests) expect([status, body.code]).toEqual([507, 'disk_full'])
      expect([textOf(home, '.claude.json'), textOf(home, '.cursor/mcp.json')]).toEqual([CLAUDE, connected])
      expect(await keys(service)).toMatchObject([{ agent_type: 'cursor' }])
    }
    disk.fill() // the space of the reserve, too
    expect(await agents(service, 'POST', '/cursor/disconnect')).toMatchObject({ status: 507 })
    expect([textOf(home, '.cursor/mcp.json'), (await keys(service)).length]).toEqual([connected, 1])

    disk.free()
    expect(await done(service, 'POST', '/cursor/disconnect')).toMatchObject({ removed: ['toolroom'] })
    expect([textOf(home, '.cursor/mcp.json'), await keys(service)]).toEqual([CURSOR, []])
    await done(service, 'PUT', '/claude-code/servers', { servers })
    await done(service, 'POST', '/cursor/connect')
    for (const type of ['claude-code', 'cursor']) {
      const { servers: all, drift } = await agentView(service, type)
      expect(all.filter(({ name }) => name !== 'theirs').map(({ managed }) => managed)).toEqual([true])
      expect(drift).toEqual([])
      await done(service, 'DELETE', `/${type}/servers`)
    }
    expect([textOf(home, '.claude.json'), textOf(home, '.cursor/mcp.json')]).toEqual([CLAUDE, CURSOR])
    expect(await keys(service)).toEqual([])
    expect(readdirSync(home).filter((name) => /lock|tmp/.test(name))).toEqual([])
  },
)

test.runIf(mayMount)(
  'on a full disk, entries and their key are removed with the space of the reserve, and the agent gets its choice back (R15)',
  async () => {
    const home = ownFolder()
    const disk = smallDisk(join(home, 'data'), 24)
    put(home, '.cursor/mcp.json', CURSOR)
    const service = await openTestService({ home, env: { LOG_MAX_MB: '8' } })
    onTestFinished(() => service.close())
    const choice = async () =>
      (await done<{ servers: string[] | null }>(service, 'GET', '/cursor/tools')).servers
    await done(service, 'POST', '/cursor/connect', { servers: [] })
    await done(service, 'PUT', '/cursor/servers', { servers })
    expect(await choice()).toEqual([])
    disk.fill()
    expect(await agents(service, 'DELETE', '/cursor/servers', {})).toMatchObject({ status: 200 })
    expect([textOf(home, '.cursor/mcp.json'), await keys(service), await choice()]).toEqual([
      CURSOR,
      [],
      null,
    ])
  },
)
