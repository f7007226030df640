import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { FactBus } from '../../kernel/fact-bus.ts'
import { ConfigurationDatabase } from '../../store/configuration/configuration.ts'
import { saveStatusChanges, statusEvents } from '../../store/events.store.ts'
import { openSqlite } from '../../store/sqlite/sqlite.ts'
import type { EventView } from './events.schema.ts'

async function read(service: TestService, query = '') {
  const reply = await service.inject({ url: `/api/events${query}`, headers: AUTHORISED })
  expect(reply.statusCode, reply.body).toBe(200)
  return reply.json<{ items: EventView[]; total: number | null; next_cursor: string | null }>()
}

test('events are changes, states and notices, newest first, and pages continue exactly after one another', async () => {
  const service = await openTestService()
  await register(service, 'echo')
  await register(service, 'crash', [], { restart: { policy: 'never' }, start_mode: 'manual' })
  await post(service, '/api/servers/echo/start')
  await post(service, '/api/servers/crash/start')
  const { items, total, next_cursor } = await read(service)
  expect({ total, next_cursor }).toEqual({ total: items.length, next_cursor: null })
  expect(items.map(({ ts }) => ts)).toEqual(
    items
      .map(({ ts }) => ts)
      .toSorted()
      .reverse(),
  )
  const of = (kind: string, id: string) =>
    items.filter((event) => event.kind === kind && event.server_id === id).map(({ text }) => text)
  expect(of('audit', 'echo')).toEqual(['echo was started by you', 'The server echo was added'])
  expect(of('server_status', 'echo')).toEqual([
    "'echo' is running: handshake done",
    "'echo' is starting: start",
  ])
  expect(of('notice', 'crash')).toEqual([expect.stringMatching(/^'crash' crashed\. /)])
  expect(items.find(({ kind }) => kind === 'notice')?.data).toMatchObject({
    kind: 'server_crashed',
    evidence: expect.stringContaining('exited with code 1'),
  })
  expect(items.find(({ id }) => id === 'audit-1')?.data).toMatchObject({
    action: 'server_added',
    subject: 'echo',
    request_id: expect.stringMatching(/^req_/),
    detail: { name: 'echo' },
  })

  const paged: EventView[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await read(service, `?limit=2${cursor && `&cursor=${cursor}`}`)
    paged.push(...page.items)
    cursor = page.next_cursor
  }
  expect(paged).toEqual(items)
  const some = await read(service, '?server_id=crash&kind=audit&kind=notice&since=1h')
  expect(some.items).toEqual(
    items.filter((event) => event.server_id === 'crash' && event.kind !== 'server_status'),
  )
  expect((await read(service, '?until=2020-01-01')).items).toEqual([])
})

test('events require the token and survive a restart, and audit rows are read from the configuration, not from the log', async () => {
  const service = await openTestService()
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  expect((await service.inject('/api/events')).statusCode).toBe(401)
  const before = (await read(service)).items
  await service.inject({ method: 'DELETE', url: '/api/logs', headers: AUTHORISED })
  await service.close()

  const again = await openTestService({ home: service.home })
  const after = (await read(again)).items
  for (const event of before) expect(after).toContainEqual(event)
  expect(after.map(({ text }) => text)).toContain('Log lines were cleared')
  expect(after.filter(({ kind, data }) => kind === 'server_status' && data.status === 'stopped')).toEqual([])
})

test('the newest 1,000 states of each server are kept, and 20,000 in total', async () => {
  const folder = ownFolder()
  const facts = new FactBus((error) => {
    throw error
  })
  const database = await ConfigurationDatabase.open({ folder, facts })
  onTestFinished(() => database.close())
  const change = (server_id: string, ts: number) => ({ ts, server_id, status: 'running', cause: 'start' })
  await saveStatusChanges(database, [change('quiet', 1)])
  await saveStatusChanges(
    database,
    Array.from({ length: 1100 }, (_, n) => change('restless', n + 2)),
  )
  const kept = await statusEvents(database).page({ server_ids: undefined, before: undefined, limit: 5000 })
  expect(kept.map(({ server_id }) => server_id)).toEqual([...Array(1000).fill('restless'), 'quiet'])
  await sql`insert into status_changes (ts, server_id, status, cause)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 22000)
    select 10000 + i, 'server-' || (i % 40), 'idle', '' from n`.execute(database.db)
  await saveStatusChanges(database, [change('last', 40_000)])
  const count = await statusEvents(database).count({ server_ids: undefined, before: undefined, limit: 1e6 })
  expect(count).toBe(20_000)
})

test('the newest 100,000 audit rows are kept', async () => {
  const folder = ownFolder()
  const facts = new FactBus((error) => {
    throw error
  })
  await (await ConfigurationDatabase.open({ folder, facts })).close()
  const file = openSqlite(join(folder, 'toolroom.db'))
  file.exec(`INSERT INTO audit (ts, action, subject, detail)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 101999)
    SELECT i, 'server_added', 'a', '{}' FROM n`)
  file.close()
  const database = await ConfigurationDatabase.open({ folder, facts })
  onTestFinished(() => database.close())
  await database.audit({ action: 'server_removed', subject: 'a', request_id: null, detail: {} })
  const ids = await database.db.selectFrom('audit').select('id').orderBy('id').execute()
  expect([ids.length, ids[0]?.id, ids.at(-1)?.id]).toEqual([100_000, 2001, 102_000])
})
