import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { Engine } from '../../src/supervisor/places/container/engine.ts'
import { commandLine, listPids } from '../../src/supervisor/platform/linux/proc.ts'
import { canRun, NODE_IMAGE, startEngine } from '../support/engines.ts'
import { onDisk, ownFolder } from '../support/folder.ts'
import { some } from '../support/full-or-short.ts'
import { Agent, newKey, textOf } from '../support/gateway.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { PLACES, refusedNamespaces, withoutBubblewrap } from '../support/places.ts'
import { byNode } from '../support/real-servers.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'
import { TOKEN } from '../support/token.ts'

onDisk()

const root = fileURLToPath(new URL('../..', import.meta.url))
const sandbox = PLACES.find(({ name }) => name === 'sandbox')
const BARE = { AUTH_TOKEN: TOKEN, SHELL: '/bin/true' }

describe.skipIf(!sandbox?.isThere)('with sandbox', () => {
  test('after kill -9 of Toolroom no process of a sandboxed server is left, not even one with its own session and an empty environment', async () => {
    const service = await openService({ env: { AUTH_TOKEN: TOKEN } })
    await service.add(definition('escapes', ['--live=4711'], { isolation: 'sandbox' }))
    await service.start('escapes')
    await service.ask('POST', '/servers/escapes/tools/escape/call', { arguments: {} })
    await expect.poll(() => sleeping('4711')).toBe(4) // the last one begins as a copy of its shell
    service.child.kill('SIGKILL')
    await expect.poll(() => sleeping('4711')).toBe(0)
  })

  test('where the kernel refuses namespaces, a server fails with sandbox_unavailable and nothing is started', async () => {
    const PATH = `${refusedNamespaces()}:${process.env.PATH}`
    await expectNotStarted(await openService({ env: { ...BARE, PATH } }), /namespace/)
  })

  test.skipIf(process.getuid?.() !== 0)(
    'server-filesystem of an ordinary user works through the gateway, and reaches only what it may',
    async () => {
      const home = homeOf(ORDINARY)
      const service = await openService({ home, env: { AUTH_TOKEN: TOKEN }, under: asUser(ORDINARY) })
      expect(statSync(join(service.data, 'instance.json')).uid).toBe(ORDINARY)
      const notes = join(home, 'notes')
      const confinement = { isolation: 'sandbox', isolation_options: { write: ['~/notes'], read: [root] } }
      await service.add({ name: 'files', ...byNode('filesystem', notes, '/usr', home), ...confinement })
      await service.add(definition('connects', [], confinement))
      expect(await service.start('files')).toMatchObject({ place: 'sandbox', status: 'running' })
      await service.start('connects')
      const agent = await Agent.open(service, await newKey(service), 'modern')
      const call = async (name: string, args: object = {}) =>
        textOf((await agent.call(name, args)).answers[0])
      const write = (path: string) => call('files__write_file', { path, content: 'x' })
      expect(await write(join(notes, 'a.md'))).toContain('Successfully wrote')
      expect(readFileSync(join(notes, 'a.md'), 'utf8')).toBe('x')
      expect(await write('/usr/a.md')).toContain('EROFS')
      expect(await call('files__list_directory', { path: join(home, '.ssh') })).toContain('ENOENT')
      expect(await call('connects__connect')).toBe('ENETUNREACH')
    },
  )
})

test('without bubblewrap, a server fails with sandbox_unavailable and nothing is started', async () => {
  const service = await openService({ env: BARE, under: withoutBubblewrap() })
  await expectNotStarted(service, /there is no program bwrap in PATH/)
})

// In the short form, src/supervisor/places/places.test.ts has the other one.
describe.each(some(['docker', 'podman'] as const, 2))('with %s', (name) => {
  const engineTest = test.skipIf(!canRun(name))
  const running = sharedByTests(async () => {
    const { socket } = await startEngine(name)
    const engine = new Engine(socket)
    const containers = async () => (await engine.get('/containers/json', { all: 'true' })) as unknown[]
    return { env: { AUTH_TOKEN: TOKEN, DOCKER_HOST: `unix://${socket}` }, containers }
  })

  engineTest('a container that a killed Toolroom has left is ended by its next start', async () => {
    const { env, containers } = await running()
    const service = await openService({ env })
    const isolation_options = { image: NODE_IMAGE, read: [root] }
    const confinement = { isolation: 'container', isolation_options }
    await service.add(definition('escapes', ['--live=4712'], confinement))
    await service.start('escapes')
    service.child.kill('SIGKILL')
    await service.ended
    await openService({ home: service.home, env, argv: ['up', '--no-servers'] })
    await expect.poll(containers).toEqual([])
    await expect.poll(() => sleeping('4712')).toBe(0)
  })

  engineTest('so is a container of a trial, although no server was ever started in one', async () => {
    const { env, containers } = await running()
    const service = await openService({ env })
    await service.add(definition('slow-handshake', ['--ms=600000']))
    const trial = service.ask('POST', '/servers/slow-handshake/trial', {
      isolation: 'container',
      isolation_options: { image: NODE_IMAGE, read: [root] },
    })
    trial.catch(() => {}) // its connection ends with the service
    await expect.poll(containers).toHaveLength(1)
    service.child.kill('SIGKILL')
    await service.ended
    await openService({ home: service.home, env, argv: ['up', '--no-servers'] })
    await expect.poll(containers).toEqual([])
  })

  engineTest('a pasted docker run has the tools of its program, and leaves no container', async () => {
    const { env, containers } = await running()
    const service = await openService({ env })
    const { command, args } = definition('echo')
    const line = `docker run -i --rm --network none -v ${root}:${root}:ro ${NODE_IMAGE} ${[command, ...args].join(' ')}`
    const snippet = { snippet: line, name: 'pasted' }
    const dry = await service.ask('POST', '/servers/import', { ...snippet, dry_run: true })
    expect(dry.body.items).toMatchObject([{ outcome: 'created', container: { image: NODE_IMAGE } }])
    const { body } = await service.ask('POST', '/servers/import', { ...snippet, start_mode: 'manual' })
    expect(body.items).toMatchObject([{ outcome: 'created', id: 'pasted' }])
    await service.add({ ...definition('echo'), name: 'plain' })
    expect(await service.start('pasted')).toMatchObject({ place: 'container', pid: null })
    await service.start('plain')
    const toolsOf = async (id: string): Promise<string[]> =>
      (await service.ask('GET', `/servers/${id}/tools`)).body.items.map((tool: { name: string }) => tool.name)
    expect(await toolsOf('pasted')).toEqual(await toolsOf('plain'))
    const called = await service.ask('POST', '/servers/pasted/tools/echo/call', { arguments: { text: 'hi' } })
    expect(called.status).toBe(200)
    expect(await containers()).toHaveLength(1)
    expect((await service.ask('POST', '/servers/pasted/stop')).status).toBe(200)
    expect(await containers()).toEqual([])
    await service.start('pasted')
    service.child.kill('SIGKILL')
    await service.ended
    await openService({ home: service.home, env, argv: ['up', '--no-servers'] })
    await expect.poll(containers).toEqual([])
  })

  engineTest('a server that uses more memory than it may is ended, and the limit is named', async () => {
    const { env } = await running()
    const service = await openService({ env })
    const isolation_options = { image: NODE_IMAGE, memory_mb: 64 }
    const grow = 'const all = []; setInterval(() => all.push(Buffer.alloc(2 ** 23, 1)), 1)'
    const confinement = { isolation: 'container', isolation_options, restart: { policy: 'never' } }
    await service.add({ name: 'greedy', command: process.execPath, args: ['-e', grow], ...confinement })
    const { body } = await service.ask('POST', '/servers/greedy/start?wait_s=120')
    expect(body.last_error.hint.toLowerCase()).toContain('raise isolation_options.memory_mb')
    if (name === 'podman') return // where cgroups are those of version 1, it does not say why it was killed
    expect(body.last_error.code).toBe('out_of_memory')
    expect(body.last_error.message).toBe(
      'The process was ended before it was ready because it used more than 64 MiB',
    )
  })
})

test.skipIf(!sandbox?.isThere).each(['none', 'sandbox'])(
  'with sandbox the code of a place is loaded with its first server, and not before: isolation %s',
  async (isolation) => {
    const folder = ownFolder()
    const service = await openService({ env: { AUTH_TOKEN: TOKEN, NODE_V8_COVERAGE: folder } })
    await service.add(definition('echo', [], { isolation }))
    await service.start('echo')
    service.child.kill('SIGTERM')
    await service.ended
    const loaded = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))
    expect(loaded.join('')).toContain('/dist/up-')
    const places = loaded.join('').match(/(?<=\/dist\/)(?:shown-folders|sandbox|containers)(?=-)/g) ?? []
    expect([...new Set(places)].sort()).toEqual(isolation === 'none' ? [] : [isolation, 'shown-folders'])
  },
)

/** How many processes sleep for this long. */
const sleeping = (seconds: string): number =>
  listPids().filter(
    (pid) => /(?:^|\/)sleep$/.test(commandLine(pid)[0] ?? '') && commandLine(pid)[1] === seconds,
  ).length

type Service = Awaited<ReturnType<typeof openService>>

async function expectNotStarted(service: Service, why: RegExp): Promise<void> {
  const made = join(service.home, 'made')
  const command = { command: '/bin/sh', args: ['-c', `echo x >'${made}'; exec cat`] }
  const confinement = { isolation: 'sandbox', isolation_options: { write: [service.home] } }
  await service.add({ name: 'isolated', ...command, ...confinement, restart: { policy: 'never' } })
  const { status, body } = await service.ask('POST', '/servers/isolated/start?wait_s=60')
  expect(status).toBe(502)
  expect(body.last_error.code).toBe('sandbox_unavailable')
  expect(body.last_error.message).toMatch(why)
  const { items } = (await service.ask('GET', '/servers')).body
  expect(items).toMatchObject([{ status: 'failed', pid: null }])
  const { checks } = (await service.ask('POST', '/servers/isolated/diagnose')).body
  expect(checks).toContainEqual({ name: 'place', ok: false, detail: expect.stringMatching(why) })
  expect(existsSync(made)).toBe(false)
}

const ORDINARY = 12_345

const asUser = (id: number): string[] => ['setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups']

/** A home with notes and a key for SSH. */
function homeOf(user: number): string {
  const home = ownFolder()
  for (const name of ['', 'notes', '.ssh']) {
    mkdirSync(join(home, name), { recursive: true })
    chownSync(join(home, name), user, user)
  }
  return home
}
