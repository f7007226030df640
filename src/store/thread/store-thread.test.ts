import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'rolldown'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { logStoreContract } from '../../../test/log-store.contract.ts'
import { CALLS_FROM, callOf } from '../../../test/support/calls.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { entry } from '../../../test/support/log-model.ts'
import { stopwatch } from '../../../test/support/measuring.ts'
import type { LogStore } from '../../observe/logs/log-store.ts'
import { SqliteCallStore } from '../calls/sqlite-call-store.ts'
import { openSqlite } from '../sqlite/sqlite.ts'
import { CallThread } from './call-thread.ts'
import { LogThread } from './log-thread.ts'
import { StoreThread } from './store-thread.ts'

/** Inside node_modules, so that the bundle finds the SQLite package, which is not bundled. */
const bundles = fileURLToPath(
  new URL(`../../../node_modules/.cache/store-thread-test-${process.pid}`, import.meta.url),
)
const workerUrl = pathToFileURL(join(bundles, 'store-worker.js'))

beforeAll(async () => {
  const here = dirname(fileURLToPath(import.meta.url))
  await build({
    input: {
      'store-worker': join(here, 'worker.ts'),
      'log-store': join(here, '../logs/sqlite-log-store.ts'),
      'call-store': join(here, '../calls/sqlite-call-store.ts'),
    },
    platform: 'node',
    external: [/^@photostructure\/sqlite/],
    output: { dir: bundles, format: 'esm', entryFileNames: '[name].js' },
  })
})
afterAll(() => rmSync(bundles, { recursive: true, force: true }))

interface Thread {
  readonly path: string
  readonly store: LogStore
  readonly calls: CallThread
  readonly troubles: string[]
}

function openThread(path = join(ownFolder(), 'logs.db'), url = workerUrl): Thread {
  const troubles: string[] = []
  const maxBytes = 64 * 1024 * 1024
  const thread = new StoreThread({
    logs: { path, maxBytes },
    calls: { path: join(dirname(path), 'calls.db'), keepsPayloads: false },
    onDamaged: (message) => troubles.push(message),
    onError: ({ message }) => troubles.push(message),
    workerUrl: url,
  })
  const store = new LogThread(thread, maxBytes)
  onTestFinished(() => store.close())
  return { path, store, calls: new CallThread(thread), troubles }
}

const newest = { filter: {}, order: 'desc', limit: 5, after: null } as const

describe('LogThread', () => {
  logStoreContract(() => openThread().store, 10)
})

test('the main thread is not blocked while the log thread writes and searches', async () => {
  const { store } = openThread()
  const lines = Array.from({ length: 500 }, (_, index) =>
    entry({ message: `line ${index} ${'text '.repeat(40)}` }),
  )
  let longest = 0
  let sinceTick = stopwatch()
  const timer = setInterval(() => {
    longest = Math.max(longest, sinceTick())
    sinceTick = stopwatch()
  }, 5)
  const writing = Array.from({ length: 30 }, () => store.append(lines))
  await Promise.all([...writing, store.page({ ...newest, filter: { search: 'Äbsent' } })])
  clearInterval(timer)

  expect(longest).toBeLessThan(500)
})

test('calls to the log thread start in the order in which they are made', async () => {
  const { store } = openThread()
  await store.append([entry({ message: 'first' })])
  const seen = store.page(newest)
  const cleared = store.clear({})
  const after = store.page(newest)

  expect([(await seen).total, await cleared, (await after).total]).toEqual([1, 1, 0])
})

test('a page does not wait for pending appends', async () => {
  const { store } = openThread()
  await store.append([entry({ message: 'stored' })])
  const lines = Array.from({ length: 1000 }, () => entry({ message: 'waits' }))
  let stored = 0 // counted here: a page does not count more than 10,000 lines
  const appended = Array.from({ length: 50 }, () => store.append(lines).then(() => (stored += 1)))
  const { items } = await store.page(newest)

  expect(items.length).toBeGreaterThan(0)
  expect(stored).toBeLessThan(appended.length)
  await Promise.all(appended)
})

test('a damaged log file is reported and replaced by an empty one', async () => {
  const path = join(ownFolder(), 'logs.db')
  writeFileSync(path, 'no database '.repeat(1000))
  const { store, troubles } = openThread(path)
  await store.append([entry()])

  expect((await store.page(newest)).total).toBe(1)
  expect(troubles).toEqual([expect.stringContaining('was replaced by an empty one; the old file is now')])
})

test('what is stored before the thread has started is stored, even if the thread is closed at once', async () => {
  const { path, store } = openThread()
  const stored = store.append([entry({ message: 'the first line' })])
  await store.close()
  await stored
  const again = openThread(path)
  expect((await again.store.page(newest)).items.map(({ message }) => message)).toEqual(['the first line'])
})

test('closing the store thread leaves one file for each store', async () => {
  const { path, store } = openThread()
  await store.append([entry()])
  await store.close()

  expect(readdirSync(dirname(path)).sort()).toEqual(['calls.db', 'logs.db'])
})

test('a log thread that crashes is reported and replaced, and pending calls are rejected', async () => {
  const crashing = join(bundles, 'crashing.mjs')
  const crashed = join(ownFolder(), 'crashed')
  // The first thread crashes at its first call; the next one is the real worker.
  writeFileSync(
    crashing,
    `import { existsSync, writeFileSync } from 'node:fs'
     import { parentPort } from 'node:worker_threads'
     const crashed = ${JSON.stringify(crashed)}
     if (existsSync(crashed)) await import('./store-worker.js')
     else parentPort.on('message', () => { writeFileSync(crashed, ''); throw new Error('out of luck') })`,
  )
  const { store, troubles } = openThread(undefined, pathToFileURL(crashing))

  await expect(store.append([entry()])).rejects.toThrow('The store thread has ended: out of luck')
  expect(troubles).toEqual([expect.stringContaining('out of luck')])
  await store.append([entry({ message: 'again' })])
  expect((await store.page(newest)).items.map(({ message }) => message)).toEqual(['again'])
})

test('a log that cannot be opened rejects its own calls and says why, leaves the call history usable, and works again at once', async () => {
  const blocked = join(ownFolder(), 'logs.db')
  mkdirSync(blocked)
  const { store, calls, troubles } = openThread(blocked)

  const refused = {
    code: 'store_damaged',
    message: expect.stringContaining('The log cannot be read or written: EISDIR'),
    hint: expect.stringContaining('Make logs.db and its folder writable'),
  }
  await expect(store.check()).rejects.toMatchObject(refused)
  await expect(store.page(newest)).rejects.toMatchObject(refused)
  await expect(store.append([entry()])).rejects.toMatchObject(refused)
  expect(troubles).toEqual([expect.stringContaining('The log cannot be read or written: EISDIR')])
  calls.add(callOf({ call_id: 7 }))
  await calls.flush()
  expect(await calls.find(7)).toMatchObject({ call_id: 7 })

  rmdirSync(blocked)
  await store.append([entry({ message: 'again' })])
  expect((await store.page(newest)).items.map(({ message }) => message)).toEqual(['again'])
})

test('a log whose folder cannot be made can be closed', async () => {
  const blocked = join(ownFolder(), 'a file')
  writeFileSync(blocked, '')
  const { store, troubles } = openThread(join(blocked, 'logs.db'))

  for (let count = 0; count < 2; count += 1)
    await expect(store.check()).rejects.toThrow('The log cannot be read or written: EEXIST')
  expect(troubles.length).toBeGreaterThanOrEqual(1)
  await store.close()
})

test('acknowledged lines survive a SIGKILL of the process, and the file is intact', async () => {
  const path = join(ownFolder(), 'logs.db')
  const program = `
    import { SqliteLogStore } from ${JSON.stringify(pathToFileURL(join(bundles, 'log-store.js')).href)}
    const logs = new SqliteLogStore({ path: process.argv[1], maxBytes: 2 ** 26, onDamaged: console.error, onError: console.error })
    for (let n = 1; ; n++) {
      await logs.append(Array.from({ length: 100 }, (_, i) => ({
        ts: n, level: 'info', source: 'audit', message: 'line ' + i + ' of batch ' + n + '.', data: '{"audit_id":' + n + '}',
        repeat: 1, truncated: false,
      })))
      process.stdout.write(n + '\\n')
      await new Promise((resolve) => setTimeout(resolve, 1))
    }`
  const acknowledged = await killed(program, path, 400) // so that the process is killed while it indexes
  const { store, troubles } = openThread(path)
  const { items } = await store.page({ ...newest, limit: 1000 })
  const last = Math.max(...(await store.auditIds()).stored)

  expect(last).toBeGreaterThanOrEqual(acknowledged)
  expect(items[0]?.message).toBe(`line 99 of batch ${last}.`)
  expect((await store.page({ ...newest, filter: { search: `of batch ${acknowledged}.` } })).total).toBe(100)
  expect(
    (await store.page({ ...newest, filter: { since: acknowledged - 1, until: acknowledged } })).total,
  ).toBe(200)
  expect(troubles).toEqual([])
  expect(existsSync(`${path}-wal`)).toBe(true)
})

test('stored calls survive a SIGKILL of the process, each once and whole, and the file is intact', async () => {
  // Many small batches, so that the process is killed while it writes a batch or merges several into one.
  const program = `
    import { SqliteCallStore } from ${JSON.stringify(pathToFileURL(join(bundles, 'call-store.js')).href)}
    const store = new SqliteCallStore({ path: process.argv[1], keepsPayloads: true, onTrouble: console.error })
    for (let n = 1; ; n++) {
      const call = ${JSON.stringify(callOf({}))}
      for (let i = 0; i < 20; i++) store.add({ ...call, call_id: n * 100 + i, tool: 'tool ' + n })
      await store.flush()
      process.stdout.write(n + '\\n')
    }`
  for (const afterMs of [0, 30, 60]) {
    const path = join(ownFolder(), 'calls.db')
    const acknowledged = await killed(program, path, afterMs)
    const troubles: string[] = []
    const onTrouble = (message: string) => troubles.push(message)
    const store = new SqliteCallStore({ path, keepsPayloads: true, onTrouble, now: () => CALLS_FROM })
    const { items } = await store.page({ filter: {}, limit: 1_000_000, before: null })
    await store.close()
    const batches = items.length / 20
    expect([acknowledged, acknowledged + 1]).toContain(batches)
    const expected = Array.from({ length: batches * 20 }, (_, at) => {
      const n = Math.floor(at / 20) + 1
      return callOf({ call_id: n * 100 + (at % 20), tool: `tool ${n}` })
    })
    expect(items).toEqual(expected.reverse())
    expect(troubles).toEqual([])
    const database = openSqlite(path)
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    database.close()
  }
})

/** Runs a program that writes a number for each batch it has stored, and kills it. Returns the last number. */
async function killed(program: string, path: string, afterMs: number): Promise<number> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, path])
  onTestFinished(() => void child.kill('SIGKILL'))
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  while (out.split('\n').length < 60) await delay(5)
  await delay(afterMs)
  child.kill('SIGKILL')
  await once(child, 'close')
  return Number(out.slice(0, out.lastIndexOf('\n')).split('\n').at(-1))
}
