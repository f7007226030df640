import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { MAIN } from '../support/bridge.ts'
import { changingServer } from '../support/changing-server.ts'
import { checkCommands, cliEnv, namesIn, runCli } from '../support/cli.ts'
import { byNode } from '../support/real-servers.ts'
import { post, register } from '../support/running-servers.ts'
import { hasTmux, openTerminal } from '../support/terminal.ts'
import { AUTHORISED, openTestService, type TestService } from '../support/test-service.ts'
import { add } from '../support/with-servers.ts'

async function seeded(): Promise<TestService> {
  const service = await openTestService({ env: { HOLD_CHANGED_TOOLS: 'true' } })
  await register(service, 'echo')
  await register(service, 'dozen')
  for (const id of ['echo', 'dozen']) await post(service, `/api/servers/${id}/start`)
  return service
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
  const service = await seeded()
  const env = cliEnv(service)
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
  const server = changingServer([tool('Finds old notes')])
  await server.add(service)
  await post(service, '/api/servers/changing/start')
  await server.offer(service, [tool('Finds new notes')])
  await expect
    .poll(async () => (await cli('review', 'changing', 'find')).stdout)
    .toBe(
      '▲ find  held: agents do not see it\n    description: Finds [-old-]{+new+} notes\n1 tool to review.\n',
    )
  expect((await cli('review', 'changing', '--approve')).stdout).toMatch(/^Approved 1 tool\.$/m)
  expect((await cli('review', 'changing')).stdout).toBe('Nothing of changing is new or changed.\n')
})

test('review shows changed prompts and instructions beside the tools, and approves them all', async () => {
  const service = await openTestService({ env: { HOLD_CHANGED_TOOLS: 'true' } })
  const server = changingServer({
    prompts: [{ name: 'sum', description: 'Sums up' }],
    instructions: 'Be brief',
  })
  await server.add(service)
  await post(service, '/api/servers/changing/start')
  const prompts = () => service.inject({ url: '/api/servers/changing/prompts', headers: AUTHORISED })
  await expect.poll(async () => (await prompts()).json()).toMatchObject({ items: [{ name: 'sum' }] })
  server.write({ prompts: [{ name: 'sum', description: 'Sums it up' }], instructions: 'Be kind' })
  await post(service, '/api/servers/changing/restart')
  const review = async (...more: string[]) =>
    (await runCli(cliEnv(service), ['review', 'changing', ...more])).stdout
  await expect
    .poll(() => review())
    .toBe(
      [
        '▲ prompt sum  held: agents do not see it',
        '    description: Sums {+it +}up',
        '▲ instructions  held: agents do not see it',
        '    instructions: Be [-brief-]{+kind+}',
        '1 prompt, the instructions to review.',
        '',
      ].join('\n'),
    )
  expect(await review('--approve')).toContain('Approved 1 prompt, the instructions.\n')
  expect(JSON.parse(await review('--json'))).toMatchObject({ items: [], prompts: [], instructions: null })
})

test.skipIf(process.platform === 'win32')(
  'call shows progress and log messages on stderr while the tool runs, and Ctrl-C cancels the call at the server',
  async () => {
    const service = await openTestService()
    await add(service, { name: 'everything', start_mode: 'manual', ...byNode('everything') })
    await register(service, 'teller')
    for (const id of ['everything', 'teller']) await post(service, `/api/servers/${id}/start`)
    const cli = (...argv: string[]) => runCli(cliEnv(service), ['call', ...argv])
    const long = ['everything', 'trigger-long-running-operation', 'steps=2']
    const done = await cli(...long, 'duration=1')
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('completed') })
    expect(done.stderr).toMatch(/^1\/2\b.*\n(?:.*\n)*2\/2\b/m)
    const told = await cli('teller', 'tell', '--json')
    expect(JSON.parse(told.stdout)).toMatchObject({ content: [{ text: 'told' }] })
    expect(told.stderr).toContain('warning  db: the cache is cold\nemergency  {"code":7}\n')

    const env = { PATH: process.env.PATH, ...cliEnv(service) }
    const slow = ['call', 'everything', 'trigger-long-running-operation', 'steps=6000', 'duration=600']
    const child = spawn(process.execPath, [MAIN, ...slow], { env })
    onTestFinished(() => void child.kill('SIGKILL'))
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    await expect.poll(() => stderr).toMatch(/^\d+\/6000\b/)
    child.kill('SIGINT')
    expect(await once(child, 'close')).toEqual([130, null])
    expect(stderr).toMatch(/Cancelled trigger-long-running-operation\n$/)
    const cancelled = () => service.inject({ url: '/api/calls?status=cancelled', headers: AUTHORISED })
    await expect
      .poll(async () => (await cancelled()).json())
      .toMatchObject({ items: [{ server_id: 'everything', status: 'cancelled' }] })
  },
)

test.runIf(hasTmux)(
  'a question of a tool is asked on the terminal, and without one the call fails with exit code 2 and the question',
  async () => {
    const service = await openTestService()
    await register(service, 'asker')
    await post(service, '/api/servers/asker/start')
    const refused = await runCli(cliEnv(service), ['call', 'asker', 'elicit', 'who=Which name?', '--json'])
    expect(refused.code).toBe(2)
    expect(JSON.parse(refused.stdout)).toMatchObject({
      detail: 'elicit asks a question, and there is no terminal to ask on: Which name?',
    })

    const { start, shows, press } = openTerminal(cliEnv(service))
    start("call asker elicit who='Which name?'")
    await shows(/^Which name\?\n {2}name \(string, optional\):/m)
    press('Ada', 'Enter')
    await shows('Send this? [Y/n]')
    press('Enter')
    await shows(/^\{"action":"accept","content":\{"name":"Ada"\}\}\ncode 0\n/m)
    start("call asker elicit who='Once more?'")
    await shows(/^Once more\?\n {2}name /m)
    press('C-d')
    await shows(/^\{"action":"cancel"\}\ncode 0\n/m)
  },
)
