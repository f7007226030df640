import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { JobView } from '../../src/servers/jobs/jobs.routes.ts'
import { Engine } from '../../src/supervisor/places/container/engine.ts'
import { findImage } from '../../src/supervisor/places/container/images.ts'
import { canRun, startEngine } from '../support/engines.ts'
import { onDisk } from '../support/folder.ts'
import { some } from '../support/full-or-short.ts'
import { imageRegistry } from '../support/image-registry.ts'
import { atEnd, sharedByTests } from '../support/lifetime.ts'
import { PLACES, refusedNamespaces, withoutBubblewrap } from '../support/places.ts'
import { openService } from '../support/service-process.ts'
import { TOKEN } from '../support/token.ts'

onDisk()

const hasSandbox = PLACES.some(({ name, isThere }) => name === 'sandbox' && isThere)
const MISSING_SOCKET = '/run/toolroom-test/missing.sock'
/** Neither an engine, nor a shell that knows more folders with programs. */
const BARE = { AUTH_TOKEN: TOKEN, DOCKER_HOST: `unix://${MISSING_SOCKET}`, SHELL: '/bin/true' }

test('what a computer lacks for a sandbox and a container is named, with the step that helps', async () => {
  const { ask } = await openService({ env: BARE, under: withoutBubblewrap() })
  expect(await ask('GET', '/isolation')).toEqual({
    status: 200,
    body: {
      default: 'none',
      sandbox: {
        available: false,
        by: null,
        version: null,
        problem: 'A sandbox needs bubblewrap, and there is no program bwrap in PATH',
        remedy: expect.stringMatching(/^Install bubblewrap with /),
      },
      container: {
        available: false,
        by: null,
        version: null,
        problem: `The container engine does not answer: connect ENOENT ${MISSING_SOCKET}`,
        remedy: `Start the container engine of ${MISSING_SOCKET}`,
      },
    },
  })
})

test.skipIf(!hasSandbox)(
  'with sandbox, one that the kernel refuses is not available, and the problem has its words',
  async () => {
    const env = { ...BARE, PATH: `${refusedNamespaces()}:${process.env.PATH}`, DEFAULT_ISOLATION: 'sandbox' }
    const { ask } = await openService({ env })
    const { body } = await ask('GET', '/isolation')
    expect(body).toMatchObject({ default: 'sandbox', sandbox: { available: false, by: 'bubblewrap' } })
    expect(body.sandbox.problem).toMatch(/^The system refused a sandbox \(bwrap: .*namespace/)
    expect(body.sandbox.remedy).toMatch(/namespaces|seccomp/)
  },
)

test.skipIf(!hasSandbox)('with sandbox, this computer says which bubblewrap it has', async () => {
  const { ask } = await openService({ env: { AUTH_TOKEN: TOKEN } })
  const { body } = await ask('GET', '/isolation')
  const version = expect.stringMatching(/^\d+\.\d+/)
  expect(body.sandbox).toEqual({ available: true, by: 'bubblewrap', version, problem: null, remedy: null })
})

const bare = sharedByTests(() => openService({ env: BARE }))

test('without an engine an image is not pulled, and the job says why', async () => {
  const { ask } = await bare()
  const { status, body } = await ask('POST', '/images/pull', { image: 'mcp/time' })
  expect({ status, code: body.code }).toEqual({ status: 503, code: 'engine_unavailable' })
  expect(body.hint).toBe(`Start the container engine of ${MISSING_SOCKET}`)
  const { items } = (await ask('GET', '/jobs')).body
  expect(items).toMatchObject([
    { kind: 'image_pull', status: 'failed', error: { code: 'engine_unavailable' } },
  ])
})

test.each(['', '-v', 'a b', 'a$(b)', '/a'])('%j is not the name of an image', async (image) => {
  const { ask } = await bare()
  expect((await ask('POST', '/images/pull', { image })).status).toBe(422)
})

describe.each(some(['docker', 'podman'] as const, 2, 1))('with %s', (name) => {
  const engineTest = test.skipIf(!canRun(name))
  const running = sharedByTests(async () => {
    const { socket } = await startEngine(name)
    const service = await openService({ env: { AUTH_TOKEN: TOKEN, DOCKER_HOST: `unix://${socket}` } })
    return { ...service, engine: new Engine(socket), registry: await imageRegistry() }
  })

  engineTest('this computer says which container engine answers', async () => {
    const { body } = await (await running()).ask('GET', '/isolation')
    const version = expect.stringMatching(/^\d+\.\d+/)
    expect(body.container).toEqual({ available: true, by: name, version, problem: null, remedy: null })
  })

  engineTest('an image is pulled by a job with phases, which the live stream reports', async () => {
    const { ask, address, engine, registry } = await running()
    const { image, digest } = registry
    const frames = await progressFrom(address)
    const accepted = await ask('POST', '/images/pull?async=true', { image })
    expect(accepted).toEqual({ status: 202, body: { job: expect.stringMatching(/^job_/) } })
    const done = await finished(ask, accepted.body.job)
    expect(done).toMatchObject({ kind: 'image_pull', subject: image, status: 'done', error: null })
    expect(done.result).toEqual({ image, id: expect.stringMatching(/^sha256:/), digest })
    expect(done.phases[0]?.name).toBe('resolving')
    expect(done.output.length).toBeGreaterThan(0)
    expect(await findImage(engine, image)).toMatchObject({ digest })
    await expect.poll(() => frames.at(-1)).toMatchObject({ image, status: 'done', phase: 'done' })
    const { body } = await ask('GET', '/logs?source=audit&limit=1000')
    const pulls = body.items.filter(({ message }: { message: string }) => message.includes(image))
    expect(pulls).toHaveLength(1)
  })

  engineTest('an image or a tag that does not exist is not found', async () => {
    const { ask, registry } = await running()
    for (const image of [`${registry.image}:missing`, registry.image.replace('tiny', 'nothing')]) {
      const { status, body } = await ask('POST', '/images/pull', { image })
      expect({ status, code: body.code }, body.detail).toEqual({ status: 404, code: 'image_not_found' })
      expect(body.detail).toContain(image)
    }
  })

  engineTest('an image that needs a login is refused with the command that logs in', async () => {
    const { ask, registry } = await running()
    const { status, body } = await ask('POST', '/images/pull', { image: registry.privateImage })
    expect({ status, code: body.code }, body.detail).toEqual({ status: 502, code: 'image_login_needed' })
    expect(body.hint).toContain(`${name} login, then ${name} pull ${registry.privateImage}`)
  })

  engineTest('a pull that hangs can be cancelled', async () => {
    const { ask, engine, registry } = await running()
    const image = registry.slowImage
    const { job } = (await ask('POST', '/images/pull?async=true', { image })).body
    await expect.poll(registry.isHanging).toBe(true)
    const { body } = await ask('POST', `/jobs/${job}/cancel`)
    expect(body).toMatchObject({ status: 'cancelled', error: { code: 'job_cancelled' } })
    expect(await findImage(engine, image)).toBeUndefined()
  })
})

type Ask = Awaited<ReturnType<typeof openService>>['ask']

async function finished(ask: Ask, job: string): Promise<JobView> {
  const state = async (): Promise<JobView> => (await ask('GET', `/jobs/${job}`)).body
  await expect.poll(async () => (await state()).finished_at, { timeout: 60_000 }).not.toBeNull()
  return state()
}

async function progressFrom(address: string): Promise<unknown[]> {
  const frames: unknown[] = []
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/ws/metrics`)
  atEnd(() => socket.terminate())
  socket.on('message', (text) => {
    const { type, data } = JSON.parse(String(text))
    if (type === 'image_progress') frames.push(data)
  })
  await once(socket, 'open')
  return frames
}
