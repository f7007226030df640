import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { userInfo } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { leaveBehind } from '../../../test/support/orphan.ts'
import { commandLine, listProcesses, readProcess } from '../process/process-table.ts'
import { endOrphan } from './end-orphan.ts'
import { findOrphans } from './orphans.ts'

const mark = 'OUR_MARK=abc'
const find = (pid: number) => findOrphans({ mark }).find((orphan) => orphan.pid === pid)
const isThere = (pid: number) => readProcess(pid)?.zombie === false
const mayContain = spawnSync('/bin/sh', ['-c', 'unshare --pid --fork true']).status === 0

describe.runIf(process.platform === 'linux')('the census', () => {
  test.each(['pipe', 'socket'] as const)('finds a server at a %s whose parent is gone', async (way) => {
    const { pid, id, script } = await leaveBehind({ way })
    expect(find(pid)).toEqual({
      id,
      pid,
      command: `${process.execPath} ${script}`,
      owner: userInfo().username,
      age_s: expect.toSatisfy((age: number) => age >= 0 && age < 10),
      rss_bytes: expect.toSatisfy((bytes: number) => bytes > 1_000_000),
      processes: 1,
    })
  })

  test('knows other adopters than pid 1', async () => {
    const { pid } = await leaveBehind({ way: 'parent lives, another group', parent: 'tini' })
    expect(find(pid)).toMatchObject({ pid })
  })

  test('counts what a server has started with it, and not as items of their own', async () => {
    const { pid } = await leaveBehind({ fixture: 'forker', args: ['--children=3'] })
    const alone = readProcess(pid)?.pages ?? 0
    expect(find(pid)).toMatchObject({ processes: 4 })
    expect(find(pid)?.rss_bytes).toBeGreaterThan(alone * 4096)
    const children = listProcesses().filter(({ parent }) => parent === pid)
    expect(children.map((child) => find(child.pid))).toEqual([undefined, undefined, undefined])
  })

  test('shows no secret and no more than 500 characters', async () => {
    const { pid } = await leaveBehind({ args: ['--api-key', 'hunter2', '--token=hunter2', 'x'.repeat(600)] })
    expect(find(pid)?.command).toMatch(/--api-key \*\*\* --token=\*\*\* x+$/)
    expect(find(pid)?.command).toHaveLength(500)
  })

  test.each([
    ['that is no MCP server', { name: 'web.mjs' }],
    ['whose parent lives', { way: 'parent lives' }],
    ['without a pipe', { fixture: 'deaf', way: 'no input' }],
    ['that systemd started', { way: 'systemd' }],
    ['that an init started itself, as an agent that is pid 1 does', { way: 'parent lives', parent: 'tini' }],
    ['of ours', { env: { OUR_MARK: 'abc/docs' } }],
    ['of another Toolroom', { env: { TOOLROOM_CHILD: 'other/docs' } }],
  ] as const)('leaves out a process %s', async (_, options) => {
    const { pid } = await leaveBehind(options)
    expect(find(pid)).toBeUndefined()
    expect(isThere(pid)).toBe(true)
  })

  test.runIf(mayContain)('leaves out a process in a container: its init is no adopter', async () => {
    const { pid } = await leaveBehind({ way: 'container', parent: 'tini' })
    expect(readProcess(readProcess(pid)?.parent ?? 0)?.name).toBe('tini')
    expect(find(pid)).toBeUndefined()
  })

  test('reads what a program that gave itself a title has left of its command line', async () => {
    const program = "process.title = 'npm exec a-mcp'; console.log(1); setInterval(() => {}, 1000)"
    const child = spawn(process.execPath, ['-e', program, 'x'.repeat(100)])
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    expect(commandLine(child.pid ?? 0)).toEqual(['npm', 'exec', 'a-mcp'])
  })

  test('does not mind that processes come and go while it looks', async () => {
    const storm = spawn('/bin/sh', ['-c', 'while :; do (sleep 0 | cat) & (exit) & wait; done'])
    onTestFinished(() => void storm.kill('SIGKILL'))
    for (let round = 0; round < 100; round += 1) {
      findOrphans({ mark })
      await sleep(1)
    }
  })
})

describe.runIf(process.platform === 'linux')('ending an orphan', () => {
  test('takes along what it has started', async () => {
    const { pid, id } = await leaveBehind({ fixture: 'forker', args: ['--children=3'] })
    const children = listProcesses().filter(({ parent }) => parent === pid)
    expect(await endOrphan(id, { mark })).toMatchObject({ outcome: 'ended', orphan: { id, processes: 4 } })
    expect([pid, ...children.map((child) => child.pid)].filter(isThere)).toEqual([])
    expect(await endOrphan(id, { mark })).toEqual({ outcome: 'gone' })
  })

  test('happens by force when it does not listen', async () => {
    const { pid, id } = await leaveBehind({ fixture: 'deaf', args: ['--children=2'] })
    const startedAt = performance.now()
    expect(await endOrphan(id, { mark })).toMatchObject({ outcome: 'ended' })
    expect(performance.now() - startedAt).toBeGreaterThan(1990)
    expect(isThere(pid)).toBe(false)
  })

  test('reaches one that is stopped, without force', async () => {
    const { pid, id } = await leaveBehind()
    process.kill(pid, 'SIGSTOP')
    const startedAt = performance.now()
    expect(await endOrphan(id, { mark })).toMatchObject({ outcome: 'ended' })
    expect(performance.now() - startedAt).toBeLessThan(1900)
    expect(isThere(pid)).toBe(false)
  })

  test('needs the exact id: with another start time, or none, nobody is ended', async () => {
    const { pid, id } = await leaveBehind()
    const start = Number(id.split('-')[1])
    for (const other of [`${pid}-${start + 1}`, `${pid}-0${start}`, `${pid}-`, `${pid}`, ` ${id}`, '']) {
      expect(await endOrphan(other, { mark }), other).toEqual({ outcome: 'gone' })
    }
    expect(isThere(pid)).toBe(true)
  })

  test('ends nobody who is no orphan, whatever the id says', async () => {
    const { pid, id } = await leaveBehind({ name: 'web.mjs' })
    expect(await endOrphan(id, { mark })).toEqual({ outcome: 'gone' })
    expect(isThere(pid)).toBe(true)
  })

  test('of another user is not permitted, and nobody is half ended', async () => {
    const { pid, id } = await leaveBehind()
    const kill = vi.spyOn(process, 'kill').mockImplementation(() => {
      throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' })
    })
    onTestFinished(() => kill.mockRestore())
    expect(await endOrphan(id, { mark })).toMatchObject({ outcome: 'not_permitted', orphan: { pid } })
    expect(kill.mock.calls).toEqual([[pid, 0]])
    kill.mockRestore()
    expect(isThere(pid)).toBe(true)
  })
})

test.skipIf(process.platform === 'linux')('where there is no /proc there are no orphans', async () => {
  expect(findOrphans({ mark })).toEqual([])
  expect(await endOrphan('1-1', { mark })).toEqual({ outcome: 'gone' })
})
