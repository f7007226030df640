import { expect, test } from 'vitest'
import { AppError } from '../../kernel/errors.ts'
import { FactBus } from '../../kernel/fact-bus.ts'
import type { LogEntry } from '../../kernel/log.ts'
import { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { LogPipeline } from './log-pipeline.ts'
import type { StoredEntry } from './log-store.ts'

const entry = (message: string, more: Partial<LogEntry> = {}): LogEntry => {
  return { ts: 1, level: 'info', source: 'service', message, ...more }
}

function pipelineInto(append: (entries: readonly StoredEntry[]) => Promise<void>) {
  const lost: number[] = []
  const facts = new FactBus(() => {})
  const published: { readonly id: number | null; readonly message: string }[] = []
  facts.on('log', ({ id, message }) => published.push({ id, message }))
  let highestId = 0
  const secrets = new KnownSecrets()
  secrets.set('x', ['canary-secret'])
  const pipeline = new LogPipeline({
    store: {
      append: async (entries) => {
        await append(entries)
        highestId += entries.length
        return highestId - entries.length + 1
      },
      maxBatchBytes: 64 * 1024,
    },
    secrets,
    facts,
    now: () => 1,
    onLost: (lines) => {
      lost.push(lines.length)
      pipeline.push(entry('the log store fails')) // as the service does for a failing store
    },
  })
  return { pipeline, lost, published }
}

test('every line is redacted, then stored, and published once with its id, in order', async () => {
  const stored: string[] = []
  const { pipeline, published } = pipelineInto(
    async (entries) => void stored.push(...entries.map(({ message }) => message)),
  )
  for (let n = 0; n < 1234; n += 1) pipeline.push(entry(`line ${n} canary-secret`))
  await pipeline.flush()
  expect(stored).toEqual(Array.from({ length: 1234 }, (_, n) => `line ${n} ***`))
  expect(published).toEqual(stored.map((message, index) => ({ id: index + 1, message })))
})

test('a flush ends even if the store fails, and audit lines are stored by a later flush', async () => {
  const stored: string[] = []
  let broken = true
  const { pipeline, lost, published } = pipelineInto(async (entries) => {
    if (broken) throw new Error('no')
    stored.push(...entries.map(({ message }) => message))
  })
  pipeline.push(entry('plain'))
  pipeline.push(entry('audited', { source: 'audit' }))
  await pipeline.flush()
  expect(lost).toEqual([1])
  expect(published).toEqual([{ id: null, message: 'plain' }])
  expect(pipeline.failure).toBe('2 log lines could not be stored: no')
  broken = false
  await pipeline.flush()
  expect(stored).toEqual(['audited', 'the log store fails'])
  expect(pipeline.failure).toBeUndefined()
})

test('a store that is too slow causes lines to be dropped, and one line reports how many, also if it fails at first', async () => {
  const stored: string[] = []
  let release = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  let failures = 1
  const { pipeline, lost } = pipelineInto(async (entries) => {
    await gate
    const hasNotice = entries.some(({ message }) => message.includes('were dropped'))
    if (hasNotice && failures-- > 0) throw new Error('no')
    stored.push(...entries.map(({ message }) => message))
  })
  for (let n = 0; n < 25_000; n += 1) pipeline.push(entry(`line ${n}`))
  release()
  await pipeline.flush()
  expect(lost).toHaveLength(1)
  await pipeline.flush()
  const notice = stored.find((message) => message.includes('were dropped'))
  const lines = stored.filter((message) => message.startsWith('line '))
  expect(lines.length + (lost[0] ?? 0) + Number(notice?.split(' ')[0])).toBe(25_000)
})

test('a flush waits only for earlier lines, no matter how fast later lines arrive', async () => {
  const { pipeline } = pipelineInto(async () => void pipeline.push(entry('another')))
  for (let n = 0; n < 2000; n += 1) pipeline.push(entry(`line ${n}`))
  await pipeline.flush()
})

test('a batch is small enough for one transaction', async () => {
  const batches: (readonly StoredEntry[])[] = []
  const { pipeline } = pipelineInto(async (entries) => void batches.push(entries))
  for (const length of [10, 30_000, 30_000, 30_000, 64_000, 64_000, 10, 10])
    pipeline.push(entry('x'.repeat(length)))
  await pipeline.flush()
  expect(batches.map((lines) => lines.map(({ message }) => message.length))).toEqual([
    [10, 30_000, 30_000],
    [30_000],
    [64_000],
    [64_000, 10, 10],
  ])
})

test('long lines that wait for a slow store are limited by size, not by number', () => {
  const { pipeline } = pipelineInto(() => new Promise(() => {}))
  const taken = Array.from({ length: 1000 }, () =>
    pipeline.push(entry('x'.repeat(60_000), { source: 'server' })),
  )
  expect(taken.indexOf(false)).toBeLessThan(160)
  expect(pipeline.push(entry('audited', { source: 'audit' }))).toBe(true)
})

test('on a full disk a batch is stored in smaller parts, and only what does not fit is lost', async () => {
  const stored: string[] = []
  const tried: number[] = []
  const { pipeline, lost } = pipelineInto(async (entries) => {
    tried.push(entries.length)
    if (entries.length > 100 || stored.length >= 300) throw new AppError('disk_full', 'full')
    stored.push(...entries.map(({ message }) => message))
  })
  for (let n = 0; n < 400; n += 1) pipeline.push(entry(`line ${n}`))
  await pipeline.flush()
  expect(stored).toEqual(Array.from({ length: 300 }, (_, n) => `line ${n}`))
  expect(lost).toEqual([100])
  expect(tried).toEqual([400, 100, 100, 100, 100, 25, 7])
})

test('a notice about dropped server lines is stored even if the store fails at first', async () => {
  const stored: string[] = []
  let broken = true
  const { pipeline, lost } = pipelineInto(async (entries) => {
    if (broken) throw new Error('no')
    stored.push(...entries.map(({ message }) => message))
  })
  pipeline.push(entry('7 lines were dropped', { source: 'server', server_id: 's' }))
  pipeline.push(entry('a line', { source: 'server', server_id: 's', stream: 'stderr' }))
  await pipeline.flush()
  broken = false
  await pipeline.flush()
  expect(lost).toEqual([1])
  expect(stored).toEqual(['7 lines were dropped', 'the log store fails'])
})
