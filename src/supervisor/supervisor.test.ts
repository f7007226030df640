import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  groupsOf,
  leftAfter,
  NO_ISOLATION,
  ownMark,
  placesOf,
  processesOf,
} from '../../test/support/marked-processes.ts'
import type { Plan } from '../kernel/server-plan.ts'
import type { ToolList } from '../mcp/client/server-lists.ts'
import { StdioClient } from '../mcp/transports/stdio/stdio-client.ts'
import { StartSlots } from './start-slots.ts'
import { Supervisor } from './supervisor.ts'

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../test/fixtures/servers/${name}.mjs`, import.meta.url))

const plan = (id: string, more: Partial<Plan> = {}): Plan => ({
  program: () => ({ ok: true, command: process.execPath, args: [fixture(id.replace(/\d+$/, ''))], env: {} }),
  cwd: null,
  confinement: NO_ISOLATION,
  restart: { policy: 'on_failure', max_delay_s: 300 },
  timeouts: { start_s: 60, request_s: 60, stop_s: 1 },
  sleeps_after_s: null,
  ...more,
})

/** A supervisor whose servers are called like their fixture, with a number behind it. */
function service() {
  const mark = ownMark()
  const lines: string[] = []
  const lists: ToolList[] = []
  const states: string[] = []
  const spawning = { now: 0, most: 0 }
  const supervisor = new Supervisor<StdioClient>({
    mark,
    slots: new StartSlots(4, 600_000), // a slow machine frees no slot before the handshake
    places: placesOf(groupsOf(mark)),
    clean: (text) => text,
    connect: (_, __, streams) => {
      spawning.now += 1
      spawning.most = Math.max(spawning.most, spawning.now)
      return new StdioClient({
        ...streams,
        version: '0',
        startMs: 60_000,
        onTools: (list) => lists.push(list),
      })
    },
    onState: (id, { status }, cause) => {
      states.push(`${id} ${status}: ${cause}`)
      if (status === 'running') spawning.now -= 1
    },
    onLine: (_, __, text) => lines.push(text),
    onResources: () => {},
    isWatched: () => false,
  })
  onTestFinished(() => supervisor.close())
  const start = (id: string, more: Partial<Plan> = {}) => {
    supervisor.register(id, plan(id, more))
    return supervisor.start(id)
  }
  return { supervisor, start, mark, lines, lists, states, spawning }
}

const options = { timeoutMs: 60_000 }

describe('supervisor', () => {
  test('only a stop by a user is called one: not a sleep, an instance that is not needed any more, or the end of Toolroom', async () => {
    const { supervisor, start, states } = service()
    const ids = ['echo1', 'echo2', 'echo3', 'echo4']
    await Promise.all(ids.map((id) => start(id, { sleeps_after_s: 300 })))
    await supervisor.stop('echo1')
    await supervisor.sleep('echo2')
    await supervisor.remove('echo3')
    await supervisor.close()
    const last = (id: string) =>
      states.findLast((state) => state.startsWith(`${id} stopp`) || state.startsWith(`${id} idle`))
    expect(ids.map(last)).toEqual([
      'echo1 stopped: stopped by a user',
      'echo2 stopped: Toolroom stops',
      'echo3 stopped: no longer needed',
      'echo4 stopped: Toolroom stops',
    ])
  })

  test('a server can be called while it is running, and a call after its stop fails as closed', async () => {
    const { supervisor, start, lists } = service()
    expect(supervisor.life('echo1').client).toBeUndefined()
    expect(await start('echo1')).toEqual({ ok: true })
    expect(lists[0]?.tools.map(({ name }) => name)).toContain('echo')
    const { client } = supervisor.life('echo1')
    expect(client?.handshake).toMatchObject({ protocol_version: '2025-11-25' })
    expect(await client?.call('echo', { text: 'hello' }, options)).toMatchObject({
      value: { content: [{ text: expect.stringContaining('hello') }] },
    })
    await supervisor.stop('echo1')
    expect(supervisor.life('echo1')).toMatchObject({ state: { status: 'stopped' }, client: undefined })
    const late = supervisor.using('echo1', async () => expect.unreachable())
    await expect(late).rejects.toMatchObject({ name: 'CallFailure', reason: 'closed' })
  })

  test('a call fails at once when its server is killed', async () => {
    const { supervisor, start } = service()
    await start('echo1')
    const { client, state } = supervisor.life('echo1')
    const call = expect(client?.call('slow', { ms: 60_000 }, { timeoutMs: 60_000 })).rejects.toMatchObject({
      reason: 'closed',
    })
    await sleep(50)
    if (state.status === 'running' && state.pid !== null) process.kill(state.pid, 'SIGKILL')
    await call // not at its timeout, which would be another reason
  })

  test('removing a server does not affect one whose id starts with the same characters', async () => {
    const { supervisor, start, mark } = service()
    await Promise.all(['echo1', 'echo12'].map((id) => start(id)))
    await supervisor.remove('echo1')
    expect(supervisor.life('echo12').state.status).toBe('running')
    expect(await processesOf(mark)).toHaveLength(1)
  })

  test('at most four servers start at the same time', async () => {
    const { supervisor, start, spawning } = service()
    const outcomes = await Promise.all(Array.from({ length: 24 }, (_, n) => start(`echo${n}`)))
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    expect(spawning.most).toBe(4)
    expect(supervisor.life('echo23').state.status).toBe('running')
  })

  test('close stops all servers, and no server starts afterwards', async () => {
    const { supervisor, start, mark } = service()
    const ids = Array.from({ length: 12 }, (_, n) => `echo${n}`)
    const outcomes = await Promise.all(ids.map((id) => start(id)))
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    await supervisor.close()
    expect(await leftAfter(mark)).toBe(0)
    expect(await supervisor.start('echo1')).toMatchObject({ ok: false, error: { code: 'shutting_down' } })
  })

  test('changed tools are listed again, and stray output on stdout does no harm', async () => {
    const { supervisor, start, lists, lines } = service()
    await start('mutate1')
    await start('noisy1')
    await expect.poll(() => lists.length).toBeGreaterThanOrEqual(3)
    await expect.poll(() => lines.length).toBeGreaterThan(0)
    expect(supervisor.life('noisy1').state.status).toBe('running')
  })

  test('responses with unknown ids do not break the start', async () => {
    const { supervisor, start } = service()
    const outcome = await start('liar1')
    expect(['running', 'failed', 'backoff']).toContain(supervisor.life('liar1').state.status)
    expect(outcome).toHaveProperty('ok')
  })
})
