import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ownMark } from '../../../../test/support/marked-processes.ts'
import { LINUX_FUNCTIONS } from '../linux/linux.ts'
import { isStillThere, listProcesses, readProcess } from '../linux/proc.ts'
import { reaperScript } from './reaper.ts'

/** A process in its own session with an empty environment: only its pid and its start time identify it. */
async function unmarked(path: string, args: readonly string[]) {
  const child = spawn(path, args, { stdio: ['pipe', 'ignore', 'ignore'], detached: true, env: {} })
  await once(child, 'spawn')
  const { pid = 0 } = child
  onTestFinished(() => void endGroup(pid))
  const startedAt = readProcess(pid)?.startedAt ?? 0
  return { pid, startedAt, id: `${pid}:${startedAt}`, wrong: `${pid}:${startedAt - 1}`, input: child.stdin }
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // it has ended already
  }
}

/** The children of a process, once it has that many. */
async function childrenOf(parent: number, count: number) {
  for (const end = performance.now() + 30_000; performance.now() < end; await sleep(10)) {
    const found = listProcesses().filter((each) => each.parent === parent)
    if (found.length >= count) return found
  }
  throw new Error(`the process ${parent} has fewer than ${count} children`)
}

/** Runs the reaper as if the service had sent these lines and was killed. Settles when the reaper has ended. */
async function reap(lines: readonly string[]): Promise<void> {
  const reaper = spawn('/bin/sh', ['-c', reaperScript(LINUX_FUNCTIONS), 'toolroom-reaper', ownMark(), ''], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: { PATH: '/usr/bin:/bin' },
  })
  reaper.stdin.end(lines.map((line) => `${line}\n`).join(''))
  await once(reaper, 'close')
}

describe.runIf(process.platform === 'linux')('R3: the reaper of a killed service', () => {
  test('the reaper kills the groups and processes it was told of and no others, although none has the mark', async () => {
    const [group, single, forgotten, untold] = await Promise.all(
      Array.from({ length: 4 }, () => unmarked('/bin/sleep', ['60'])),
    )
    if (!group || !single || !forgotten || !untold) return expect.unreachable()
    const told = [`+g ${group.id}`, `+p ${single.id}`, `+g ${forgotten.id}`, `+p ${forgotten.id}`]
    await reap([...told, `-g ${forgotten.id}`, `-p ${forgotten.id}`])
    expect([group, single, forgotten, untold].map(isStillThere)).toEqual([false, false, true, true])
  })

  test('the reaper never signals a pid whose start time differs from the one it was told', async () => {
    const { pid, startedAt, wrong, input } = await unmarked('/bin/sh', ['-c', 'read line; exit'])
    const before = readProcess(pid)
    await reap([`+g ${wrong}`, `+p ${wrong}`])
    expect(isStillThere({ pid, startedAt })).toBe(true)
    expect(readProcess(pid)?.cpuMs).toBe(before?.cpuMs)
    input.end('now\n') // it would not read this if it had been stopped
    await expect.poll(() => isStillThere({ pid, startedAt })).toBe(false)
  })

  test('the reaper kills a child that it was never told of, with its own session and an empty environment', async () => {
    const server = await unmarked('/bin/sh', ['-c', 'setsid sleep 60 & wait'])
    const [child] = await childrenOf(server.pid, 1)
    if (!child) return expect.unreachable()
    await reap([`+g ${server.id}`])
    expect(isStillThere(child)).toBe(false)
  })

  test('the reaper kills a known process that lost its parent, and its children', async () => {
    const outer = await unmarked('/bin/sh', ['-c', 'setsid sh -c "sleep 60 & wait" & read line; exit'])
    const [inner] = await childrenOf(outer.pid, 1)
    const [leaf] = await childrenOf(inner?.pid ?? 0, 1)
    if (!inner || !leaf) return expect.unreachable()
    outer.input.end('now\n')
    await expect.poll(() => readProcess(inner.pid)?.parent).not.toBe(outer.pid)
    await reap([`+g ${outer.id}`, `+p ${inner.pid}:${inner.startedAt}`])
    expect([inner, leaf].map(isStillThere)).toEqual([false, false])
  })

  test('the reaper kills a process whose name contains parentheses, spaces and a line break', async () => {
    const script = "process.title = ') R 1 1\\n(1'; setInterval(() => {}, 1000)"
    const server = await unmarked(process.execPath, ['-e', script])
    await expect.poll(() => readProcess(server.pid)?.name, { timeout: 30_000 }).toContain(') R 1 1\n')
    await reap([`+p ${server.id}`])
    expect(isStillThere(server)).toBe(false)
  })
})
