import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LogStore, ResolvedFilter, StoredEntry } from '../src/observe/logs/log-store.ts'
import { filter, line, order } from './support/arbitrary-lines.ts'
import { entry, ModelLog } from './support/log-model.ts'

/** The tests that every log store must pass. `open` returns an empty store and closes it after the test. */
export function logStoreContract(open: () => LogStore, runs: number): void {
  test('every filter, alone and combined, selects the same lines as a scan of all lines', async () => {
    const { store, model } = { store: open(), model: new ModelLog() }
    const lines = fc.sample(line, { numRuns: 400, seed: 1 })
    for (let start = 0; start < lines.length; start += 80) {
      await append(store, model, lines.slice(start, start + 80))
    }
    const question = fc.record({ filter, order, limit: fc.integer({ min: 1, max: 500 }) })
    const property = fc.asyncProperty(question, async ({ filter, order, limit }) => {
      const expected = model.ids(filter, order)
      const page = await store.page({ filter, order, limit, after: null })

      expect(page.items.map(({ id }) => id)).toEqual(expected.slice(0, limit))
      expect(page.total).toBe(expected.length)
      expect(page.next).toBe(expected.length > limit ? expected[limit - 1] : null)
    })
    await fc.assert(property, { numRuns: runs * 10 })
  })

  test('a histogram counts the same lines as a page lists, by time and level', async () => {
    const { store, model } = { store: open(), model: new ModelLog() }
    await append(store, model, fc.sample(line, { numRuns: 400, seed: 3 }))
    const property = fc.asyncProperty(filter, fc.integer({ min: 100, max: 5000 }), async (filter, step) => {
      const expected = new Map<string, number>()
      const ids = new Set(model.ids(filter, 'asc'))
      for (const { id, ts, level } of model.lines) {
        const key = `${Math.floor(ts / step) * step} ${level}`
        if (ids.has(id)) expected.set(key, (expected.get(key) ?? 0) + 1)
      }
      const { counts, from } = await store.histogram({ filter, step })
      const counted = counts.map(({ start, level, lines }) => [`${start} ${level}`, lines] as const)
      expect({ counted: new Map(counted), from }).toEqual({ counted: expected, from: null })
    })
    await fc.assert(property, { numRuns: runs })
    expect(await store.oldest()).toBe(Math.min(...model.lines.map(({ ts }) => ts)))
  })

  test('an append returns the id of its first line, and the others follow it', async () => {
    const store = open()
    expect(await store.oldest()).toBeNull()
    expect(await store.append([entry(), entry()])).toBe(1)
    await store.clear({})
    // More than fits into one transaction or one message to a thread.
    const long = Array.from({ length: 50 }, () => entry({ message: 'x'.repeat(60_000) }))
    expect(await store.append(long)).toBe(3)
    expect(await store.append([entry({ message: 'last' })])).toBe(53)
    const { items } = await store.page({ filter: { search: 'last' }, order: 'asc', limit: 1, after: null })
    expect(items[0]?.id).toBe(53)
  })

  test('writing, clearing and reading in any order give the same results as the model', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.array(line, { maxLength: 40 }).map((lines) => ({ lines })) },
      { weight: 1, arbitrary: filter.map((clear) => ({ clear })) },
      { weight: 3, arbitrary: fc.record({ filter, order }).map((read) => ({ read })) },
    )
    const store = open()
    const model = new ModelLog()
    const property = fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
      for (const step of steps) {
        if ('lines' in step) await append(store, model, step.lines)
        else if ('clear' in step) expect(await store.clear(step.clear)).toBe(model.clear(step.clear))
        else expect(await allIds(store, step.read)).toEqual(model.ids(step.read.filter, step.read.order))
      }
    })
    await fc.assert(property, { numRuns: runs * 2 })
  })

  test('a line is read back unchanged', async () => {
    const store = open()
    const full = entry({
      ts: 1_763_199_000_123,
      level: 'warn',
      stream: 'mcp',
      server_id: 'docs',
      agent_type: 'cursor',
      tool: 'search',
      request_id: 'r-1',
      message: 'Grüße, 世界 😀 "quoted" \u001b[31m\r\n\ttab',
      data: '{"nested":{"n":1}}',
      repeat: 7,
      truncated: true,
    })
    await store.append([full, entry()])
    const { items } = await store.page({ filter: {}, order: 'asc', limit: 10, after: null })

    expect(items).toEqual([
      { id: 1, ...full, ts: '2025-11-15T09:30:00.123Z', data: { nested: { n: 1 } } },
      { id: 2, ...entry(), ts: '1970-01-01T00:00:01.000Z', ...NOTHING_ELSE },
    ])
  })

  test('characters that UTF-8 or SQLite cannot store are replaced visibly, and a search finds the replacement', async () => {
    const store = open()
    await store.append([entry({ message: 'a\0b \ud800 c' })])
    const found = await store.page({
      filter: { search: 'a\0b \ud800' },
      order: 'desc',
      limit: 1,
      after: null,
    })

    expect(found.items.map(({ message }) => message)).toEqual(['a␀b \ufffd c'])
  })

  test('an empty list in a filter selects no lines, for reading and for clearing', async () => {
    const store = open()
    await store.append([entry()])
    for (const filter of [{ source: [] }, { stream: [] }, { server_id: [] }]) {
      expect(await store.page({ filter, order: 'desc', limit: 1, after: null })).toMatchObject({ total: 0 })
      expect(await store.clear(filter)).toBe(0)
    }
  })

  test.each(['asc', 'desc'] as const)(
    'pages in %s order neither lose nor repeat lines while lines are added and cleared',
    async (order) => {
      const store = open()
      const lines = (prefix: string) =>
        Array.from({ length: 60 }, (_, index) => entry({ message: prefix, server_id: `s${index % 3}` }))
      await store.append(lines('old'))
      const seen: number[] = []
      for (let after: number | null = null, round = 0; ; round++) {
        const page = await store.page({ filter: { server_id: ['s0', 's1'] }, order, limit: 7, after })
        seen.push(...page.items.map(({ id }) => id))
        if (page.next === null) break
        after = page.next
        if (round === 1) await store.clear({ server_id: ['s1'] })
        if (round === 2) await store.append(lines('new'))
        if (round === 3) await store.clear({ server_id: ['s2'] })
      }
      const sign = order === 'asc' ? 1 : -1
      const kept = Array.from({ length: 20 }, (_, index) => 1 + index * 3) // the first lines of s0

      expect(seen).toEqual([...new Set(seen)].sort((a, b) => sign * (a - b)))
      expect(seen).toEqual(expect.arrayContaining(kept))
    },
  )

  test('line ids are never reused, not even after all lines were cleared', async () => {
    const store = open()
    await store.append([entry(), entry()])
    await store.clear({})
    await store.append([entry({ message: 'third' })])
    const { items } = await store.page({ filter: {}, order: 'desc', limit: 10, after: null })

    expect(items.map(({ id }) => id)).toEqual([3])
  })

  test('the total of a page is exact up to 10,000 and unknown above', async () => {
    const store = open()
    const lines = (count: number) => Array.from({ length: count }, () => entry({ message: 'many words' }))
    const total = async (filter: ResolvedFilter) =>
      (await store.page({ filter, order: 'desc', limit: 5, after: null })).total
    await store.append(lines(10_000))

    expect(await total({ search: 'words' })).toBe(10_000)
    expect(await total({})).toBe(10_000)
    await store.append(lines(1))
    expect(await total({ search: 'words' })).toBeNull()
    expect(await total({})).toBeNull()
    expect(await total({ since: 0, level: 'info' })).toBeNull()
  })

  test('clearing keeps audit lines and lines that are written at the same time', async () => {
    const store = open()
    await store.append([entry(), entry({ source: 'audit' }), entry({ server_id: 'a' })])
    const cleared = store.clear({})
    const appended = store.append([entry({ message: 'later' })])

    expect(await cleared).toBe(2)
    await appended
    const { items } = await store.page({ filter: {}, order: 'asc', limit: 10, after: null })
    expect(items.map(({ id }) => id)).toEqual([2, 4])
    expect(await store.clear({ source: ['audit'] })).toBe(0)
  })

  test('a page of very long lines is cut short, and the next page continues there', async () => {
    const store = open()
    await store.append(Array.from({ length: 100 }, () => entry({ message: 'é'.repeat(60_000) })))
    const seen: number[] = []
    for (let after: number | null = null; ; ) {
      const page = await store.page({ filter: {}, order: 'asc', limit: 1000, after })
      seen.push(...page.items.map(({ id }) => id))
      after = page.next
      if (after === null) break
      expect(page.items.length).toBeLessThan(100)
    }
    expect(seen).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
  })

  test.each(['ndjson', 'text', 'csv'] as const)(
    'a download as %s contains every line that existed at its start',
    async (format) => {
      const store = open()
      const lines = Array.from({ length: 3000 }, (_, index) =>
        entry({ message: `line ${index} ${'x'.repeat(200)}` }),
      )
      await store.append(lines)
      const download = store.download({ filter: { search: 'line' }, order: 'desc', format })
      await store.append([entry({ message: 'line too late' })])
      const pieces: Uint8Array[] = []
      for await (const piece of download) pieces.push(piece)
      const text = Buffer.concat(pieces).toString()

      expect(pieces.length).toBeGreaterThan(2)
      expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(512 * 1024)
      expect([...text.matchAll(/line (\d+)/g)].map(([, number]) => Number(number))).toEqual(
        lines.map((_, index) => 2999 - index),
      )
      if (format === 'ndjson') expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ id: 3000 })
      if (format === 'csv') expect(text.startsWith('id,ts,level,source,')).toBe(true)
    },
  )

  test('an abandoned download does not keep the log store from closing', async () => {
    const store = open()
    await store.append(Array.from({ length: 3000 }, () => entry({ message: 'x'.repeat(200) })))
    for await (const _ of store.download({ filter: {}, order: 'asc', format: 'text' })) break
    await store.close()
  })

  test('the ids of the audit rows in the log are known, and clearing keeps them', async () => {
    const store = open()
    expect(await store.auditIds()).toEqual({ trimmed_to: 0, stored: [] })
    const audit = (data: string | null) => entry({ source: 'audit', data })
    await store.append([
      audit('{"audit_id":7,"action":"x"}'),
      audit('{"audit_id":5}'),
      audit('{"cut'),
      audit(null),
    ])
    await store.append([entry({ data: '{"audit_id":99}' })])

    expect(await store.auditIds()).toEqual({ trimmed_to: 0, stored: [7, 5] })
    await store.clear({})
    expect(await store.auditIds()).toEqual({ trimmed_to: 0, stored: [7, 5] })
  })

  test('calls to a closed log store are rejected instead of waiting forever', async () => {
    const store = open()
    await store.check()
    await store.close()
    await store.close()

    await expect(store.append([entry()])).rejects.toMatchObject({ code: 'shutting_down' })
    await expect(store.check()).rejects.toMatchObject({ code: 'shutting_down' })
  })
}

const NOTHING_ELSE = { stream: null, server_id: null, agent_type: null, tool: null, request_id: null }

async function append(store: LogStore, model: ModelLog, lines: readonly StoredEntry[]): Promise<void> {
  model.append(lines)
  await store.append(lines)
}

async function allIds(
  store: LogStore,
  { filter, order }: { filter: ResolvedFilter; order: 'asc' | 'desc' },
): Promise<number[]> {
  const ids: number[] = []
  let after: number | null = null
  do {
    const page = await store.page({ filter, order, limit: 50, after })
    ids.push(...page.items.map(({ id }) => id))
    after = page.next
  } while (after !== null)
  return ids
}
