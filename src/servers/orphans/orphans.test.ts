import { expect, onTestFinished, test } from 'vitest'
import { leaveBehind } from '../../../test/support/orphan.ts'
import { buildApp } from '../../api/http/app.ts'
import { AccessToken, Guesses } from '../../api/http/auth.ts'
import { EarlyListener } from '../../api/http/early-listener.ts'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { createLog } from '../../kernel/log.ts'
import type { Orphan } from '../../kernel/orphan-process.ts'
import { endOrphan, findOrphans } from '../../supervisor/orphans/orphans.ts'
import { thisPlatform } from '../../supervisor/platform/this-platform.ts'
import { processRoutes } from './orphans.routes.ts'
import { createProcesses, type Deps } from './orphans.service.ts'

const TOKEN = 'the token of this test'
const AUTHORISED = { 'x-svc-token': TOKEN }
const url = '/api/processes/orphans'
const orphan: Orphan = {
  id: '123-456',
  pid: 123,
  command: 'npm exec foo-mcp',
  owner: 'anna',
  age_s: 60,
  rss_bytes: 4096,
  processes: 2,
}

/** An HTTP app with only these routes. */
async function open(deps: Partial<Deps> = {}) {
  const audited: AuditEntry[] = []
  const processes = createProcesses({
    find: async () => [orphan],
    end: async (id) => (id === orphan.id ? { outcome: 'ended', orphan } : { outcome: 'gone' }),
    audit: async (entry) => void audited.push(entry),
    now: () => Date.parse('2026-11-15T09:30:00.400Z'),
    ...deps,
  })
  const { fastify } = await buildApp({
    front: new EarlyListener({ allowedHosts: [] }),
    log: createLog(() => {}, 'fatal'),
    version: '0',
    token: new AccessToken(TOKEN),
    headerName: 'X-SVC-Token',
    protectReads: false,
    guesses: new Guesses(() => {}),
    routes: [processRoutes(processes)],
  })
  onTestFinished(() => fastify.close())
  return {
    audited,
    list: () => fastify.inject({ url, headers: AUTHORISED }),
    end: (id: string) => fastify.inject({ method: 'DELETE', url: `${url}/${id}`, headers: AUTHORISED }),
    inject: fastify.inject.bind(fastify),
  }
}

test('leaked processes are listed with their start time', async () => {
  const { list } = await open()
  expect((await list()).json()).toEqual({
    items: [{ ...orphan, started_at: '2026-11-15T09:29:00.000Z' }],
    total: 1,
    next_cursor: null,
  })
})

test('listing and ending leaked processes needs the token, even when reads are public', async () => {
  const { inject } = await open()
  expect((await inject(url)).statusCode).toBe(401)
  expect((await inject({ method: 'DELETE', url: `${url}/${orphan.id}` })).statusCode).toBe(401)
})

test('ending a leaked process answers 204 and is audited', async () => {
  const { end, audited } = await open()
  const reply = await end(orphan.id)
  expect(reply.statusCode).toBe(204)
  expect(audited).toEqual([
    {
      action: 'orphan_ended',
      subject: '123',
      request_id: reply.headers['x-request-id'],
      detail: { command: 'npm exec foo-mcp', owner: 'anna' },
    },
  ])
})

test.each(['123-457', '123', 'x', encodeURIComponent('../1')])(
  'ending the unknown process %s answers 404 and is not audited',
  async (id) => {
    const { end, audited } = await open()
    const reply = await end(id)
    expect(reply.json()).toMatchObject({ status: 404, code: 'not_found' })
    expect(reply.json().detail).toContain(`'${decodeURIComponent(id)}'`)
    expect(audited).toEqual([])
  },
)

test('ending a process of another user answers 403 with the process and the user', async () => {
  const { end, audited } = await open({ end: async () => ({ outcome: 'not_permitted', orphan }) })
  expect((await end(orphan.id)).json()).toMatchObject({
    status: 403,
    code: 'not_permitted',
    detail: "Toolroom cannot end the process 123 of the user 'anna'",
    hint: `Run as that user: ${process.platform === 'win32' ? 'taskkill /F /T /PID' : 'kill'} 123`,
  })
  expect(audited).toEqual([])
})

test('the API documentation lists not_permitted as a response of the delete endpoint', async () => {
  const { inject } = await open()
  const { paths } = (await inject('/docs/json')).json()
  expect(paths['/api/processes/orphans/{id}'].delete.responses['403'].description).toContain('not_permitted')
})

test.runIf(process.platform === 'linux')(
  'a real leaked process is found, ended, and no longer listed',
  async () => {
    const mark = 'TOOLROOM_CHILD=test-processes'
    const { id } = await leaveBehind()
    const { list, end } = await open({
      find: () => findOrphans({ table: thisPlatform.table, mark }),
      end: (each) => endOrphan(each, { platform: thisPlatform, mark }),
    })
    const ids = async () => (await list()).json().items.map((item: { id: string }) => item.id)
    expect(await ids()).toContain(id)
    expect((await end(id)).statusCode).toBe(204)
    expect(await ids()).not.toContain(id)
    expect((await end(id)).statusCode).toBe(404)
  },
)
