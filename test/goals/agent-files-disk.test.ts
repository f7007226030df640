import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { agents, agentView, done, put, textOf } from '../support/agents.ts'
import { ownFolder } from '../support/folder.ts'
import { AUTHORISED, type House, openHouse } from '../support/house.ts'
import { mayMount, smallDisk } from '../support/small-disk.ts'

const CURSOR = '{\n  "mcpServers": {\n    "theirs": { "command": "x" }\n  }\n}\n'
const CLAUDE = '{\n  "numStartups": 7\n}\n'
const servers = { ours: { command: 'ours', args: ['x'.repeat(20_000)] } }

const keys = async (house: House): Promise<{ agent_type: string }[]> =>
  (await house.inject({ url: '/api/keys', headers: AUTHORISED })).json().items

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
    const house = await openHouse({ home, env: { LOG_MAX_MB: '8' } })
    onTestFinished(() => house.close()) // before the disk is unmounted
    await done(house, 'POST', '/cursor/connect')
    const connected = textOf(home, '.cursor/mcp.json')
    disk.fill()

    // The first of them meets the full disk before the reserve is released, the others after that.
    for (let n = 0; n < 6; n += 1) {
      const requests = [
        await agents<{ code: string }>(house, 'PUT', '/claude-code/servers', { servers }),
        await agents<{ code: string }>(house, 'POST', '/claude-code/connect'),
        await agents<{ code: string }>(house, 'POST', '/cursor/connect'),
      ]
      for (const { status, body } of requests) expect([status, body.code]).toEqual([507, 'disk_full'])
      expect([textOf(home, '.claude.json'), textOf(home, '.cursor/mcp.json')]).toEqual([CLAUDE, connected])
      expect(await keys(house)).toMatchObject([{ agent_type: 'cursor' }])
    }
    disk.fill() // the space of the reserve, too
    expect(await agents(house, 'POST', '/cursor/disconnect')).toMatchObject({ status: 507 })
    expect([textOf(home, '.cursor/mcp.json'), (await keys(house)).length]).toEqual([connected, 1])

    disk.free()
    expect(await done(house, 'POST', '/cursor/disconnect')).toMatchObject({ removed: ['toolroom'] })
    expect([textOf(home, '.cursor/mcp.json'), await keys(house)]).toEqual([CURSOR, []])
    await done(house, 'PUT', '/claude-code/servers', { servers })
    await done(house, 'POST', '/cursor/connect')
    for (const type of ['claude-code', 'cursor']) {
      const { servers: all, drift } = await agentView(house, type)
      expect(all.filter(({ name }) => name !== 'theirs').map(({ managed }) => managed)).toEqual([true])
      expect(drift).toEqual([])
      await done(house, 'DELETE', `/${type}/servers`)
    }
    expect([textOf(home, '.claude.json'), textOf(home, '.cursor/mcp.json')]).toEqual([CLAUDE, CURSOR])
    expect(await keys(house)).toEqual([])
    expect(readdirSync(home).filter((name) => /lock|tmp/.test(name))).toEqual([])
  },
)

test.runIf(mayMount)(
  'on a full disk, entries and their key are removed with the space of the reserve (R15)',
  async () => {
    const home = ownFolder()
    const disk = smallDisk(join(home, 'data'), 24)
    put(home, '.cursor/mcp.json', CURSOR)
    const house = await openHouse({ home, env: { LOG_MAX_MB: '8' } })
    onTestFinished(() => house.close())
    await done(house, 'POST', '/cursor/connect')
    await done(house, 'PUT', '/cursor/servers', { servers })
    disk.fill()
    expect(await agents(house, 'DELETE', '/cursor/servers', {})).toMatchObject({ status: 200 })
    expect([textOf(home, '.cursor/mcp.json'), await keys(house)]).toEqual([CURSOR, []])
  },
)
