import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  leftAfter,
  NO_REAPER,
  signals,
  startInGroup,
  sweeper,
  untilMarked,
} from '../../../../test/support/marked-processes.ts'
import { stopwatch } from '../../../../test/support/measuring.ts'
import type { StopStep } from '../../../kernel/server-state.ts'
import { stopLadder } from '../../process/stop-ladder.ts'
import { linuxTable } from '../linux/linux.ts'
import {
  commandLine,
  isStillThere,
  listProcesses,
  pageSizeIn,
  processesMarked,
  readProcess,
} from '../linux/proc.ts'
import { OwnProcesses } from './own-processes.ts'
import { Signals, Sweeper } from './signals.ts'

const onLinux = process.platform === 'linux'
const graces = { stdinMs: 200, termMs: 300 }
const node = (script: string) => ({ path: process.execPath, args: ['-e', script] })
const sh = (script: string) => ({ path: '/bin/sh', args: ['-c', script] })

const IGNORES_SIGNALS =
  "process.on('SIGTERM', () => {}); process.on('SIGINT', () => {}); setInterval(() => {}, 1000); console.log('ready')"
const FORK = "const { spawn } = require('child_process');"
const sleeper = (options: string) => `spawn('sleep', ['60'], ${options})`

const start = async (program: { path: string; args: string[] }) => {
  const child = await startInGroup(program)
  return { child, mark: child.mark }
}
const groupOf = (leader: number) => ({ leader, startedAt: readProcess(leader)?.startedAt })

describe.runIf(onLinux)('process table', () => {
  test('the process table contains this process with its parent and start time', () => {
    const me = readProcess(process.pid)
    expect(me).toMatchObject({ pid: process.pid, parent: process.ppid, zombie: false })
    expect(listProcesses().some(({ pid }) => pid === process.pid)).toBe(true)
    expect(isStillThere({ pid: process.pid, startedAt: me?.startedAt ?? 0 })).toBe(true)
    expect(isStillThere({ pid: process.pid, startedAt: 1 })).toBe(false)
    expect(readProcess(2 ** 22 + 1)).toBeUndefined()
  })

  test('a process whose title contains parentheses is parsed correctly', async () => {
    const child = spawn(process.execPath, [
      '-e',
      "process.title = ') R 1 1 1 1'; setInterval(() => {}, 1000)",
    ])
    onTestFinished(() => void child.kill('SIGKILL'))
    await expect.poll(() => readProcess(child.pid ?? 0)?.name).toContain(') R 1 1')
    expect(readProcess(child.pid ?? 0)).toMatchObject({ parent: process.pid, zombie: false })
  })

  test('the size of a page is the one that the kernel tells, 64 KiB on some computers', () => {
    const vector = Buffer.alloc(48)
    for (const [at, word] of [16n, 1n, 6n, 65_536n].entries()) vector.writeBigUInt64LE(word, at * 8)
    expect(pageSizeIn(vector)).toBe(65_536)
    const { rss } = process.memoryUsage()
    const ratio = (readProcess(process.pid)?.rssBytes ?? 0) / rss
    expect(ratio).toBeGreaterThan(0.5)
    expect(ratio).toBeLessThan(2)
  })

  test('a mark is found only at the start of an environment variable', async () => {
    const { child, mark } = await start(sh('sleep 60'))
    expect(await untilMarked(mark, 1)).toBeGreaterThan(0)
    expect(processesMarked(mark).map(({ pid }) => pid)).toContain(child.pid)
    expect(processesMarked(mark.slice(1))).toEqual([])
    expect(processesMarked(`${mark}x`)).toEqual([])
  })
})

describe.runIf(onLinux)('stop ladder', () => {
  test.each([
    ['a process that ends with its input', { path: '/bin/cat', args: [] }, 'stdin_closed', 1],
    [
      'a process that ignores the end of its input',
      sh('trap "exit 0" TERM; echo ready; while :; do sleep 0.05; done'),
      'terminated',
      1,
    ],
    ['a process that ignores SIGTERM', node(IGNORES_SIGNALS), 'killed', 1],
    [
      'a process whose children stay in the group',
      node(
        `${FORK} ${sleeper('{}')}; ${sleeper('{}')}; process.stdin.resume().on('end', () => process.exit()); console.log('ready')`,
      ),
      'stdin_closed',
      3,
    ],
    [
      'a process whose children leave the group',
      node(
        `${FORK} ${sleeper('{ detached: true }')}; ${sleeper('{ detached: true }')}; ${sleeper('{ detached: true }')}; ${IGNORES_SIGNALS}`,
      ),
      'killed',
      4,
    ],
    ['a process behind a shell', sh(`"${process.execPath}" -e "${IGNORES_SIGNALS}"; true`), 'terminated', 2],
  ] as const)('the stop ladder ends %s and all its children', async (_, program, reached, processes) => {
    const { child, mark } = await start({ path: program.path, args: [...program.args] })
    if (program.args.some((arg) => arg.includes('ready'))) await once(child.output, 'data')
    expect(await untilMarked(mark, processes)).toBeGreaterThanOrEqual(processes)
    const steps: StopStep[] = []
    const spent = stopwatch()
    expect(await stopLadder(child, graces, (step) => steps.push(step))).toBe(reached)
    expect(spent()).toBeLessThan(2500)
    expect(steps.at(-1)).toBe(reached)
    expect(await leftAfter(mark, 30_000)).toBe(0)
  })

  test('the stop ladder continues a stopped process so that it can end', async () => {
    const { child, mark } = await start(sh('sleep 60'))
    process.kill(child.pid, 'SIGSTOP')
    expect(await stopLadder(child, graces)).toBe('terminated')
    expect(await leftAfter(mark, 30_000)).toBe(0)
  })

  test('a group signal does not reach another process with the same pid', async () => {
    const other = spawn('sleep', ['60'], { detached: true })
    onTestFinished(() => void other.kill('SIGKILL'))
    await once(other, 'spawn')
    const { leader, startedAt = 0 } = groupOf(other.pid ?? 0)
    signals.toGroup({ leader, startedAt: startedAt - 1 }, 'SIGKILL')
    await sleep(100)
    expect(isStillThere({ pid: leader, startedAt })).toBe(true)
  })
})

test.runIf(onLinux)(
  'a sweep kills all processes with the mark, including new children, and no others',
  async () => {
    const fork = 'while :; do sleep 60 & sleep 0.01; done'
    const { child, mark } = await start(sh(fork))
    const other = await start(sh('sleep 60'))
    // Without `sleep 0.01`, which may exit before the sweep reaches it.
    const staying = () => processesMarked(mark).filter(({ pid }) => commandLine(pid).includes('60'))
    await expect.poll(() => staying().length, { timeout: 60_000 }).toBeGreaterThanOrEqual(5)
    const before = staying()
    expect(await sweeper.sweep(mark)).toBeGreaterThan(before.length) // and the shell
    await child.ended
    expect(await leftAfter(mark, 30_000)).toBe(0)
    expect(processesMarked(other.mark).length).toBeGreaterThan(0)
  },
)

test.runIf(onLinux)(
  'the end of a group kills processes that are forked meanwhile, even with a group of their own and an empty environment (R4)',
  async () => {
    const fork = 'for n in $(seq 1500); do env -i sleep 60 & done; wait'
    const { child } = await start(sh(`set -m; (${fork}) & wait`))
    const inSession = () =>
      listProcesses().filter(({ session, zombie }) => session === child.pid && !zombie).length
    onTestFinished(() => {
      for (const facts of listProcesses()) if (facts.session === child.pid) signals.end(facts)
    })
    const processes = new OwnProcesses({ table: linuxTable, signals, reaper: NO_REAPER })
    const group = groupOf(child.pid)
    processes.watch(group)
    await expect.poll(inSession, { timeout: 60_000, interval: 5 }).toBeGreaterThan(100)
    await processes.end(group)
    await child.ended
    await sleep(200)
    expect(inSession()).toBe(0)
  },
)

test.runIf(onLinux)(
  'the end of a group and a sweep wait for processes that a busy computer ends a while after they were killed (R4)',
  async () => {
    const { child, mark } = await start(sh('exec sleep 60'))
    let killedAt = Number.POSITIVE_INFINITY
    const slow = new Signals({
      table: linuxTable,
      emptyGroup: ['ESRCH'],
      kill: (pid, signal) => {
        if (killedAt < Number.POSITIVE_INFINITY) return
        killedAt = performance.now()
        setTimeout(() => process.kill(pid, signal), 300)
      },
    })
    const processes = new OwnProcesses({ table: linuxTable, signals: slow, reaper: NO_REAPER })
    const group = groupOf(child.pid)
    processes.watch(group)
    await processes.end(group)
    expect(readProcess(child.pid)?.zombie ?? true).toBe(true)
    expect(performance.now() - killedAt).toBeGreaterThanOrEqual(299)

    const other = await start(sh('exec sleep 60'))
    killedAt = Number.POSITIVE_INFINITY
    expect(await new Sweeper(linuxTable, slow).sweep(other.mark)).toBe(1)
    expect(processesMarked(mark, other.mark)).toEqual([])
  },
)

test.runIf(onLinux)(
  'a hundred stops at the same time share sweeps, and each ends the processes with its own mark and no others',
  async () => {
    const started = await Promise.all(Array.from({ length: 5 }, () => start(sh('sleep 60'))))
    const other = await start(sh('sleep 60'))
    const absent = Array.from({ length: 95 }, (_, n) => `TOOLROOM_CHILD=absent-${n}`)
    const cpuMs = async (work: () => unknown) => {
      const before = process.cpuUsage()
      await work()
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1000
    }
    const oneByOne = await cpuMs(async () => {
      for (const mark of absent) await sweeper.sweep(mark)
    })
    const together = await cpuMs(() => {
      const marks = [...started.map(({ mark }) => mark), ...absent]
      return Promise.all(marks.map((mark) => sweeper.sweepTogether(mark)))
    })
    for (const { mark } of started) expect(await leftAfter(mark, 30_000)).toBe(0)
    expect(processesMarked(other.mark).length).toBeGreaterThan(0)
    expect(together).toBeLessThan(oneByOne / 3)
  },
)
