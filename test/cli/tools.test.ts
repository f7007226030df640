import { expect, test } from 'vitest'
import { checkCommands, cliEnv, namesIn, runCli } from '../support/cli.ts'
import { type House, openHouse } from '../support/house.ts'
import { retold } from '../support/retold.ts'
import { post, register } from '../support/running.ts'

async function seeded(): Promise<House> {
  const house = await openHouse({ env: { HOLD_CHANGED_TOOLS: 'true' } })
  await register(house, 'echo')
  await register(house, 'dozen')
  for (const id of ['echo', 'dozen']) await post(house, `/api/servers/${id}/start`)
  return house
}

checkCommands(namesIn('Tools'), seeded, () => ({
  tools: { ok: [[], ['echo', '--tokens']], fails: [['ecoh'], 5] },
  tool: {
    ok: [
      ['off', 'echo', 'slow', '--dry-run'],
      ['on', 'echo', 'slow'],
    ],
    fails: [['maybe', 'echo', 'slow'], 2],
  },
  review: { ok: [['echo'], ['echo', '--dry-run']], fails: [['echo', 'nothing'], 5] },
  call: {
    ok: [
      ['echo', 'echo', 'text=hello'],
      ['echo', 'echo', '-'],
    ],
    stdin: '{"text":"from a pipe"}',
    fails: [['echo', 'ecko', 'text=1'], 5],
  },
}))

test('tools, tool, review and call: costs, switches, changes word by word, and exit code 7 for an error of the tool', async () => {
  const house = await seeded()
  const env = cliEnv(house)
  const cli = (...argv: string[]) => runCli(env, argv)
  const listed = (await cli('tools', 'echo')).stdout
  expect(listed).toMatch(/^ {2}SERVER +TOOL +~TOKENS +STATE +DESCRIPTION\n/)
  expect(listed).toMatch(/^ {2}echo +echo +\d+ +● on +\S/m)
  expect(listed).toMatch(/^4 tools, about \S+ tokens in the context/m)

  expect((await cli('tool', 'off', 'echo', 'ech')).stdout).toBe('echo echo is off\n')
  expect((await cli('tools', 'echo')).stdout).toMatch(/^ {2}echo +echo +\d+ +○ off/m)
  expect((await cli('tool', 'on', 'echo', 'echo')).code).toBe(0)

  expect((await cli('call', 'echo', 'echo', 'text=12')).stdout).toBe('12\n') // text, because the tool takes text
  const failed = await cli('call', 'dozen', 'fail')
  expect(failed).toMatchObject({ code: 7, stderr: '' })
  expect(failed.stdout).toMatch(/^✕ dozen fail: connect ECONNREFUSED/)
  expect(JSON.parse((await cli('call', 'dozen', 'fail', '--json')).stdout)).toMatchObject({ isError: true })
  expect((await cli('call', 'echo', 'echo', 'text')).stderr).toContain("'text' must be KEY=VALUE")
  expect((await cli('call', 'echo', 'echo', '--args', '[1]')).stderr).toContain('must be one JSON object')

  const tool = (description: string) => ({ name: 'find', description, inputSchema: { type: 'object' } })
  const server = retold([tool('Finds old notes')])
  await server.add(house)
  await post(house, '/api/servers/retold/start')
  await server.offer(house, [tool('Finds new notes')])
  await expect
    .poll(async () => (await cli('review', 'retold', 'find')).stdout)
    .toBe(
      '▲ find  held: agents do not see it\n    description: Finds [-old-]{+new+} notes\n1 tool to review.\n',
    )
  expect((await cli('review', 'retold', '--approve')).stdout).toMatch(/^Approved 1 tool\.$/m)
  expect((await cli('review', 'retold')).stdout).toBe('No tool of retold is new or changed.\n')
})
