import { describe, expect, test } from 'vitest'
import { onDisk } from '../../../test/support/folder.ts'
import { FULL } from '../../../test/support/full-or-short.ts'
import { atEnd, sharedByTests } from '../../../test/support/lifetime.ts'
import { PLACES, type PlaceOfTest } from '../../../test/support/places.ts'
import { post, register, until } from '../../../test/support/running-servers.ts'
import { openTestService } from '../../../test/support/test-service.ts'
import { Engine } from './container/engine.ts'

onDisk()

const OWN_CODE: Readonly<Record<string, string>> = { none: 'local', docker: 'container', podman: 'container' }

// In the short form, test/e2e/places.test.ts has docker.
const CHOSEN = PLACES.filter(({ name }) => FULL || name !== 'docker')

describe.each(CHOSEN.map((place) => [place.name, place] as const))('with %s', (name, { isThere, open }) => {
  const placeTest = test.skipIf(!isThere)
  const opened = sharedByTests(async () => {
    const place = await open()
    for (const [variable, value] of Object.entries(place.env)) setVariable(variable, value)
    return { ...place, service: await openTestService() }
  })
  const add = async (kind: string, args: readonly string[] = [], more: object = {}) => {
    const { service, fields } = await opened()
    await register(service, kind, args, { ...fields, ...more })
    return service
  }

  placeTest('a server does the handshake, is called, uses memory, and stops', async () => {
    const service = await add('echo')
    const started = await post(service, '/api/servers/echo/start?wait_s=120')
    expect(started.json(), started.body).toMatchObject({
      status: 'running',
      place: OWN_CODE[name] ?? name,
      pid: name === 'docker' || name === 'podman' ? null : expect.any(Number),
      tool_count: 4,
    })
    const called = await post(service, '/api/servers/echo/tools/echo/call', { arguments: { text: 'hello' } })
    expect(called.body).toContain('hello')
    const { resources } = await until(service, 'echo', (server) => server.resources !== null)
    expect(resources?.rss_bytes).toBeGreaterThan(1e6)
    expect(resources?.processes).toBeGreaterThan(0)
    const stopped = await post(service, '/api/servers/echo/stop')
    expect(stopped.json()).toMatchObject({
      status: 'stopped',
      pid: null,
      last_exit: { code: 0, signal: null },
    })
  })

  placeTest('a server that ends at once is explained with its exit code and its last words', async () => {
    const service = await add('crash', ['--code=3'])
    await post(service, '/api/servers/crash/start?wait_s=120')
    const { last_error, last_exit } = await until(service, 'crash', (server) => server.last_error !== null)
    expect(last_exit).toMatchObject({ code: 3, stderr_tail: ['Error: the index is broken'] })
    expect(last_error?.message).toContain(
      'exited with code 3 before it was ready: Error: the index is broken',
    )
    await post(service, '/api/servers/crash/stop')
  })

  placeTest('a server that ignores the end of its input and SIGTERM is ended within its time', async () => {
    const service = await add('deaf', ['--children=2', '--detached'], {
      timeouts: { start_s: 60, stop_s: 2 },
    })
    const started = await post(service, '/api/servers/deaf/start?wait_s=120')
    expect(started.json(), started.body).toMatchObject({ status: 'running' })
    const stopped = await post(service, '/api/servers/deaf/stop')
    expect(stopped.json()).toMatchObject({ status: 'stopped' })
    await expectNothingLeft(await opened())
  })

  placeTest('a server that dies is started again', async () => {
    const service = await add('dies-mid-call')
    expect((await post(service, '/api/servers/dies-mid-call/start?wait_s=120')).statusCode).toBe(200)
    const call = await post(service, '/api/servers/dies-mid-call/tools/die/call', { arguments: {} })
    expect(call.statusCode).not.toBe(200)
    const again = await until(service, 'dies-mid-call', (s) => s.status === 'running' && s.restart_count > 0)
    expect(again.recent_exits).toHaveLength(1)
    await post(service, '/api/servers/dies-mid-call/stop')
  })

  placeTest('a call starts a server that starts on demand, and it goes to sleep again', async () => {
    const service = await add('echo', [], { name: 'sleeper', start_mode: 'on_demand', idle_timeout_s: 1 })
    await until(service, 'sleeper', ({ status }) => status === 'idle')
    const call = await post(service, '/api/servers/sleeper/tools/echo/call', { arguments: { text: 'awake' } })
    expect(call.body).toContain('awake')
    expect((await until(service, 'sleeper', ({ status }) => status === 'idle')).last_error).toBeNull()
    await expectNothingLeft(await opened())
  })
})

/** No container of the engine is left; processes are the matter of the platform's tests. */
async function expectNothingLeft({ env }: PlaceOfTest): Promise<void> {
  const socket = env.DOCKER_HOST?.slice('unix://'.length)
  if (socket === undefined) return
  expect(await new Engine(socket).get('/containers/json', { all: 'true' })).toEqual([])
}

function setVariable(name: string, value: string): void {
  const before = process.env[name]
  process.env[name] = value
  atEnd(() => {
    if (before === undefined) delete process.env[name]
    else process.env[name] = before
  })
}
