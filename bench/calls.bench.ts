import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CallFilter, CallPageRequest } from '../src/observe/calls/call-store.ts'
import { SqliteCallStore } from '../src/store/calls/sqlite-call-store.ts'
import { append, CALLS_FROM, callMaker, EVERY_MS } from '../test/support/calls.ts'
import { median, round } from './statistics.ts'

const SIZES = [10_000, 100_000, 1_000_000]
const BATCH = 1024
const ROUNDS = 7

/** The call history at 10,000, 100,000 and 1,000,000 calls, to show what grows with the number of calls. */
export async function run(): Promise<{ title: string; rows: Record<string, string | number>[] }> {
  const table = new Map<string, number[]>()
  const note = (what: string, value: number) => table.set(what, [...(table.get(what) ?? []), value])
  for (const calls of SIZES) await measure(calls, note)
  const rows = [...table].map(([what, values]) => {
    const named = SIZES.map((calls, index) => [`${calls / 1000}k`, round(values[index] ?? 0)] as const)
    return { what, ...Object.fromEntries(named) }
  })
  return {
    title:
      'Call history: medians in ms of CPU time, so that other programs do not count, unless the name says otherwise',
    rows,
  }
}

/** SQLite works in the calling thread, so this is what a page takes on a computer that does nothing else. */
function ownCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

async function measure(calls: number, note: (what: string, value: number) => void): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-bench-'))
  const path = join(folder, 'calls.db')
  const now = () => CALLS_FROM + calls * EVERY_MS
  const open = () =>
    new SqliteCallStore({ path, keepsPayloads: false, now, onTrouble: (message) => console.error(message) })
  let store = open()
  try {
    note('append, µs per call', ((await fill(store, calls)) * 1000) / calls)
    await store.close()
    note('MB on disk', statSync(path).size / 1e6)
    const openedAt = ownCpuMs()
    store = open()
    note('open', ownCpuMs() - openedAt)
    for (const [what, request] of questions(calls))
      note(what, await medianCpuMs(() => store.page({ filter: {}, limit: 100, before: null, ...request })))
  } finally {
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function fill(store: SqliteCallStore, calls: number): Promise<number> {
  const next = callMaker()
  let spent = 0
  for (let at = 0; at < calls; at += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, calls - at) }, next)
    const startedAt = ownCpuMs()
    await append(store, batch)
    spent += ownCpuMs() - startedAt
  }
  return spent
}

function questions(calls: number): [string, Partial<CallPageRequest>][] {
  const middle = CALLS_FROM + (calls * EVERY_MS) / 2
  const filters: Record<string, CallFilter> = {
    'no filter': {},
    'a server': { server_id: ['server-7'] },
    'a server that has none': { server_id: ['nothing'] },
    'two servers': { server_id: ['server-1', 'server-2'] },
    'a tool': { tool: 'tool-33' },
    'a rare tool': { tool: 'rare' },
    'an agent': { agent_type: 'cursor' },
    'a session': { session_id: 'session-100' },
    'timeouts (rare)': { status: ['timeout'] },
    errors: { status: ['error'] },
    'at least 10 s (none)': { min_ms: 10_000 },
    'at least 990 ms (rare)': { min_ms: 990 },
    'an hour': { since: middle, until: middle + 3_600_000 },
    'a server, an agent and at least 990 ms': {
      server_id: ['server-7'],
      agent_type: 'cursor',
      min_ms: 990,
    },
    'all filters, none matches': {
      server_id: ['server-7'],
      tool: 'tool-7',
      agent_type: 'cursor',
      status: ['ok'],
      min_ms: 100,
      since: CALLS_FROM,
      search: 'tool-8',
    },
    'search: in one message': { search: 'issue 4242 ' },
    'search: in no message': { search: 'äbsent' },
    'search: in all messages': { search: 'not found' },
    'search: a tool': { search: 'TOOL-33' },
    'search: in no message of an agent': { search: 'absent', agent_type: 'cursor' },
  }
  return [
    ...Object.entries(filters).map(
      ([what, filter]) => [what, { filter }] as [string, { filter: CallFilter }],
    ),
    ['the last page', { before: CALLS_FROM + 200 }],
    ['1000 calls of a rare tool', { filter: { tool: 'rare' }, limit: 1000 }],
  ]
}

async function medianCpuMs(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = ownCpuMs()
    await work()
    times.push(ownCpuMs() - startedAt)
  }
  return median(times)
}
