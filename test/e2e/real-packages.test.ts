import { describe, expect, test } from 'vitest'
import { npmOfThisComputer } from '../../scripts/outside-env.mjs'
import type { Installed } from '../../src/servers/packages/packages.schema.ts'
import { some } from '../support/full-or-short.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { openService } from '../support/service-process.ts'

/** Popular packages, from the registry that this npm is configured for, or from its cache. */
const REAL = some(
  [
    { name: '@modelcontextprotocol/server-everything', server: 'everything', args: [] },
    { name: '@modelcontextprotocol/server-memory', server: 'memory', args: [] },
    { name: '@modelcontextprotocol/server-filesystem', server: 'filesystem', args: [process.cwd()] },
  ],
  3,
)

describe.runIf(process.platform === 'linux')('real packages', () => {
  /** All of them are installed at once. */
  const opened = sharedByTests(async () => {
    const service = await openService({ env: npmOfThisComputer() })
    const install = async ({ name, args }: (typeof REAL)[number]) => {
      const input = { name, create_server: true, args }
      return [name, await service.ask('POST', '/packages/install-npm', input)] as const
    }
    return { service, answers: new Map(await Promise.all(REAL.map(install))) }
  })

  test.each(REAL)(
    '$name is installed, started, listed and uninstalled with the real npm',
    async ({ name, server }) => {
      const { service, answers } = await opened()
      const { status, body } = answers.get(name) ?? {}
      expect(status, JSON.stringify(body)).toBe(201)
      const installed = body as Installed
      expect(installed).toMatchObject({
        name,
        status: 'installed',
        server: { id: server, status: 'running' },
      })
      expect(installed.integrity).toMatch(/^sha512-/)
      const tools = await service.ask('GET', `/servers/${server}/tools`)
      expect(tools.body.items.length).toBeGreaterThan(3)
      expect((await service.ask('GET', `/servers/${server}`)).body.health.level).toBe('healthy')
      expect((await service.ask('DELETE', `/packages/${installed.id}`)).status).toBe(409)
      const { total } = (await service.ask('GET', '/packages')).body
      expect((await service.ask('DELETE', `/servers/${server}`)).status).toBe(204)
      expect((await service.ask('DELETE', `/packages/${encodeURIComponent(name)}`)).status).toBe(204)
      expect((await service.ask('GET', '/packages')).body.total).toBe(total - 1)
    },
    180_000,
  )
})
