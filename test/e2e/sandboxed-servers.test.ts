import { describe, expect, test } from 'vitest'
import { npmOfThisComputer } from '../../scripts/outside-env.mjs'
import { SERVERS } from '../../scripts/verify-sandbox/servers.mjs'
import { tryServer } from '../../scripts/verify-sandbox/try-server.mjs'
import { onDisk } from '../support/folder.ts'
import { some } from '../support/full-or-short.ts'
import { PLACES } from '../support/places.ts'
import { openService } from '../support/service-process.ts'

onDisk()

const sandbox = PLACES.find(({ name }) => name === 'sandbox')
/** Those of `npm run verify:sandbox` that the tests install anyway. */
const NAMES = ['filesystem', 'memory']

describe.skipIf(!sandbox?.isThere)('with sandbox', () => {
  test.each(
    some(
      SERVERS.filter(({ name }) => NAMES.includes(name)),
      2,
    ),
  )(
    '$name from its installed package gets the isolation that its trials suggest, and works in it as without',
    async (server) => {
      const service = await openService({ env: npmOfThisComputer() })
      const request = async (method: string, path: string, body?: object) => {
        const reply = await service.ask(method, `/${path}`, body)
        expect(reply.status, JSON.stringify(reply.body)).toBeLessThan(300)
        return reply.body
      }
      await request('POST', 'packages/install-npm', { name: server.package })
      const found = await tryServer(request, service.home, server)
      expect(found, JSON.stringify(found)).toMatchObject({
        write: [`~/projects/${server.name}`],
        read: [],
        network: 'none',
        calls: [{ isolated: 'ok' }, { isolated: 'ok' }],
        failures: [],
      })
      expect(found.refused.length).toBeGreaterThan(0)
      expect(found.tools).toBeGreaterThan(3)
    },
    300_000,
  )
})
