import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { FactBus } from '../../src/kernel/fact-bus.ts'
import type { ServerView } from '../../src/servers/stdio/servers.schema.ts'
import { ownFolder } from '../support/folder.ts'
import { some } from '../support/full-or-short.ts'
import { atEnd, sharedByTests } from '../support/lifetime.ts'
import { install, installed, npmEnv, packages } from '../support/packages.ts'
import { openRegistry, toolPackage } from '../support/registry/registry.ts'
import { mayMount, smallDisk } from '../support/small-disk.ts'
import { AUTHORISED, openTestService, type TestService } from '../support/test-service.ts'

const BIG = { 'big.txt': randomBytes(400_000).toString('base64') }

/** A service on a small disk whose space reserve is used up, so that the next change fails when the disk is full. */
async function openOnSmallDisk() {
  const registry = await openRegistry([
    toolPackage('tools', '1.0.0', { files: BIG }),
    toolPackage('tools', '2.0.0', { files: BIG, tags: ['next'] }),
    toolPackage('other', '1.0.0'),
  ])
  atEnd(() => registry.close())
  const home = ownFolder()
  const disk = smallDisk(join(home, 'data'), 32)
  const service = await openTestService({ home, env: { ...npmEnv(home, registry.url), LOG_MAX_MB: '8' } })
  atEnd(() => service.close()) // before the unmount
  return { service, disk, useUpReserve: () => useUpReserve(service, disk) }
}

/** One for the file, because each service asks npm for its version and its settings. It has no package and no server. */
const opened = sharedByTests(openOnSmallDisk)
async function houseOnSmallDisk() {
  const house = await opened()
  house.disk.free()
  const remove = (url: string) => house.service.inject({ method: 'DELETE', url, headers: AUTHORISED })
  for (const { id } of await allServers(house.service)) await remove(`/api/servers/${id}`)
  for (const { id } of await installed(house.service)) await remove(`/api/packages/${id}`)
  expect(leftOf(house.service)).toEqual([])
  return house
}

async function useUpReserve(service: TestService, disk: ReturnType<typeof smallDisk>): Promise<void> {
  const add = async (n: number) =>
    service.inject({
      method: 'POST',
      url: '/api/servers',
      headers: AUTHORISED,
      body: { name: `filler ${n}`, command: 'x', args: ['y'.repeat(20_000)] },
    })
  for (let n = 0; ; n += 1) {
    disk.fill()
    if ((await add(n)).statusCode === 507) return
    expect(n).toBeLessThan(1000)
  }
}

/** Calls `action` as soon as a job enters this phase, before anything else happens. */
function atPhase(wanted: string, action: () => void): void {
  const original = FactBus.prototype.publish
  const spy = vi.spyOn(FactBus.prototype, 'publish').mockImplementation(function (this: FactBus, kind, fact) {
    if (
      kind === 'package_progress' &&
      'phase' in fact &&
      fact.phase === wanted &&
      !('line' in fact && fact.line)
    )
      action()
    original.call(this, kind, fact)
  })
  onTestFinished(() => spy.mockRestore())
}

/** Everything that a package leaves on the disk. */
function leftOf(service: TestService): string[] {
  const root = join(service.data, 'packages')
  if (!existsSync(root)) return []
  return readdirSync(root, { withFileTypes: true })
    .flatMap(({ name }) => readdirSync(join(root, name)).map((inner) => `${name}/${inner}`))
    .sort()
}

const allServers = async (service: TestService) =>
  (await service.inject('/api/servers')).json<{ items: ServerView[] }>().items

const servers = async (service: TestService) =>
  (await allServers(service)).filter(({ name }) => !name.startsWith('filler'))

describe.runIf(mayMount)('packages on a full disk', () => {
  const PHASES = [
    ['resolving', 0],
    ['installing', 100_000],
    ['checking', 0],
    ['installing', 450_000],
    ['finishing', 0],
    ['creating a server', 0],
  ] as const

  test.each(some(PHASES, 3, 1))(
    'A5: an install whose disk is full from the phase %s on, with %i bytes left, gets 507 and leaves no folder, no package and no server',
    async (phase, left) => {
      const { service, disk, useUpReserve } = await houseOnSmallDisk()
      await useUpReserve()
      disk.free()
      let isFull = false
      atPhase(phase, () => {
        if (!isFull) disk.fill(left)
        isFull = true
      })
      const args = Array.from({ length: 40 }, () => 'y'.repeat(20_000))
      const refused = await packages<{ code: string }>(service, 'POST', '/install-npm', {
        name: 'tools',
        create_server: true,
        args,
      })
      expect(isFull).toBe(true)
      expect(refused).toMatchObject({ status: 507, body: { code: 'disk_full' } })
      expect(leftOf(service)).toEqual([])
      expect(await installed(service)).toEqual([])
      expect(await servers(service)).toEqual([])
      disk.free()
      expect(await install(service, { name: 'tools', create_server: true })).toMatchObject({
        status: 'installed',
        server: { status: 'running' },
      })
    },
    600_000,
  )

  test.each(some(['installing', 'switching', 'finishing'], 3, 1))(
    'A5: a change of version whose disk is full from the phase %s on gets 507, and the version before stays in use',
    async (phase) => {
      const { service, disk, useUpReserve } = await houseOnSmallDisk()
      await install(service, { name: 'tools', version: '1.0.0', create_server: true })
      const before = leftOf(service)
      await useUpReserve()
      disk.free()
      let isFull = false
      atPhase(phase, () => {
        if (!isFull) disk.fill()
        isFull = true
      })
      const isInstall = phase === 'finishing'
      const refused = isInstall
        ? await packages<{ code: string }>(service, 'POST', '/install-npm', {
            name: 'tools',
            version: '2.0.0',
          })
        : await packages<{ code: string }>(service, 'POST', '/tools/update', { version: '2.0.0' })
      expect(isFull).toBe(true)
      expect(refused).toMatchObject({ status: 507, body: { code: 'disk_full' } })
      expect(leftOf(service)).toEqual(before)
      expect(readlinkSync(join(service.data, 'packages/tools/current'))).toMatch(/1\.0\.0$/)
      expect(await installed(service)).toMatchObject([
        { version: '1.0.0', status: 'installed', previous_version: null },
      ])
      expect(await servers(service)).toMatchObject([{ status: 'running' }])
      disk.free()
      const updated = await packages(service, 'POST', '/tools/update', { version: '2.0.0' })
      expect(updated).toMatchObject({ status: 200, body: { version: '2.0.0', previous_version: '1.0.0' } })
    },
    600_000,
  )

  test('A5: a package is uninstalled on a full disk, and a rollback that cannot be stored changes nothing', async () => {
    const { service, useUpReserve } = await houseOnSmallDisk()
    await install(service, { name: 'tools', version: '1.0.0' })
    await install(service, { name: 'tools', version: '2.0.0' })
    const before = leftOf(service)
    await useUpReserve()
    expect(await packages(service, 'POST', '/tools/rollback')).toMatchObject({ status: 507 })
    expect(leftOf(service)).toEqual(before)
    expect(await installed(service)).toMatchObject([{ version: '2.0.0', previous_version: '1.0.0' }])
    expect(await packages(service, 'DELETE', '/tools')).toMatchObject({ status: 204 })
    expect(leftOf(service)).toEqual([])
    expect(await installed(service)).toEqual([])
  }, 600_000)
})
