import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Engine } from '../../src/supervisor/places/container/engine.ts'
import { commandLine, listPids } from '../../src/supervisor/platform/linux/proc.ts'
import { ownFolder } from '../support/folder.ts'
import { PLACES } from '../support/places.ts'
import { definition } from '../support/running.ts'
import { openService } from '../support/service-process.ts'
import { TOKEN } from '../support/token.ts'

const sandbox = PLACES.find(({ name }) => name === 'sandbox')
const docker = PLACES.find(({ name }) => name === 'docker')

describe.skipIf(!sandbox?.isThere)('with sandbox', () => {
  test('after kill -9 of Toolroom no process of a sandboxed server is left, whatever its session', async () => {
    const service = await openService({ env: { AUTH_TOKEN: TOKEN } })
    await service.add(
      definition('deaf', ['--children=2', '--detached', '--live=4711'], { isolation: 'sandbox' }),
    )
    await service.start('deaf')
    expect(sleeping('4711')).toBe(2)
    service.child.kill('SIGKILL')
    await expect.poll(() => sleeping('4711')).toBe(0)
  })
})

describe.skipIf(!docker?.isThere)('with docker', () => {
  test('a container that a killed Toolroom has left is ended by its next start', async () => {
    const place = await docker?.open()
    const env = { AUTH_TOKEN: TOKEN, ...place?.env }
    const engine = new Engine(place?.env.DOCKER_HOST?.slice('unix://'.length) ?? '')
    const containers = async () => (await engine.get('/containers/json', { all: 'true' })) as unknown[]
    const service = await openService({ env })
    await service.add({ ...definition('deaf'), ...place?.fields })
    await service.start('deaf')
    service.child.kill('SIGKILL')
    await service.ended
    expect(await containers()).toHaveLength(1)
    await openService({ home: service.home, env, argv: ['up', '--no-servers'] })
    await expect.poll(containers).toEqual([])
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
    const places = loaded.join('').match(/(?<=\/dist\/)(?:sandbox|containers)(?=-)/g) ?? []
    expect([...new Set(places)]).toEqual(isolation === 'none' ? [] : [isolation])
  },
)

/** How many processes sleep for this long. */
const sleeping = (seconds: string): number =>
  listPids().filter((pid) => commandLine(pid).join(' ') === `sleep ${seconds}`).length
