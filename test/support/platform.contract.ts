import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { StopStep } from '../../src/kernel/server-state.ts'
import type { Platform, ProcessGroup, ProcessGroups } from '../../src/supervisor/platform/platform.ts'
import { stopLadder } from '../../src/supervisor/process/stop-ladder.ts'
import { bundled } from './bundled.ts'

/** A tree of processes, in JavaScript, so that it runs on every system. Each process prints its pid. */
const TREES = {
  'a process that ends with its input': `process.stdin.resume().on('end', () => process.exit()); say()`,
  'a process that ignores the end of its input and every signal': `deaf(); say()`,
  'a process whose children stay with it': `child("deaf(); say()"); child("deaf(); say()"); deaf(); say()`,
  'a process whose child has a group of its own': `child("deaf(); say()", { detached: true }); deaf(); say()`,
  'a process whose grandchild has a group of its own': `child('child("deaf(); say()", { detached: true }); deaf(); say()'); deaf(); say()`,
} as const
const PROCESSES: Readonly<Record<keyof typeof TREES, number>> = {
  'a process that ends with its input': 1,
  'a process that ignores the end of its input and every signal': 1,
  'a process whose children stay with it': 3,
  'a process whose child has a group of its own': 2,
  'a process whose grandchild has a group of its own': 3,
}

const PRELUDE = `
const say = () => console.log(process.pid)
const deaf = () => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) try { process.on(signal, () => {}) } catch {}
  process.stdin.resume().on('error', () => {})
  setInterval(() => {}, 1000)
}
const child = (script, options = {}) => {
  const { spawn } = require('node:child_process')
  const code = 'eval(process.env.TREE + ' + JSON.stringify(script) + ')'
  spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'inherit', 'ignore'], ...options })
}
`
/** Descendants inherit the functions as a variable. */
const TREE = { TREE: PRELUDE }
const scriptOf = (script: string): string => `eval(process.env.TREE + ${JSON.stringify(script)})`

const GRACES = { stdinMs: 300, termMs: 300 }

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** The pids that the processes of a tree print. */
async function pidsFrom(output: Readable, count: number): Promise<number[]> {
  const pids: number[] = []
  for await (const line of createInterface({ input: output })) {
    pids.push(Number(line))
    if (pids.length === count) break
  }
  onTestFinished(() => {
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL')
  })
  return pids
}

const pidsOf = async (child: ProcessGroup): Promise<number[] | undefined> =>
  (await child.usage())?.map(({ pid }) => pid).sort()

/** On Windows, a process that has a console of its own also has a conhost.exe. */
const only = (pids: readonly number[]): number[] =>
  process.platform === 'win32' ? expect.arrayContaining([...pids]) : [...pids].sort()

/** What every platform must do. `file` exports the platform as `platform`, for a service that is killed. */
export function platformContract(name: string, platform: Platform, file: URL): void {
  async function open(): Promise<{ groups: ProcessGroups; mark: string }> {
    const mark = `TOOLROOM_CHILD=contract-${randomUUID()}`
    const marks = { ofFolder: mark, ofRun: `${mark}/run` }
    const troubles: string[] = []
    const groups = await platform.openProcessGroups({
      marks,
      wasKilled: false,
      onTrouble: (message) => troubles.push(message),
    })
    onTestFinished(async () => {
      await groups.close()
      expect(troubles).toEqual([])
    })
    return { groups, mark: `${marks.ofRun}/server/` }
  }

  async function start(script: string, env: Readonly<Record<string, string>> = {}): Promise<ProcessGroup> {
    const { groups, mark } = await open()
    const args = ['-e', scriptOf(script)]
    const group = await groups.start({
      path: process.execPath,
      args,
      cwd: undefined,
      env: { ...TREE, ...env },
      mark,
    })
    onTestFinished(() => group.end())
    return group
  }

  const running = (pids: readonly number[]) => runningIn(platform, pids)

  describe(`platform ${name}`, () => {
    test('a child gets its own variables and only a few of ours', async () => {
      process.env.AUTH_TOKEN = 'ours'
      onTestFinished(() => void delete process.env.AUTH_TOKEN)
      const child = await start('console.log(JSON.stringify(process.env))', { KEY: 'its own' })
      const [text] = await once(child.output, 'data')
      const env = JSON.parse(String(text))
      expect(env).toMatchObject({ KEY: 'its own' })
      expect(env.PATH ?? env.Path).toBe(process.env.PATH)
      const known = [...platform.inherited, 'KEY', 'TREE', 'TOOLROOM_CHILD'].map((each) => each.toUpperCase())
      // Wine adds its own variables to every process.
      const names = Object.keys(env).filter((each) => !each.startsWith('WINE'))
      expect(names.filter((each) => !known.includes(each.toUpperCase()))).toEqual([])
    })

    test('a program that cannot be started is an error', async () => {
      const { groups, mark } = await open()
      const launch = { args: [], cwd: undefined, env: {}, mark }
      const path = join(process.cwd(), 'does-not-exist')
      await expect(groups.start({ ...launch, path })).rejects.toThrow('ENOENT')
      await expect(groups.start({ ...launch, path: process.execPath, args: ['\0'] })).rejects.toThrow()
    })

    test('an exit is reported with its code', async () => {
      const child = await start('process.exit(7)')
      expect(await child.ended).toEqual({ code: 7, signal: null })
    })

    test.each(Object.entries(TREES))('after a stop of %s nothing of it is left', async (kind, script) => {
      const child = await start(script)
      const pids = await pidsFrom(child.output, PROCESSES[kind as keyof typeof TREES])
      const steps: StopStep[] = []
      await stopLadder(child, GRACES, (step) => steps.push(step))
      expect(await running(pids)).toEqual([]) // at once: `stopped` is never said while a process lives
      expect(steps[0]).toBe('stdin_closed')
    })

    test('after a crash of the process its children are ended, even those with a group of their own', async () => {
      const child = await start(
        `child("deaf(); say()"); child("deaf(); say()", { detached: true }); say(); process.stdin.once('data', () => process.exit(3))`,
      )
      const pids = await pidsFrom(child.output, 3)
      child.settled()
      await expect.poll(() => pidsOf(child), { timeout: 30_000 }).toEqual(only(pids))
      child.input.write('crash\n')
      expect(await child.ended).toEqual({ code: 3, signal: null })
      await child.end()
      expect(await running(pids)).toEqual([])
    })

    test('CPU time and memory are those of the process and all its children', async () => {
      const child = await start(`child("deaf(); say()", { detached: true }); deaf(); say()`)
      const pids = await pidsFrom(child.output, 2)
      child.settled()
      await expect.poll(() => pidsOf(child), { timeout: 30_000 }).toEqual(only(pids))
      for (const used of (await child.usage()) ?? []) {
        expect(used.rssBytes).toBeGreaterThan(1024 * 1024)
        expect(used.cpuMs).toBeGreaterThanOrEqual(0)
      }
    })

    test('the table has this process, and no process that has ended', async () => {
      const child = await start('process.stdin.resume()')
      await platform.table.refresh()
      const known = platform.table.read(child.pid)
      expect(known).toMatchObject({ pid: child.pid, parent: process.pid, zombie: false })
      expect(platform.table.pids()).toContain(process.pid)
      await child.end()
      await platform.table.refresh()
      const later = platform.table.read(child.pid)
      expect(later === undefined || later.zombie || later.startedAt !== known?.startedAt).toBe(true)
    })

    test('another process with the pid of a foreign server is not ended', async () => {
      const child = await start('deaf(); say()')
      const [pid = 0] = await pidsFrom(child.output, 1)
      await platform.table.refresh()
      const facts = platform.table.read(pid)
      if (!facts) return expect.unreachable()
      await platform.endForeign([{ ...facts, startedAt: facts.startedAt - 1000 }])
      expect(isAlive(pid)).toBe(true)
      expect(await platform.endForeign([facts])).toBe('ended')
      await expect.poll(() => running([pid]), { timeout: 30_000 }).toEqual([])
    })

    test('after a kill of the service nothing is left of its servers, even of one that ignores everything', () =>
      killService(file, platform))
  })
}

/**
 * Starts a service in a process of its own, kills it, and expects that all its servers end. `wrap` makes another command of
 * that which starts the service.
 */
export async function killService(
  file: URL,
  platform: Platform,
  wrap: (command: readonly string[]) => readonly string[] = (command) => command,
): Promise<void> {
  const holder = await bundled(`
    import { platform } from ${JSON.stringify(fileURLToPath(file))}
    import { holdGroups } from ${JSON.stringify(fileURLToPath(new URL('../fixtures/group-holder.ts', import.meta.url)))}
    await holdGroups(platform)`)
  const scripts = Object.values(TREES).slice(1).map(scriptOf)
  const mark = `TOOLROOM_CHILD=contract-${randomUUID()}`
  const [program = '', ...args] = wrap([process.execPath, holder, mark, ...scripts])
  const service = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...TREE, NODE_PATH: join(process.cwd(), 'node_modules') }, // the bundle is elsewhere
  })
  onTestFinished(() => void service.kill('SIGKILL'))
  const pids = await pidsFrom(service.stdout, 9)
  service.stdin.write('go\n')
  const [ready] = await once(service.stdout, 'data') // it has read the process table since
  const expected = [1, 3, 2, 3] // the processes of each server
  const counts: number[] = JSON.parse(String(ready))
  const withoutConsoles = counts.map((count, at) => Math.min(count, expected[at] ?? 0))
  expect(process.platform === 'win32' ? withoutConsoles : counts).toEqual(expected)
  service.kill('SIGKILL')
  await expect.poll(() => runningIn(platform, pids), { timeout: 30_000 }).toEqual([])
}

/** Those that are still running. A process that has ended stays in the table until its parent reads its exit. */
async function runningIn({ table }: Platform, pids: readonly number[]): Promise<number[]> {
  await table.refresh()
  return pids.filter((pid) => isAlive(pid) && table.read(pid)?.zombie === false)
}
