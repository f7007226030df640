import { expect, test } from 'vitest'
import { agents, done, put, textOf } from '../../test/support/agents.ts'
import { ownFolder } from '../../test/support/folder.ts'
import { AUTHORISED, openHouse } from '../../test/support/house.ts'
import { register } from '../../test/support/running.ts'

const CURSOR = '{\n  "mcpServers": {\n    "theirs": { "command": "x" }\n  }\n}\n'

test('connecting writes one entry with a key that works, and disconnecting leaves the very bytes and no key', async () => {
  const home = ownFolder()
  put(home, '.cursor/mcp.json', CURSOR)
  const house = await openHouse({ home })
  await register(house, 'echo')
  const keys = async () => (await house.inject({ url: '/api/keys', headers: AUTHORISED })).json().items
  const dry = await done(house, 'POST', '/cursor/connect', { dry_run: true })
  expect(dry).toMatchObject({ changed: true, added: ['toolroom'] })
  expect([textOf(home, '.cursor/mcp.json'), await keys()]).toEqual([CURSOR, []])
  const report = await done(house, 'POST', '/cursor/connect')
  expect(report.diff).not.toContain('tk_')
  const { url, headers } = JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers.toolroom
  expect(url).toBe(`${house.address}/mcp`)
  const reply = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18' },
    }),
  })
  expect(reply.status).toBe(200)
  expect(await keys()).toMatchObject([{ agent_type: 'cursor' }])
  const before = headers.Authorization
  await done(house, 'POST', '/cursor/connect')
  expect(await keys()).toHaveLength(1)
  expect(JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers.toolroom.headers.Authorization).not.toBe(
    before,
  )
  expect(await done(house, 'POST', '/cursor/disconnect')).toMatchObject({ removed: ['toolroom'] })
  expect([textOf(home, '.cursor/mcp.json'), await keys()]).toEqual([CURSOR, []])
})

test('an agent that takes no address is told so, and no key is left', async () => {
  const home = ownFolder()
  put(home, '.config/Claude/claude_desktop_config.json', '{}')
  const house = await openHouse({ home })
  expect(await agents(house, 'POST', '/claude-desktop/connect')).toMatchObject({
    status: 422,
    body: { code: 'not_supported' },
  })
  expect((await house.inject({ url: '/api/keys', headers: AUTHORISED })).json().total).toBe(0)
})
