import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PageRequest, ResolvedFilter, StoredEntry } from '../src/observe/logs/log-store.ts'
import { LogDatabase } from '../src/store/logs/log-database.ts'
import { randomFrom } from '../test/support/random.ts'
import { ingest } from './ingest.ts'
import { median, round } from './statistics.ts'

const SIZES = [10_000, 100_000, 1_000_000]
const INGESTED = 100_000
const START = Date.UTC(2026, 10, 1)
/** One line every 20 ms. */
const EVERY_MS = 20
const BATCH = 500
const MAX_BYTES = 1024 * 1024 * 1024

/** The log store at 10,000, 100,000 and 1,000,000 lines, to show what grows with the number of lines. */
export async function run(): Promise<{ title: string; rows: Record<string, string | number>[] }> {
  const table = new Map<string, number[]>()
  const note = (what: string, value: number) => table.set(what, [...(table.get(what) ?? []), value])
  for (const lines of SIZES) await measure(lines, note)
  const rows: Record<string, string | number>[] = [...table].map(([what, values]) => {
    const named = SIZES.map((lines, index) => [`${lines / 1000}k`, round(values[index] ?? 0)] as const)
    const ratio = round((values.at(-1) ?? 0) / (values[0] || 1))
    return { what, ...Object.fromEntries(named), '1000k ÷ 10k': ratio }
  })
  const line = lineMaker()
  const lines = Array.from({ length: INGESTED }, (_, index) => line(START + index * EVERY_MS))
  for (const [what, value] of Object.entries(await ingest(lines)))
    rows.push({ what: `ingest without rate limit: ${what}`, [`${INGESTED / 1000}k`]: value })
  return { title: 'Logs: medians in ms unless the name says otherwise', rows }
}

async function measure(lines: number, note: (what: string, value: number) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-bench-'))
  const path = join(folder, 'logs.db')
  const open = () => new LogDatabase({ path, maxBytes: MAX_BYTES, onDamaged: console.error })
  let logs = open()
  try {
    note('append, µs per line', (fill(logs, lines) * 1000) / lines)
    note('index, µs per line', (maintain(logs) * 1000) / lines)
    logs.close()
    note('MB on disk', statSync(path).size / 1e6)
    const openedAt = performance.now()
    logs = open()
    note('open', performance.now() - openedAt)
    for (const [what, request] of questions(lines)) {
      note(what, await medianMs(() => logs.page({ order: 'desc', limit: 100, after: null, ...request })))
    }
    await download(logs, note)
    const clearedAt = performance.now()
    await logs.clear({ server_id: ['server-7'] })
    note('clear one server', performance.now() - clearedAt)
    const allAt = performance.now()
    await logs.clear({})
    note('clear everything', performance.now() - allAt)
    note('release the disk space', maintain(logs))
  } finally {
    logs.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function questions(lines: number): [string, Partial<PageRequest> & { filter: ResolvedFilter }][] {
  const end = START + lines * EVERY_MS
  const day = { since: end - lines * EVERY_MS * 0.5, until: end - lines * EVERY_MS * 0.4 }
  const server = ['server-3']
  const search = (text: string, more: ResolvedFilter = {}) => ({ filter: { search: text, ...more } })
  return [
    ['newest page', { filter: {} }],
    ['oldest page', { filter: {}, order: 'asc' }],
    ['deep cursor', { filter: {}, after: Math.round(lines / 2) }],
    ['page of 1000', { filter: {}, limit: 1000 }],
    ['level=error', { filter: { level: 'error' } }],
    ['level=fatal (absent)', { filter: { level: 'fatal' } }],
    ['server_id', { filter: { server_id: server } }],
    ['server_id, deep cursor', { filter: { server_id: server }, after: Math.round(lines / 2) }],
    ['10 server_ids', { filter: { server_id: Array.from({ length: 10 }, (_, n) => `server-${n}`) } }],
    ['since until', { filter: day }],
    ['server_id, error, since until', { filter: { server_id: server, level: 'error', ...day } }],
    ['largest server, stream=mcp', { filter: { server_id: ['server-0'], stream: ['mcp'] } }],
    ['largest server, source=package (absent)', { filter: { server_id: ['server-0'], source: ['package'] } }],
    ['source=gateway, tool', { filter: { source: ['gateway'], tool: 'tool_7' } }],
    ['search common word', search('connection')],
    ['search common word, deep cursor', { ...search('connection'), after: Math.round(lines / 2) }],
    ['search two common words', search('timeout request')],
    ['search rare id', search('id=a1b2c3d')],
    ['search absent', search('qqqzzzqqq')],
    ['search absent phrase of common words', search('connection request response timeout closed')],
    ['search absent phrase, 60 letters', search(COMMON.join(' ').slice(0, 60))],
    ['search 2 letters, common', search('on')],
    ['search 2 letters, absent', search('§§')],
    ['search not ASCII, absent', search('Überlauf')],
    ['search common word, level=error', search('timeout', { level: 'error' })],
    ['search rare word, largest server', search('index update', { server_id: ['server-0'] })],
    ['search common word, since until', search('connection', day)],
  ]
}

async function download(logs: LogDatabase, note: (what: string, value: number) => void): Promise<void> {
  for (const format of ['ndjson', 'csv'] as const) {
    const before = process.memoryUsage().rss
    let most = before
    let bytes = 0
    let after: number | null = null
    let upTo: number | null = null
    const startedAt = performance.now()
    do {
      const chunk = await logs.chunk({ filter: {}, order: 'asc', format, after, upTo })
      bytes += chunk.bytes.length
      after = chunk.next
      upTo = chunk.upTo
      most = Math.max(most, process.memoryUsage().rss)
    } while (after !== null)
    note(`download ${format}, MB/s`, bytes / 1000 / (performance.now() - startedAt))
    note(`download ${format}, MB more RSS`, (most - before) / 1e6)
  }
}

async function medianMs(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 6; round++) {
    const startedAt = performance.now()
    await work()
    if (round > 0) times.push(performance.now() - startedAt)
  }
  return median(times)
}

function maintain(logs: LogDatabase): number {
  const startedAt = performance.now()
  while (logs.maintain());
  return performance.now() - startedAt
}

/** Counts only the time in the store; generating the lines takes longer. */
function fill(logs: LogDatabase, lines: number): number {
  const line = lineMaker()
  let ms = 0
  for (let start = 0; start < lines; start += BATCH) {
    const entries = Array.from({ length: BATCH }, (_, index) => line(START + (start + index) * EVERY_MS))
    const startedAt = performance.now()
    logs.append(entries)
    ms += performance.now() - startedAt
  }
  return ms
}

const COMMON =
  'connection request response timeout tool call server client handler session token file path read write error failed started stopped listening GET POST status duration bytes cache retry warning parse json schema database query result index update loaded config closed opened'.split(
    ' ',
  )
const SYLLABLES =
  'ba be bi bo ca ce co da de di do fa fe fi fo ga ge gi ha he hi ho in ja je ka ke ki la le li lo ma me mi mo na ne ni no on pa pe pi po ra re ri ro sa se si so ta te ti to un va ve vi wa we er es or al an st tion ment ing able pro con dis'.split(
    ' ',
  )

/** Lines of 5,000 words with a skewed distribution, and ids. Half of the lines come from three of twenty servers. */
function lineMaker(): (ts: number) => StoredEntry {
  const random = randomFrom(1)
  const pick = <T>(items: readonly T[], skew = 1) => items[Math.floor(random() ** skew * items.length)] as T
  const made = () => Array.from({ length: 2 + Math.floor(random() * 3) }, () => pick(SYLLABLES)).join('')
  const words = [...COMMON, ...Array.from({ length: 5000 }, made)]
  const word = () => words[Math.floor(words.length ** random()) - 1] ?? ''
  const hex = (length: number) =>
    Array.from({ length }, () => Math.floor(random() * 16).toString(16)).join('')
  const servers = Array.from({ length: 20 }, (_, index) => `server-${index}`)
  const tails = [() => [`id=${hex(12)}`], () => [`duration=${Math.floor(random() * 5000)}ms`], () => []]
  return (ts) => {
    const ours = random() < 0.1
    const source = ours
      ? pick(['service', 'gateway', 'agent'] as const)
      : random() < 0.001
        ? 'audit'
        : 'server'
    const called = source === 'gateway'
    const text = [...Array.from({ length: 5 + Math.floor(random() * 12) }, word), ...pick(tails)()]
    return {
      ts,
      level: pick(['info', 'debug', 'warn', 'error'] as const, 4),
      source,
      stream: ours ? null : pick(['stderr', 'stderr', 'stderr', 'stdout', 'mcp'] as const),
      server_id: ours && random() < 0.5 ? null : pick(servers, 2),
      agent_type: called ? pick(['claude-code', 'cursor', 'codex']) : null,
      tool: called ? `tool_${Math.floor(random() * 50)}` : null,
      request_id: called ? hex(16) : null,
      message: text.join(' '),
      data: random() < 0.1 ? JSON.stringify({ request: hex(8), n: Math.floor(random() * 1000) }) : null,
      repeat: 1,
      truncated: false,
    }
  }
}
