import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test, vi } from 'vitest'
import { canRun, NODE_IMAGE, type RunningEngine, startEngine } from '../../../../test/support/engines.ts'
import { onDisk, ownFolder } from '../../../../test/support/folder.ts'
import { imageRegistry } from '../../../../test/support/image-registry.ts'
import { atEnd, sharedByTests } from '../../../../test/support/lifetime.ts'
import { Container, endLeftovers } from './container.ts'
import type { ContainerSpec } from './create-request.ts'
import { Engine, EngineError } from './engine.ts'
import { explainEngine } from './explain-engine-error.ts'
import { findImage, pullImage } from './images.ts'

onDisk()

const INSTALLATION = 'installation-of-the-test'

describe.each(['docker', 'podman'] as const)('with %s', (name) => {
  const running = sharedByTests(() => startEngine(name))
  const engineTest = test.skipIf(!canRun(name))

  engineTest(
    'both outputs of a server arrive apart from each other, and its input can be closed',
    async () => {
      const container = await start(
        await running(),
        `process.stdin.on('data', (data) => process.stdout.write('got ' + data))
         .on('end', () => { process.stderr.write('input has ended'); process.exitCode = 5 })`,
      )
      const [output, errors] = [text(container.output), text(container.errors)]
      container.input.write('hello')
      await vi.waitFor(
        async () => expect((await container.usage())?.[0]?.rssBytes).toBeGreaterThan(1e6),
        WAIT,
      )
      container.input.end()
      expect(await container.ended).toEqual({ code: 5, outOfMemory: false })
      expect([await output, await errors]).toEqual(['got hello', 'input has ended'])
    },
  )

  engineTest('an end before the first byte is an exit with its code and its last words', async () => {
    const container = await start(await running(), `console.error('no key'); process.exit(3)`)
    const errors = text(container.errors)
    expect(await container.ended).toEqual({ code: 3, outOfMemory: false })
    expect(await errors).toBe('no key\n')
  })

  engineTest('a server that handles SIGTERM ends, and one that ignores everything is deleted', async () => {
    const engine = await running()
    const polite = await start(engine, `process.on('SIGTERM', () => process.exit(7)); ${STAY}`)
    const deaf = await start(engine, `process.on('SIGTERM', () => {}); ${STAY}`)
    await Promise.all([firstBytes(polite), firstBytes(deaf)])
    await Promise.all([polite.ask(), deaf.ask()])
    expect(await polite.ended).toMatchObject({ code: 7 })
    deaf.input.end()
    await deaf.end()
    expect(await deaf.ended).toMatchObject({ code: 137 })
    await polite.end()
    expect(await containersOf(engine)).toEqual([])
  })

  engineTest(
    'the root is read-only, there are no rights and no network, and only named folders are there',
    async () => {
      const folder = ownFolder()
      for (const name of ['open', 'readable']) mkdirSync(join(folder, name))
      writeFileSync(join(folder, 'readable/file'), 'text')
      const container = await start(await running(), TRIES, {
        binds: [
          { source: join(folder, 'open'), target: '/mounted/open', access: 'write' },
          { source: join(folder, 'readable'), target: '/mounted/readable', access: 'read' },
        ],
      })
      const output = text(container.output)
      await container.ended
      expect((await output).trim().split('\n')).toEqual([
        'root EROFS',
        '/tmp ok',
        'open ok',
        'read ok',
        'readable EROFS',
        `home ENOENT`,
        'CapEff 0000000000000000 CapBnd 0000000000000000 NoNewPrivs 1',
        'connect ENETUNREACH',
      ])
      expect(readFileSync(join(folder, 'open/made'), 'utf8')).toBe('x')
    },
  )

  engineTest('no byte of an answer is in the storage of the engine', async () => {
    const engine = await running()
    const container = await start(engine, `console.log(('cana' + 'ry-5f1e ').repeat(10000)); ${STAY}`)
    container.output.resume()
    await firstBytes(container)
    const found = () => {
      try {
        return execFileSync('grep', ['-rl', '--binary-files=text', 'canary-5f1e', engine.folder], {
          encoding: 'utf8',
        })
      } catch {
        return '' // grep finds nothing
      }
    }
    expect(found()).toBe('')
    writeFileSync(join(engine.folder, 'probe'), 'canary-5f1e') // the search would have found it
    expect(found()).toContain('probe')
    await container.end()
  })

  engineTest('a container that outlives Toolroom is ended at the next start, and no other is', async () => {
    const { socket, folder } = await running()
    const engine = new Engine(socket)
    const other = await Container.start(engine, specOf(STAY), {
      installation: 'another',
      run: 'that',
      server: 'b',
    })
    atEnd(() => other.end())
    const left = await start({ socket, folder }, `process.on('SIGTERM', () => {}); ${STAY}`)
    await firstBytes(left)
    left.input.destroy() // as the kernel does for a killed process
    expect(await endLeftovers(engine, { installation: INSTALLATION, run: 'this' })).toBe(1)
    expect(await containersOf({ socket, folder })).toEqual([other.id])
    expect(await endLeftovers(engine, { installation: INSTALLATION, run: 'this' })).toBe(0)
  })

  engineTest('an image or a user that does not exist is explained, and nothing is left', async () => {
    const { socket } = await running()
    const engine = new Engine(socket)
    expect(await findImage(engine, 'nothing:1')).toBeUndefined()
    expect((await findImage(engine, NODE_IMAGE))?.id).toMatch(/^sha256:[0-9a-f]{64}$/)
    const failure = async (spec: Partial<ContainerSpec>) => {
      const error = await start({ socket, folder: '' }, STAY, spec).catch((cause: unknown) => cause)
      if (!(error instanceof EngineError)) throw new Error('it was started')
      return explainEngine(error, 'nothing:1', socket)
    }
    expect(await failure({ image: 'nothing:1' })).toMatchObject({
      code: 'image_not_found',
      message: 'The server was not started: the container engine has no image nothing:1',
    })
    expect(await failure({ user: 'no-such-user' })).toMatchObject({ code: 'container_failed' })
    expect(await containersOf({ socket, folder: '' })).toEqual([])
  })
})

test.skipIf(!canRun('docker'))(
  'with docker an image is pulled in phases, and pinned by what it contains',
  async () => {
    const engine = new Engine((await startEngine('docker')).socket)
    const { image, digest } = await imageRegistry()
    const phases: string[] = []
    const pulled = await pullImage(engine, image, { ...QUIET, onPhase: (phase) => phases.push(phase) })
    expect(pulled).toEqual({ id: expect.stringMatching(/^sha256:/), digest })
    expect(await findImage(engine, pulled.id)).toEqual(pulled)
    expect(phases[0]).toBe('resolving')
    expect(phases).toContain('downloading')
    const refused = await pullImage(engine, `${image}:missing`, QUIET).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(EngineError)
    const cancelled = { ...QUIET, signal: AbortSignal.abort() }
    await expect(pullImage(engine, image, cancelled)).rejects.toThrow()
  },
)

test('a socket that does not exist is an engine that is not there', async () => {
  const socket = join(ownFolder(), 'missing.sock')
  const error = await new Engine(socket).get('/info').catch((cause: unknown) => cause)
  if (!(error instanceof EngineError)) throw new Error('it answered')
  expect(explainEngine(error, 'a', socket)).toMatchObject({
    code: 'engine_unavailable',
    hint: `Start the container engine of ${socket}`,
  })
})

const QUIET = { onPhase: () => {}, onLine: () => {} }
const WAIT = { timeout: 60_000 }
const STAY = `console.log('up'); setInterval(() => {}, 1000)`

const TRIES = `
const fs = require('node:fs')
const attempt = (name, act) => {
  try { act(); console.log(name, 'ok') } catch (error) { console.log(name, error.code) }
}
attempt('root', () => fs.writeFileSync('/made', 'x'))
attempt('/tmp', () => fs.writeFileSync('/tmp/made', 'x'))
attempt('open', () => fs.writeFileSync('/mounted/open/made', 'x'))
attempt('read', () => fs.readFileSync('/mounted/readable/file'))
attempt('readable', () => fs.writeFileSync('/mounted/readable/made', 'x'))
attempt('home', () => fs.readdirSync(${JSON.stringify(process.env.HOME ?? '/root')}))
console.log(fs.readFileSync('/proc/self/status', 'utf8').match(/(?:CapEff|CapBnd|NoNewPrivs):.*/g).join(' ').replace(/:\\t/g, ' '))
require('node:net').connect(9, '192.0.2.1').on('error', ({ code }) => console.log('connect', code))
`

function specOf(code: string, more: Partial<ContainerSpec> = {}): ContainerSpec {
  return {
    image: NODE_IMAGE,
    entrypoint: [process.execPath],
    args: ['-e', code],
    env: {},
    binds: [],
    network: 'none',
    memory_mb: 512,
    pids: 100,
    ...more,
  }
}

/** Both engines tell the reason of an end at once on an idle machine, so this one is only a part of an engine, at a unix socket. */
test.skipIf(process.platform === 'win32').each([
  ['the memory limit', 3, { code: 137, outOfMemory: true }],
  ['something else', Number.POSITIVE_INFINITY, { code: 137, outOfMemory: false }],
])('an engine that learns of the reason after the end is asked again: %s', async (_, asked, exit) => {
  const socket = join(ownFolder(), 'engine')
  let states = 0
  const engine = createServer((request, response) => {
    const isState = request.url?.endsWith('/json')
    if (isState) states += 1
    const State = { Running: false, Status: 'exited', ExitCode: 137, OOMKilled: states >= asked }
    response.end(JSON.stringify(isState ? { State } : { Id: 'one' }))
  })
  engine.on('upgrade', (_request, upgraded) => {
    upgraded.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n')
    atEnd(() => upgraded.destroy())
  })
  await new Promise<void>((resolve) => engine.listen(socket, resolve))
  atEnd(() => engine.close())
  const labels = { installation: INSTALLATION, run: 'that', server: 'a' }
  const container = await Container.start(new Engine(socket), specOf(''), labels)
  atEnd(() => container.end())
  expect(await container.ended).toEqual(exit)
  expect(states).toBeGreaterThanOrEqual(3)
})

async function start(
  { socket }: RunningEngine,
  code: string,
  more?: Partial<ContainerSpec>,
): Promise<Container> {
  const labels = { installation: INSTALLATION, run: 'that', server: 'a' }
  const container = await Container.start(new Engine(socket), specOf(code, more), labels)
  atEnd(() => container.end())
  return container
}

const firstBytes = ({ output }: Container) => new Promise((resolve) => output.once('data', resolve))

async function containersOf({ socket }: RunningEngine): Promise<unknown[]> {
  const found = await new Engine(socket).get('/containers/json', { all: 'true' })
  return (found as { Id: string }[]).map(({ Id }) => Id)
}
