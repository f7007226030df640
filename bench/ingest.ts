import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { FactBus } from '../src/kernel/fact-bus.ts'
import { LEVEL_RANK, type LogEntry } from '../src/kernel/log.ts'
import { KnownSecrets } from '../src/kernel/secrets/known-secrets.ts'
import { LogPipeline } from '../src/observe/logs/log-pipeline.ts'
import type { StoredEntry } from '../src/observe/logs/log-store.ts'
import { LOG_SCHEMA } from '../src/store/logs/log-schema.ts'
import { Connection } from '../src/store/sqlite/connection.ts'
import { LogThread } from '../src/store/thread/log-thread.ts'
import { StoreThread } from '../src/store/thread/store-thread.ts'
import { median, percentile, round } from './statistics.ts'
import { untilQuiet } from './subjects.ts'

const ROUNDS = 5
const BATCH = 500
const MAX_BYTES = 1024 * 1024 * 1024
const PAGE_EVERY_MS = 20

/** Throughput of log lines without the rate limit, compared with a minimal loop that stores them. */
export async function ingest(lines: readonly StoredEntry[]) {
  const entries = lines.map((line) => ({ ...line, data: line.data && JSON.parse(line.data) }) as LogEntry)
  const ours: Measured[] = []
  const bare: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await untilQuiet()
    bare.push(await inFolder((folder) => Promise.resolve(bareLoop(folder, entries))))
    ours.push(await inFolder((folder) => throughPipeline(folder, entries)))
  }
  const perS = median(ours.map((measured) => measured.perS))
  return {
    'lines/s': Math.round(perS),
    'lines/s, bare loop': Math.round(median(bare)),
    ratio: round(perS / median(bare)),
    'pages read meanwhile': ours.reduce((sum, { pagesMs }) => sum + pagesMs.length, 0),
    'p50 of a page, ms': round(
      percentile(
        ours.flatMap(({ pagesMs }) => pagesMs),
        50,
      ),
    ),
    'p99 of a page, ms': round(
      percentile(
        ours.flatMap(({ pagesMs }) => pagesMs),
        99,
      ),
    ),
    'remaining text indexing, ms': round(median(ours.map(({ indexedMs }) => indexedMs))),
  }
}

interface Measured {
  readonly perS: number
  readonly pagesMs: readonly number[]
  /** From the last line until the text index contains it. */
  readonly indexedMs: number
}

async function throughPipeline(folder: string, entries: readonly LogEntry[]): Promise<Measured> {
  const path = join(folder, 'logs.db')
  const workerUrl = pathToFileURL(join(process.cwd(), 'dist/store-worker.js'))
  const onError = (error: unknown) => console.error(error)
  const logs = { path, maxBytes: MAX_BYTES }
  const calls = { path: join(folder, 'calls.db'), keepsPayloads: false }
  const thread = new StoreThread({ logs, calls, workerUrl, onDamaged: onError, onError })
  const store = new LogThread(thread, MAX_BYTES)
  const deps = { secrets: new KnownSecrets(), facts: new FactBus(onError), now: Date.now }
  const pipeline = new LogPipeline({ ...deps, store, onLost: (_, error) => onError(error) })
  await store.check() // the thread is running
  const pagesMs: number[] = []
  let open = true
  const reading = (async () => {
    for (; open; await sleep(PAGE_EVERY_MS)) {
      const startedAt = performance.now()
      await store.page({ filter: {}, order: 'desc', limit: 100, after: null })
      pagesMs.push(performance.now() - startedAt)
    }
  })()
  const startedAt = performance.now()
  for (const [index, entry] of entries.entries()) {
    while (!pipeline.push(entry)) await turn() // the queue is full: the writer waits
    if (index % BATCH === 0) await turn()
  }
  await pipeline.flush()
  const ms = performance.now() - startedAt
  open = false
  await reading
  const indexedAt = performance.now()
  await untilIndexed(path, entries.length)
  const indexedMs = performance.now() - indexedAt
  await store.close()
  return { perS: (entries.length / ms) * 1000, pagesMs, indexedMs }
}

async function untilIndexed(path: string, lines: number): Promise<void> {
  const connection = new Connection(path)
  for (const end = performance.now() + 60_000; performance.now() < end; await sleep(20)) {
    const row = connection.row<{ rows: number }>('SELECT sum(rows) AS rows FROM parts')
    if ((row?.rows ?? 0) >= lines) break
  }
  connection.close()
}

/** The same columns without an index. Each line goes through JSON once, as if sent to a thread. */
function bareLoop(folder: string, entries: readonly LogEntry[]): number {
  const connection = new Connection(join(folder, 'bare.db'))
  connection.exec(LOG_SCHEMA.pragmas)
  connection.exec(`CREATE TABLE logs (id INTEGER PRIMARY KEY AUTOINCREMENT, ts, level, source, stream, server_id,
    agent_type, tool, request_id, message, data, repeat, truncated)`)
  const startedAt = performance.now()
  for (let start = 0; start < entries.length; start += BATCH) {
    connection.transaction(() => {
      const insert =
        connection.prepared(`INSERT INTO logs (ts, level, source, stream, server_id, agent_type, tool,
        request_id, message, data, repeat, truncated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0)`)
      for (const given of entries.slice(start, start + BATCH)) {
        const line = JSON.parse(JSON.stringify(given)) as Required<LogEntry>
        const { ts, source, stream, server_id, agent_type, tool, request_id, message } = line
        const data = line.data && JSON.stringify(line.data)
        const level = LEVEL_RANK[line.level]
        insert.run(ts, level, source, stream, server_id, agent_type, tool, request_id, message, data)
      }
    })
  }
  const ms = performance.now() - startedAt
  connection.close()
  return (entries.length / ms) * 1000
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
