import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'

test('init shows a plan without a service, imports and connects with --yes, and everything can be taken back (ux.md, section 2.1)', async () => {
  const home = ownFolder()
  const file = join(home, '.cursor', 'mcp.json')
  const before = '{"mcpServers":{"notes":{"command":"node","args":["-e","0"]}}}\n'
  mkdirSync(join(home, '.cursor'))
  writeFileSync(file, before)
  const cli = (...argv: string[]) => runCli({ HOME: home, PORT: '0' }, argv)
  onTestFinished(async () => void (await cli('down')))

  const planned = await cli('init', '--dry-run', '--connect', 'cursor')
  expect(planned).toMatchObject({ code: 0, stderr: expect.stringContaining('Toolroom is not running') })
  expect(planned.stdout).toMatch(
    /^Found 1 agent with 1 server entry \(1 different server\)\. Nothing was changed\.$/m,
  )
  expect(planned.stdout).toMatch(/^✓ would import notes {2}node -e 0$/m)
  expect((await cli('init', '--json')).code).toBe(2)
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect((await cli('status')).code).toBe(3)

  const done = await cli('init', '--json', '--yes', '--connect', 'cursor')
  expect(done.code).toBe(0)
  expect(JSON.parse(done.stdout)).toMatchObject({
    imported: [{ name: 'notes', outcome: 'created' }],
    connected: [{ agent_type: 'cursor', changed: true }],
  })
  expect(readFileSync(file, 'utf8')).toContain('/mcp')
  expect((await cli('agents', 'restore', 'cursor', '--yes')).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe(before)
})
