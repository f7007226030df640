import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { userInfo } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { stopwatch } from '../../../test/support/measuring.ts'
import { leaveBehind } from '../../../test/support/orphan.ts'
import { commandLine, listProcesses, readProcess } from '../platform/linux/proc.ts'
import { thisPlatform as platform } from '../platform/this-platform.ts'
import { endOrphan, findOrphans } from './orphans.ts'

const mark = 'OUR_MARK=abc'
const { table } = platform
const find = async (pid: number) => (await findOrphans({ table, mark })).find((orphan) => orphan.pid === pid)
const isThere = (pid: number) => readProcess(pid)?.zombie === false
const mayContain = spawnSync('/bin/sh', ['-c', 'unshare --pid --fork true']).status === 0

describe.runIf(process.platform === 'linux')('find', () => {
  test.each(['pipe', 'socket'] as const)(
    'a server with a %s as stdin and without a parent is an orphan',
    async (way) => {
      const { pid, id, script } = await leaveBehind({ way })
      expect(await find(pid)).toEqual({
        id,
        pid,
        command: `${process.execPath} ${script}`,
        owner: userInfo().username,
        age_s: expect.toSatisfy((age: number) => age >= 0 && age < 10),
        rss_bytes: expect.toSatisfy((bytes: number) => bytes > 1_000_000),
        processes: 1,
      })
    },
  )

  test('a server that was adopted by tini is an orphan', async () => {
    const { pid } = await leaveBehind({ way: 'parent lives, another group', parent: 'tini' })
    expect(await find(pid)).toMatchObject({ pid })
  })

  test('the children of an orphan count as part of it', async () => {
    const { pid } = await leaveBehind({ fixture: 'forker', args: ['--children=3'] })
    const alone = readProcess(pid)?.rssBytes ?? 0
    expect(await find(pid)).toMatchObject({ processes: 4 })
    expect((await find(pid))?.rss_bytes).toBeGreaterThan(alone)
    const children = listProcesses().filter(({ parent }) => parent === pid)
    expect(await Promise.all(children.map((child) => find(child.pid)))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test('the command of an orphan has no secrets and at most 500 characters', async () => {
    const { pid } = await leaveBehind({ args: ['--api-key', 'hunter2', '--token=hunter2', 'x'.repeat(600)] })
    expect((await find(pid))?.command).toMatch(/--api-key \*\*\* --token=\*\*\* x+$/)
    expect((await find(pid))?.command).toHaveLength(500)
  })

  test.each([
    ['that is not an MCP server', { name: 'web.mjs' }],
    ['with a running parent', { way: 'parent lives' }],
    ['without a pipe as stdin', { fixture: 'deaf', way: 'no input' }],
    ['that systemd started', { way: 'systemd' }],
    ['that an init started itself, like an agent with pid 1', { way: 'parent lives', parent: 'tini' }],
    ['of this Toolroom', { env: { OUR_MARK: 'abc/docs' } }],
    ['of another Toolroom', { env: { TOOLROOM_CHILD: 'other/docs' } }],
  ] as const)('a process %s is not an orphan', async (_, options) => {
    const { pid } = await leaveBehind(options)
    expect(await find(pid)).toBeUndefined()
    expect(isThere(pid)).toBe(true)
  })

  test.runIf(mayContain)('a process in a container is not an orphan', async () => {
    const { pid } = await leaveBehind({ way: 'container', parent: 'tini' })
    expect(readProcess(readProcess(pid)?.parent ?? 0)?.name).toBe('tini')
    expect(await find(pid)).toBeUndefined()
  })

  test('the command line of a process with a title is split into words', async () => {
    const program = "process.title = 'npm exec a-mcp'; console.log(1); setInterval(() => {}, 1000)"
    const child = spawn(process.execPath, ['-e', program, 'x'.repeat(100)])
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    expect(commandLine(child.pid ?? 0)).toEqual(['npm', 'exec', 'a-mcp'])
  })

  test('the search works while processes start and end', async () => {
    const storm = spawn('/bin/sh', ['-c', 'while :; do (sleep 0 | cat) & (exit) & wait; done'])
    onTestFinished(() => void storm.kill('SIGKILL'))
    for (let round = 0; round < 100; round += 1) {
      await findOrphans({ table, mark })
      await sleep(1)
    }
  })
})

describe.runIf(process.platform === 'linux')('end', () => {
  test('ending an orphan ends its children too', async () => {
    const { pid, id } = await leaveBehind({ fixture: 'forker', args: ['--children=3'] })
    const children = listProcesses().filter(({ parent }) => parent === pid)
    expect(await endOrphan(id, { platform, mark })).toMatchObject({
      outcome: 'ended',
      orphan: { id, processes: 4 },
    })
    expect([pid, ...children.map((child) => child.pid)].filter(isThere)).toEqual([])
    expect(await endOrphan(id, { platform, mark })).toEqual({ outcome: 'gone' })
  })

  test('an orphan that ignores SIGTERM is killed after 2 s', async () => {
    const { pid, id } = await leaveBehind({ fixture: 'deaf', args: ['--children=2'] })
    const startedAt = performance.now()
    expect(await endOrphan(id, { platform, mark })).toMatchObject({ outcome: 'ended' })
    expect(performance.now() - startedAt).toBeGreaterThan(1990)
    expect(isThere(pid)).toBe(false)
  })

  test('a stopped orphan ends without SIGKILL', async () => {
    const { pid, id } = await leaveBehind()
    process.kill(pid, 'SIGSTOP')
    const spent = stopwatch()
    expect(await endOrphan(id, { platform, mark })).toMatchObject({ outcome: 'ended' })
    expect(spent()).toBeLessThan(1900)
    expect(isThere(pid)).toBe(false)
  })

  test('a wrong or missing start time in the id ends no process', async () => {
    const { pid, id } = await leaveBehind()
    const start = Number(id.split('-')[1])
    for (const other of [`${pid}-${start + 1}`, `${pid}-0${start}`, `${pid}-`, `${pid}`, ` ${id}`, '']) {
      expect(await endOrphan(other, { platform, mark }), other).toEqual({ outcome: 'gone' })
    }
    expect(isThere(pid)).toBe(true)
  })

  test('a process that is not an orphan cannot be ended', async () => {
    const { pid, id } = await leaveBehind({ name: 'web.mjs' })
    expect(await endOrphan(id, { platform, mark })).toEqual({ outcome: 'gone' })
    expect(isThere(pid)).toBe(true)
  })

  test('ending an orphan of another user is not permitted and sends no signal', async () => {
    const { pid, id } = await leaveBehind()
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
    })
    onTestFinished(() => kill.mockRestore())
    expect(await endOrphan(id, { platform, mark })).toMatchObject({
      outcome: 'not_permitted',
      orphan: { pid },
    })
    expect(kill.mock.calls).toEqual([[pid, 0]])
    kill.mockRestore()
    expect(isThere(pid)).toBe(true)
  })
})
