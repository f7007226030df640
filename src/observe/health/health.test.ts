import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { covers } from '../../../test/support/covers.ts'
import { openStoresHere } from '../../../test/support/logs.ts'
import { openTestService } from '../../../test/support/test-service.ts'

test('a healthy service reports ok with its version, uptime and checks', async () => {
  covers('public-health', 'health')
  const service = await openTestService()
  const reply = await service.inject('/api/health')
  expect(reply.statusCode).toBe(200)
  expect(reply.json()).toEqual({
    status: 'ok',
    version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
    uptime_s: expect.any(Number),
    checks: [
      { name: 'store', ok: true, detail: null },
      { name: 'logs', ok: true, detail: null },
      { name: 'disk', ok: true, detail: null },
    ],
    warnings: [],
  })
})

test('a missing database file makes the health check answer 503 with the reason', async () => {
  const service = await openTestService()
  renameSync(join(service.data, 'toolroom.db'), join(service.data, 'elsewhere.db'))
  const reply = await service.inject('/api/health')
  expect(reply.statusCode).toBe(503)
  expect(reply.json()).toMatchObject({
    status: 'broken',
    checks: [{ name: 'store', ok: false, detail: 'The database file was moved or deleted' }, {}, {}],
  })
})

test('a failing log store makes the service degraded, not broken', async () => {
  const openStores: typeof openStoresHere = async (options) => {
    const { logs, calls } = await openStoresHere(options)
    const check = () => Promise.reject(new Error('The log store fails'))
    return { logs: Object.assign(logs, { check }), calls }
  }
  const service = await openTestService({ openStores })
  const reply = await service.inject('/api/health')
  expect(reply.statusCode).toBe(200)
  expect(reply.json()).toMatchObject({ status: 'degraded' })
})

test('a weak token makes the service degraded with a warning', async () => {
  const service = await openTestService({ env: { AUTH_TOKEN: 'hunter2' } })
  expect((await service.inject('/api/health')).json()).toMatchObject({
    status: 'degraded',
    warnings: [expect.stringContaining('weak')],
  })
})
