import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, onTestFinished, test } from 'vitest'
import { append, CALLS_FROM, callMaker, callOf } from '../../../test/support/calls.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { PRIVATE_FILE } from '../../../test/support/home-env.ts'
import { mayMount, smallDisk } from '../../../test/support/small-disk.ts'
import type { CallFilter, CallRecord } from '../../observe/calls/call-store.ts'
import { openSqlite } from '../sqlite/sqlite.ts'
import { type CallStoreOptions, SqliteCallStore } from './sqlite-call-store.ts'

function openStore(options: Partial<CallStoreOptions> = {}) {
  const troubles: string[] = []
  const path = options.path ?? join(ownFolder(), 'calls.db')
  const now = () => CALLS_FROM + 3_600_000
  const onTrouble = (message: string) => troubles.push(message)
  const store = new SqliteCallStore({ path, keepsPayloads: true, onTrouble, now, ...options })
  onTestFinished(() => store.close())
  const page = (filter: CallFilter = {}, limit = 10, before: number | null = null) =>
    store.page({ filter, limit, before })
  return { path, store, troubles, page }
}

/** What the store must return, by the plainest code. */
const expected = (calls: readonly CallRecord[], filter: CallFilter): CallRecord[] =>
  calls
    .filter(
      (call) =>
        (!filter.server_id || filter.server_id.includes(call.server_id ?? '')) &&
        (filter.tool === undefined || call.tool === filter.tool) &&
        (filter.agent_type === undefined || call.agent_type === filter.agent_type) &&
        (filter.session_id === undefined || call.session_id === filter.session_id) &&
        (!filter.status || filter.status.includes(call.status)) &&
        (call.duration_ms ?? 0) >= (filter.min_ms ?? 0) &&
        call.started_at >= (filter.since ?? 0) &&
        call.started_at <= (filter.until ?? Infinity) &&
        [call.tool, call.error_code, call.error_message].some((text) =>
          text?.toLowerCase().includes(filter.search?.toLowerCase() ?? ''),
        ),
    )
    .sort((a, b) => b.call_id - a.call_id)

const name = fc.constantFrom('a', 'b', 'Ünder', 'x"\\y')
const message = fc.constantFrom('Not found', 'line one\nline two', 'ÄRGER with a', '世界')
const anyCall = fc.record({
  call_id: fc.integer({ min: 1, max: 100_000 }),
  started_at: fc.integer({ min: CALLS_FROM, max: CALLS_FROM + 50 }),
  duration_ms: fc.option(fc.integer({ min: 0, max: 5 })),
  server_id: fc.option(name),
  tool: name,
  agent_type: fc.option(name),
  session_id: fc.option(name),
  request_id: fc.option(name),
  failure: fc.option(fc.record({ status: fc.constantFrom('error', 'timeout'), message, code: name })),
})
const anyFilter: fc.Arbitrary<CallFilter> = fc.record(
  {
    server_id: fc.array(name, { minLength: 1, maxLength: 2 }),
    tool: name,
    agent_type: name,
    session_id: name,
    status: fc.constantFrom<CallFilter['status'][]>(['ok'], ['error', 'timeout']),
    min_ms: fc.integer({ min: 0, max: 6 }),
    since: fc.integer({ min: CALLS_FROM, max: CALLS_FROM + 50 }),
    until: fc.integer({ min: CALLS_FROM, max: CALLS_FROM + 50 }),
    search: fc.constantFrom('not', 'LINE TWO', 'ärger', '界', 'a', 'nothing', 'one\nline'),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<CallFilter>

test('every filter, alone and together with others, finds exactly the calls that match, page by page, newest first', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(anyCall, { minLength: 1, maxLength: 20 }), { minLength: 1, maxLength: 40 }),
      fc.array(anyFilter, { minLength: 1, maxLength: 5 }),
      async (batches, filters) => {
        const seen = new Set<number>()
        const calls = batches.map((batch) =>
          batch
            .filter(({ call_id }) => !seen.has(call_id) && seen.add(call_id))
            .map(({ failure, ...fields }) =>
              callOf({
                ...fields,
                ...(failure && {
                  status: failure.status as 'error',
                  error_code: failure.code,
                  error_message: failure.message,
                }),
              }),
            ),
        )
        const { store, page } = openStore()
        for (const batch of calls) if (batch.length > 0) await append(store, batch)
        for (const filter of filters) {
          const all = expected(calls.flat(), filter)
          const pages: CallRecord[] = []
          let before: number | null = null
          do {
            const { items, total, next } = await page(filter, 7, before)
            expect(total).toBe(all.length)
            pages.push(...items)
            before = next
          } while (before !== null)
          expect(pages).toEqual(all)
        }
        await store.close()
      },
    ),
    { numRuns: 40, seed: 8665 },
  )
})

test('a call that did not reach its server has no duration, also after a restart, and one that took 0 ms has one', async () => {
  const { store, path } = openStore()
  const durations = [null, 0, 2.5]
  await append(
    store,
    durations.map((duration_ms, index) => callOf({ call_id: index + 1, duration_ms })),
  )
  await store.close()
  const { page } = openStore({ path })
  const listed = async (filter: CallFilter = {}) => (await page(filter)).items.map((call) => call.duration_ms)
  expect(await listed()).toEqual(durations.toReversed())
  expect(await listed({ min_ms: 0.1 })).toEqual([2.5])
})

test('calls of many small batches are merged into a few blocks, and above the limit the oldest ones are deleted', async () => {
  const { store, path } = openStore({ limits: { maxRows: 5000 } })
  const next = callMaker()
  for (let batch = 0; batch < 800; batch += 1) await append(store, Array.from({ length: 8 }, next))
  await store.close()
  const database = openSqlite(path)
  const count = database.prepare('SELECT count(*) AS blocks, sum(rows) AS rows FROM blocks').get()
  const parts = database.prepare('SELECT count(*) AS parts FROM details').get()
  const listed = database.prepare('SELECT sum(json_array_length(parts)) AS parts FROM blocks').get()
  database.close()
  expect(count?.blocks).toBeLessThan(60)
  expect(parts?.parts).toBe(listed?.parts) // those of deleted blocks are gone
  expect(count?.rows).toBeLessThanOrEqual(5000)
  expect(count?.rows).toBeGreaterThan(4000)
})

test('a page of 100,000 calls costs little more CPU time than the same filter over calls in memory, even if none matches', async () => {
  const { store, page } = openStore()
  const next = callMaker()
  const calls = Array.from({ length: 100_000 }, next)
  for (let at = 0; at < calls.length; at += 8192) await append(store, calls.slice(at, at + 8192))
  const cpu = async (work: () => unknown) => {
    const before = process.cpuUsage()
    for (let run = 0; run < 10; run += 1) await work()
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  for (const filter of [
    { tool: 'rare' },
    { search: 'absent' },
    { min_ms: 995 },
    { session_id: 'session-9' },
  ]) {
    const bare = () => expected(calls, filter)
    await cpu(() => page(filter))
    const [ours, control] = [await cpu(() => page(filter)), await cpu(bare)]
    expect(ours / control, JSON.stringify(filter)).toBeLessThan(5)
  }
})

test('calls that took long are listed by the time at which they started', async () => {
  const { store, page } = openStore()
  for (let id = 2; id <= 600; id += 1) await append(store, [callOf({ call_id: id })])
  await append(store, [callOf({ call_id: 1, duration_ms: 600_000 })])
  const { items } = await page({ min_ms: 1000 })
  expect(items.map(({ call_id }) => call_id)).toEqual([1])
  expect((await page({}, 3)).items.map(({ call_id }) => call_id)).toEqual([600, 599, 598])
  expect((await page({}, 3, 3)).items.map(({ call_id }) => call_id)).toEqual([2, 1])
  expect(await store.highestId()).toBe(600)
  expect(await store.find(1)).toMatchObject({ call_id: 1, duration_ms: 600_000 })
  expect(await store.find(601)).toBeUndefined()
})

test('calls and payloads survive a restart, and payloads are deleted when they are no longer to be kept on disk', async () => {
  const { store, path } = openStore()
  await append(store, [callOf({ call_id: 7, error_message: 'no', status: 'error', error_code: 'x' })])
  await store.savePayloads([{ call_id: 7, at: CALLS_FROM, sealed: 'sealed' }])
  await store.close()
  const again = openStore({ path })
  expect((await again.page()).items).toMatchObject([{ call_id: 7, error_message: 'no' }])
  expect(await again.store.payload(7)).toBe('sealed')
  await again.store.close()
  const { store: last } = openStore({ path, keepsPayloads: false })
  expect(await last.payload(7)).toBeUndefined()
  expect(statSync(path).mode & 0o777).toBe(PRIVATE_FILE)
})

test('calls older than 30 days and payloads older than 7 days are deleted, at most a tenth at once, however far the clock jumps', async () => {
  let now = CALLS_FROM
  const { store, page } = openStore({ now: () => now, steady: () => now })
  for (let n = 1; n <= 20; n += 1) {
    await append(
      store,
      Array.from({ length: 300 }, (_, at) => callOf({ call_id: n * 1000 + at })),
    )
    await store.savePayloads([{ call_id: n * 1000, at: CALLS_FROM, sealed: 'x' }])
  }
  const rows = async () => (await page()).total ?? 0
  now += 40 * 24 * 3_600_000
  const before = await rows()
  await append(store, [callOf({ call_id: 90_000, started_at: now })])
  expect(await rows()).toBeLessThan(before)
  expect(await rows()).toBeGreaterThan(before * 0.7)
  for (let hour = 0; hour < 60; hour += 1) {
    now += 3_700_000
    await append(store, [callOf({ call_id: 90_001 + hour, started_at: now })])
  }
  expect(await rows()).toBe(61)
  expect(await store.payload(1000)).toBeUndefined()
})

test('a clock that is ahead at a start deletes nothing by age before it is confirmed, by a later start or by a day', async () => {
  const DAY = 24 * 3_600_000
  const path = join(ownFolder(), 'calls.db')
  const clock = { now: CALLS_FROM, steady: 0 }
  const open = () => openStore({ path, now: () => clock.now, steady: () => clock.steady })
  const oldCalls = async (store: SqliteCallStore) =>
    (await store.page({ filter: { until: CALLS_FROM + DAY }, limit: 1, before: null })).total
  const usual = open()
  for (let n = 1; n <= 5; n += 1)
    await append(
      usual.store,
      Array.from({ length: 300 }, (_, at) => callOf({ call_id: n * 1000 + at })),
    )
  await usual.store.savePayloads([{ call_id: 1000, at: CALLS_FROM, sealed: 'x' }])
  await usual.store.close()

  clock.now += 400 * DAY
  const ahead = open()
  const later = async (store: SqliteCallStore, hours: number, from: number) => {
    for (let hour = 0; hour < hours; hour += 1) {
      clock.now += 3_700_000
      clock.steady += 3_700_000
      await append(store, [callOf({ call_id: from + hour, started_at: clock.now })])
    }
  }
  await later(ahead.store, 22, 100_000)
  expect([await oldCalls(ahead.store), await ahead.store.payload(1000)]).toEqual([1500, 'x'])
  await ahead.store.close()

  const confirmed = open()
  await later(confirmed.store, 1, 200_000)
  expect(await oldCalls(confirmed.store)).toBeLessThan(1500)
  await confirmed.store.close()

  clock.now += 400 * DAY
  const again = open()
  const before = await oldCalls(again.store)
  await later(again.store, 23, 300_000)
  expect(await oldCalls(again.store)).toBe(before)
  await later(again.store, 2, 400_000)
  expect(await oldCalls(again.store)).toBeLessThan(before ?? 0)
})

test('payloads take at most their space on disk, and the oldest ones make room', async () => {
  const { store } = openStore({ limits: { maxPayloadBytes: 1000 } })
  for (let id = 1; id <= 30; id += 1)
    await store.savePayloads([{ call_id: id, at: CALLS_FROM, sealed: 'x'.repeat(100) }])
  const kept = await Promise.all(Array.from({ length: 30 }, (_, at) => store.payload(at + 1)))
  expect(kept.map((sealed) => sealed !== undefined)).toEqual(Array.from({ length: 30 }, (_, at) => at >= 20))
})

test.runIf(mayMount)(
  'on a full disk new calls are stored or refused with disk_full, all listed ones are whole, and there is no damage (R15)',
  async () => {
    const folder = join(ownFolder(), 'disk')
    const { fill, free } = smallDisk(folder, 8)
    const { path, store, page, troubles } = openStore({ path: join(folder, 'calls.db') })
    const made: CallRecord[] = []
    const call = async (count: number) => {
      const before = made.length
      for (let id = before; id < before + count; id += 1)
        made.push(callOf({ call_id: id, tool: `tool ${id}`, error_message: `not found: ${id ** 5}` }))
      await append(store, made.slice(before))
    }
    const everyCall = async (of = page) => (await of({}, 100_000)).items
    const asMade = (calls: readonly CallRecord[]) => calls.map(({ call_id }) => made[call_id])
    await call(5000)
    expect(await everyCall()).toHaveLength(5000)

    fill()
    let refused = 0
    for (let n = 0; n < 20; n += 1)
      await call(500).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'disk_full' })
        refused += 1
      })
    expect(refused).toBeGreaterThan(0)
    const left = await everyCall()
    expect(left.length).toBeGreaterThan(0)
    expect(left).toEqual(asMade(left))

    free()
    await call(500)
    const healed = await everyCall()
    expect(healed).toEqual(asMade(healed))
    expect(healed.slice(0, 500)).toEqual(made.slice(-500).reverse())
    await store.close()
    const again = openStore({ path })
    expect(await everyCall(again.page)).toEqual(healed)
    expect([...troubles, ...again.troubles]).toEqual([])
  },
)

test.runIf(mayMount)(
  'payloads leave a full disk 2 MiB, with which servers can be stopped and deleted and Toolroom can start (R15)',
  async () => {
    const folder = join(ownFolder(), 'disk')
    const { fill, freeBytes } = smallDisk(folder, 12)
    const { store, page } = openStore({ path: join(folder, 'calls.db') })
    await append(store, [callOf({ call_id: 1 })])
    fill(4 * 1_048_576) // the reserve of the configuration, which a change has released
    const save = (call_id: number) =>
      store.savePayloads([{ call_id, at: CALLS_FROM, sealed: 'x'.repeat(120_000) }])
    for (let call_id = 1; call_id <= 60; call_id += 1) await save(call_id)
    expect(freeBytes()).toBeGreaterThan(2 * 1_048_576 - 150_000)
    expect([await store.payload(1), (await store.payload(60))?.length]).toEqual([undefined, 120_000])

    fill(1_048_576)
    await expect(save(61)).rejects.toMatchObject({ code: 'disk_full' })
    expect((await page()).items).toHaveLength(1)
  },
)

test('the write-ahead log of payloads stays small, whatever is saved at once', async () => {
  const { store, path } = openStore()
  const payloads = Array.from({ length: 60 }, (_, n) => ({
    call_id: n + 1,
    at: CALLS_FROM,
    sealed: 'x'.repeat(120_000),
  }))
  await store.savePayloads(payloads)
  expect(statSync(`${path}-wal`).size).toBeLessThan(2_500_000)
  expect(await store.payload(60)).toHaveLength(120_000)
})

describe('unusable file', () => {
  test.each([
    ['is not a database', (path: string) => writeFileSync(path, 'no database '.repeat(2000))],
    [
      'is overwritten in the middle',
      (path: string) => {
        const bytes = readFileSync(path)
        bytes.fill(0x5a, 16_384)
        writeFileSync(path, bytes)
      },
    ],
    [
      'has a block that is too short',
      (path: string) => {
        const database = openSqlite(path)
        database.exec("UPDATE blocks SET filters = x'00'")
        database.close()
      },
    ],
    [
      'comes from a newer version',
      (path: string) => {
        const database = openSqlite(path)
        database.exec('PRAGMA user_version = 99')
        database.close()
      },
    ],
  ])('a call history that %s is set aside with a report, and new calls are stored', async (_, damage) => {
    const { store, path } = openStore()
    await append(store, [callOf({})])
    await store.close()
    damage(path)
    const again = openStore({ path })
    await again.page().catch((error: unknown) => expect(error).toMatchObject({ code: 'store_damaged' }))
    await append(again.store, [callOf({ call_id: 2 })])
    expect((await again.page()).items.map(({ call_id }) => call_id)).toEqual([2])
    expect(again.troubles).toEqual([expect.stringContaining('the old file is now')])
    expect(readdirSync(join(path, '..')).filter((file) => file.includes('.damaged-'))).toHaveLength(1)
  })

  test('when no file can be opened, the history is kept in memory with a report', async () => {
    const folder = ownFolder()
    writeFileSync(join(folder, 'blocked'), '')
    const { store, page, troubles } = openStore({ path: join(folder, 'blocked', 'calls.db') })
    await append(store, [callOf({})])
    expect((await page()).total).toBe(1)
    expect(troubles).toEqual([expect.stringContaining('is kept in memory until the next start')])
  })

  test('calls that cannot be written because another program has locked the file are written later', async () => {
    const { store, page, path } = openStore()
    await append(store, [callOf({ call_id: 1 })])
    const other = openSqlite(path)
    other.exec('BEGIN IMMEDIATE')
    await append(store, [callOf({ call_id: 2 })])
    expect((await page()).total).toBe(1)
    other.exec('ROLLBACK')
    other.close()
    await append(store, [callOf({ call_id: 3 })])
    expect((await page()).total).toBe(3)
  })
})
