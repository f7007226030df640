import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { covers } from '../../../test/support/covers.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import {
  AUTHORISED as headers,
  openTestService,
  type TestService,
} from '../../../test/support/test-service.ts'
import { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { redactEntry } from './log-pipeline.ts'
import type { LogLine, LogPage } from './logs.schema.ts'

const url = '/api/logs'

/** A service whose log has `count` distinguishable lines. */
async function withLines(count: number): Promise<TestService> {
  const service = await openTestService()
  for (let n = 0; n < count; n += 1) {
    const level = n % 10 === 0 ? 'error' : 'info'
    service.log[level]({ server_id: `s${n % 3}`, n }, `line ${n} of ${count}`)
  }
  return service
}

const page = async (service: TestService, query = '') => {
  const reply = await service.inject(`${url}${query}`)
  expect(reply.statusCode, reply.body).toBe(200)
  return reply.json() as LogPage
}

test('lines that the service logs can be read immediately, newest first', async () => {
  covers('logs-get', 'does-logs', 'public-logs', 'resource-log-entries')
  const service = await openTestService()
  service.log.info({ server_id: 'github', request_id: 'req_1', answer: 42 }, 'something happened')
  const { items } = await page(service, '/?limit=1')
  expect(items[0]).toEqual({
    id: expect.any(Number),
    ts: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    level: 'info',
    source: 'service',
    stream: null,
    server_id: 'github',
    agent_type: null,
    tool: null,
    request_id: 'req_1',
    message: 'something happened',
    data: { answer: 42 },
    repeat: 1,
    truncated: false,
  })
})

test('a change over the API that succeeded is a debug line, which is kept at the default level, and one that failed is an info line', async () => {
  const service = await openTestService()
  const post = (payload: object) =>
    service.inject({ method: 'POST', url: '/api/presets-of-nowhere', headers, payload })
  await post({})
  const change = { method: 'POST', url: '/api/redact', headers, payload: { text: 'x' } } as const
  expect((await service.inject(change)).statusCode).toBe(200)
  const { items } = await page(service, '?search=POST')
  expect(items.map(({ level, message }) => [level, message])).toEqual([
    ['debug', 'POST /api/redact 200'],
    ['info', 'POST unknown path 404'],
  ])
})

describe('filters', () => {
  test.each([
    ['level=error', 3],
    ['server_id=s1', 10],
    ['server_id=s1&server_id=s2', 20],
    ['server_id=s0&level=error', 1],
    ['search=line+2', 11],
    ['search=LINE+29+OF', 1],
    ['search=9', 3],
    ['search=%25', 0],
    ['search=line&server_id=s2&level=error', 1],
    ['source=server', 0],
    ['source=service&server_id=s0', 10],
    ['stream=stderr', 0],
    ['agent_type=cursor', 0],
    ['tool=search', 0],
    ['request_id=req_none', 0],
    ['since=1h&search=line', 30],
    ['until=1h', 0],
    ['since=2020-01-01&until=2021-01-01T00:00:00.000Z', 0],
  ])('the filter %s selects %i lines', async (query, count) => {
    covers('open-log-filters')
    const service = await withLines(30)
    const { items, total } = await page(service, `?${query}&limit=1000`)
    expect({ found: items.length, total }).toEqual({ found: count, total: count })
  })

  test.each([
    'limit=abc',
    'limit=-1',
    'limit=0',
    'limit=1001',
    'limit=1e2',
    'limit=1&limit=2',
    'level=loud',
    'colour=red',
    'since=yesterday',
    'since=2026-13-01',
    'since=2026-02-30',
    'since=1h&until=2h',
    'cursor=abc',
    'order=up',
    'search=',
    `search=${'x'.repeat(257)}`,
    'server_id=A',
    'search=%00',
  ])('the query %s is refused with 422', async (query) => {
    const service = await openTestService()
    for (const path of [`${url}?${query}`, `${url}/?${query}`]) {
      expect((await service.inject(path)).json(), path).toMatchObject({ status: 422, code: 'invalid_input' })
    }
  })
})

test.each(['desc', 'asc'])(
  'paging in %s order returns every line once, even while new lines are written',
  async (order) => {
    const service = await withLines(57)
    const seen: number[] = []
    let cursor: string | null = null
    do {
      const query: string = `?search=line&limit=10&order=${order}${cursor ? `&cursor=${cursor}` : ''}`
      const { items, next_cursor } = await page(service, query)
      seen.push(...items.map(({ id }) => id))
      if (seen.length <= 20) service.log.info('line written later')
      cursor = next_cursor
    } while (cursor)
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toEqual([...seen].sort((a, b) => (order === 'asc' ? a - b : b - a)))
    expect(seen.length).toBe(order === 'asc' ? 59 : 57)
  },
)

test('around an id, a page has the line with as many lines before and after it, and cursors for both directions', async () => {
  const service = await withLines(41)
  const all = (await page(service, '?search=line&order=asc&limit=1000')).items.map(({ id }) => id)
  const middle = all[20] as number
  const ids = (items: readonly LogLine[]) => items.map(({ id }) => id)
  const descending = await page(service, `?search=line&around=${middle}&limit=11`)
  expect(ids(descending.items)).toEqual(all.slice(15, 26).reverse())
  expect(descending.total).toBe(41)
  const older = await page(service, `?search=line&limit=11&cursor=${descending.next_cursor}`)
  expect(ids(older.items)).toEqual(all.slice(4, 15).reverse())
  const newer = await page(service, `?search=line&limit=11&order=asc&cursor=${descending.prev_cursor}`)
  expect(ids(newer.items)).toEqual(all.slice(26, 37))

  const ascending = await page(service, `?search=line&around=${middle}&limit=100&order=asc`)
  expect(ids(ascending.items)).toEqual(all)
  expect(ascending).toMatchObject({ next_cursor: null, prev_cursor: null })
  // An id that the filter does not select, and the smallest window.
  expect((await page(service, `?search=no+line&around=${middle}`)).items).toEqual([])
  expect(ids((await page(service, `?search=line&around=${middle}&limit=1`)).items)).toEqual([middle])
  expect('prev_cursor' in (await page(service))).toBe(false)
  const both = await service.inject(`${url}?around=${middle}&cursor=3`)
  expect(both.json()).toMatchObject({ status: 422, errors: [{ path: '/around' }] })
})

test('a histogram counts the lines of a filter by time and level, with a point for each step', async () => {
  const service = await withLines(30)
  const histogram = async (query: string) => (await service.inject(`${url}/histogram?${query}`)).json()
  const recent = await histogram('search=line&since=1h&step=10m')
  expect(recent).toMatchObject({ step_s: 600, total: 30, complete: true })
  expect(recent.points).toHaveLength(7)
  const sum = (level: string) =>
    recent.points.reduce((count: number, point: Record<string, number>) => count + (point[level] ?? 0), 0)
  expect({ total: sum('total'), info: sum('info'), error: sum('error') }).toEqual({
    total: 30,
    info: 27,
    error: 3,
  })
  expect(await histogram('search=line&server_id=s1&level=error')).toMatchObject({ total: 1, step_s: 1 })
  expect(await histogram('until=1h')).toMatchObject({ total: 0, complete: true })
  // Without `since`, more points than allowed are cut off at the old end; with it, the step is refused.
  expect((await histogram('since=2020-01-01')).points.length).toBeLessThanOrEqual(120)
  expect(await histogram('since=1h&step=1s')).toMatchObject({ status: 422, errors: [{ path: '/step' }] })
  for (const step of ['0s', '1', '1w', '-1m'])
    expect(await histogram(`step=${step}`)).toMatchObject({ status: 422 })
})

describe('download', () => {
  test('logs can be downloaded as a file in three formats', async () => {
    covers('logs-download', 'open-auth-logs-download')
    const service = await withLines(5)
    service.log.warn('=cmd, "quoted"\nand \u001b[31mcoloured')
    const get = (query: string) => service.inject(`${url}/download?search=coloured${query}`)
    const [ndjson, text, csv] = [await get(''), await get('&format=text'), await get('&format=csv')]
    expect(JSON.parse(ndjson.body)).toMatchObject({
      level: 'warn',
      message: '=cmd, "quoted"\nand coloured',
    })
    expect(text.body).toMatch(/^\S+Z WARN +service .*=cmd/)
    expect(text.body).not.toContain('\u001b')
    expect(csv.body.split('\r\n')[0]).toMatch(/^id,ts,level,source/)
    expect(csv.body).toContain(`"'=cmd, ""quoted""`)
    for (const [reply, ending] of [
      [ndjson, 'ndjson'],
      [text, 'log'],
      [csv, 'csv'],
    ] as const) {
      expect(reply.headers['content-disposition']).toMatch(
        new RegExp(`^attachment; filename="toolroom-logs-[\\dT-]+\\.${ending}"$`),
      )
      expect(reply.headers['x-content-type-options']).toBe('nosniff')
    }
    expect((await service.inject(`${url}/download?format=xml`)).statusCode).toBe(422)
  })

  test('a download contains every line that existed at its start, oldest first', async () => {
    const service = await withLines(3000)
    const lines = (await service.inject(`${url}/download?search=line`)).body.trim().split('\n')
    expect(lines).toHaveLength(3000)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ message: 'line 0 of 3000' })
  })
})

test('clearing returns the number of deleted lines, keeps audit lines, and never reuses ids', async () => {
  covers('logs-clear')
  const service = await withLines(20)
  await service.inject({ method: 'POST', url: '/api/servers', headers, body: { name: 'a', command: 'b' } })
  const clear = async (query = '') =>
    (await service.inject({ method: 'DELETE', url: `${url}/${query}`, headers })).json()
  expect(await clear('?search=line&level=error')).toEqual({ deleted: 2 })
  const { total } = await page(service, '?search=line')
  expect(total).toBe(18)
  const newest = (await page(service, '?limit=1')).items[0]?.id ?? 0
  await clear()
  expect((await page(service, '?search=line')).total).toBe(0)
  expect((await page(service, '?source=audit')).items).toMatchObject([
    { message: 'logs cleared: logs' },
    { message: 'logs cleared: logs' },
    { message: 'server added: a', server_id: 'a' },
  ])
  service.log.info('after')
  expect((await page(service, '?search=after')).items[0]?.id).toBeGreaterThan(newest)
})

test('a damaged log is set aside, and the service starts with an empty log that reports it', async () => {
  const home = ownFolder()
  await (await openTestService({ home })).close()
  for (const end of ['-wal', '-shm']) rmSync(join(home, `data/logs.db${end}`), { force: true })
  writeFileSync(join(home, 'data/logs.db'), 'noise '.repeat(5000))
  const service = await openTestService({ home })
  const newest = async () => (await page(service, '?level=error')).items[0]?.message
  await expect.poll(newest).toContain('.damaged-')
  expect(readdirSync(service.data).some((name) => name.startsWith('logs.db.damaged-'))).toBe(true)
})

describe('redactEntry', () => {
  const secrets = new KnownSecrets()
  secrets.set('x', ['canary-secret'])
  const line = (message: string, data?: Record<string, unknown>) =>
    redactEntry({ ts: 1, level: 'info', source: 'service', message, ...(data && { data }) }, secrets)

  test('a stored line has no secret in its message or its data', () => {
    expect(line('key canary-secret, Bearer abcdef')).toMatchObject({ message: 'key ***, Bearer ***' })
    expect(line('x', { deep: ['canary-secret'] }).data).toBe('{"deep":["***"]}')
  })

  test('a long line is cut at 64 KiB between two characters and says how many bytes are missing', () => {
    const { message, truncated } = line('é'.repeat(100_000))
    expect(truncated).toBe(true)
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(65_536)
    const missing = Number(/ … \((\d+) bytes cut\)$/.exec(message)?.[1])
    expect(Buffer.byteLength(message.replace(/ … .*$/, '')) + missing).toBe(200_000)
    expect(message).not.toContain('\uFFFD')
    expect(line('é'.repeat(32_768)).truncated).toBe(false)
  })

  test('data that is too large or has a cycle is replaced by a note', () => {
    const cycle: Record<string, unknown> = {}
    cycle.self = cycle
    expect(line('x', cycle).data).toContain('could not be written')
    expect(line('x', { big: 'y'.repeat(70_000) }).data).toContain('larger than 64 KiB')
  })
})
