import { expect, test } from 'vitest'
import { FactBus } from '../kernel/facts.ts'
import { KnownSecrets } from '../kernel/known-secrets.ts'
import type { LogEntry } from '../kernel/log.ts'
import type { StoredEntry } from './log-store.ts'
import { LogPipeline } from './pipeline.ts'

const entry = (message: string, more: Partial<LogEntry> = {}): LogEntry => {
  return { ts: 1, level: 'info', source: 'service', message, ...more }
}

function pipelineInto(append: (entries: readonly StoredEntry[]) => Promise<void>) {
  const lost: number[] = []
  const facts = new FactBus(() => {})
  const heard: string[] = []
  facts.on('log', ({ message }) => heard.push(message))
  const secrets = new KnownSecrets()
  secrets.set('x', ['canary-secret'])
  const pipeline = new LogPipeline({
    store: { append },
    secrets,
    facts,
    now: () => 1,
    onLost: (lines) => {
      lost.push(lines.length)
      pipeline.push(entry('the log store fails')) // as the service does when it hears of it
    },
  })
  return { pipeline, lost, heard }
}

test('every line is stored once, in order, redacted, and published as it was stored', async () => {
  const stored: string[] = []
  const { pipeline, heard } = pipelineInto(
    async (entries) => void stored.push(...entries.map(({ message }) => message)),
  )
  for (let n = 0; n < 1234; n += 1) pipeline.push(entry(`line ${n} canary-secret`))
  await pipeline.flush()
  expect(stored).toEqual(Array.from({ length: 1234 }, (_, n) => `line ${n} ***`))
  expect(heard).toEqual(stored)
})

test('a store that fails never keeps a flush from ending, and audit lines wait for it', async () => {
  const stored: string[] = []
  let broken = true
  const { pipeline, lost } = pipelineInto(async (entries) => {
    if (broken) throw new Error('no')
    stored.push(...entries.map(({ message }) => message))
  })
  pipeline.push(entry('plain'))
  pipeline.push(entry('audited', { source: 'audit' }))
  await pipeline.flush()
  expect(lost).toEqual([2])
  broken = false
  await pipeline.flush()
  expect(stored).toEqual(['audited', 'the log store fails'])
})

test('a store that is too slow costs lines, and the log says how many', async () => {
  const stored: string[] = []
  let release = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  const { pipeline } = pipelineInto(async (entries) => {
    await gate
    stored.push(...entries.map(({ message }) => message))
  })
  for (let n = 0; n < 25_000; n += 1) pipeline.push(entry(`line ${n}`))
  release()
  await pipeline.flush()
  const notice = stored.find((message) => message.includes('were dropped'))
  expect(stored.length - 1 + Number(notice?.split(' ')[0])).toBe(25_000)
})
