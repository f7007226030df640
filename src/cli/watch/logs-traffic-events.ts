import { setTimeout as sleep } from 'node:timers/promises'
import { allServers } from '../run/any-server.ts'
import { type Answer, type Context, type Run, rowWith, type Value } from '../run/command-context.ts'
import { usage } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import { bytes, clock, milliseconds } from '../run/human-readable.ts'
import { type Line, type Tone, toned } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'

type LogLine = Schemas['LogLine']
type Call = Schemas['Call']

const POLL_MS = 500
const MOST = 1000
/** Of one look at what is new. At least as many are known, so that an older item is not taken for a new one. */
const PAGE = 100

interface Item {
  readonly id: number | string
}

interface Page<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

interface Source<T extends Item> {
  /** A page of the list, the newest item first. */
  readonly read: (page: { readonly limit: number; readonly cursor?: string }) => Promise<Page<T>>
  readonly line: (item: T) => Line
  /** What `--plain` prints. */
  readonly row: (item: T) => readonly Value[]
  /** Shown if the list is empty. */
  readonly empty: string
}

/** `toolroom logs [SERVER...]` */
export const showLogs: Run = async (context) => {
  const { api, given } = context
  const everything = given.words('SERVER').length === 0 ? { level: 'info' } : {}
  const chosen = { ...everything, ...given.flags('level', 'search') } as Partial<Pick<LogLine, 'level'>> & {
    search?: string
  }
  const filters = { ...(await filtersOf(context)), ...chosen }
  return showNewest(context, {
    read: (page) => api.get('/api/logs', { query: { ...filters, ...page } }),
    line: logLine,
    row: ({ ts, level, source, server_id, message }) => [ts, level, server_id ?? source, message],
    empty: 'No lines.',
  })
}

const TONES: Partial<Record<LogLine['level'], Tone>> = { warn: 'warn', error: 'err', fatal: 'err' }

export function logLine({ ts, level, source, server_id, message, repeat, truncated }: LogLine): Line {
  return [
    toned('dim', clock(ts)),
    ' ',
    toned(TONES[level] ?? 'dim', level.padEnd(5)),
    ` ${server_id ?? source}  ${message}`,
    truncated ? toned('dim', ' …') : '',
    repeat > 1 ? toned('dim', ` (${repeat} times)`) : '',
  ]
}

const FAILED: Call['status'][] = ['error', 'timeout', 'cancelled']
const CALL_FIELDS = [
  ...(['started_at', 'server_id', 'tool', 'agent_type', 'status'] as const),
  ...(['duration_ms', 'request_bytes', 'response_bytes', 'error_code'] as const),
]

/** `toolroom traffic [SERVER...]` */
export const showTraffic: Run = async (context) => {
  const { api, given } = context
  const filters = { ...(await filtersOf(context)), ...(given.is('failed') && { status: FAILED }) }
  return showNewest(context, {
    read: (page) => api.get('/api/calls', { query: { ...filters, ...page } }),
    line: callLine,
    row: (call) => rowWith(call, ...CALL_FIELDS),
    empty: 'No calls.',
  })
}

function callLine(call: Call): Line {
  const { started_at, status, server_id, tool, agent_type, duration_ms, error_code, error_message } = call
  const isOk = status === 'ok'
  const size = `${bytes(call.request_bytes)} in, ${bytes(call.response_bytes)} out`
  const reason = [error_code ?? status, error_message].filter(Boolean).join(': ')
  return [
    toned('dim', clock(started_at)),
    isOk ? toned('ok', ' ✓ ') : toned('err', ' ✕ '),
    `${server_id ?? '-'} ${tool}  ${milliseconds(duration_ms) ?? '–'}  `,
    isOk ? size : toned('err', reason),
    agent_type === null ? '' : toned('dim', `  ${agent_type}`),
  ]
}

/** `toolroom events [SERVER...]` */
export const showEvents: Run = async (context) => {
  const { api } = context
  const filters = await filtersOf(context)
  return showNewest(context, {
    read: (page) => api.get('/api/events', { query: { ...filters, ...page } }),
    line: ({ ts, kind, text }) => [toned('dim', `${clock(ts)} ${KINDS[kind].padEnd(7)} `), text],
    row: ({ ts, kind, server_id, agent_type, text }) => [ts, kind, server_id, agent_type, text],
    empty: 'No events.',
  })
}

const KINDS = { audit: 'change', server_status: 'server', notice: 'notice' } as const

/** Shows the newest items, the newest last. With `-f`, continues until the program is ended. */
async function showNewest<T extends Item>(
  { given, emit }: Context,
  { read, line, row, empty }: Source<T>,
): Promise<Answer | undefined> {
  const limit = limitOf(given.flag('limit'))
  const isFollowed = given.is('follow')
  const { items } = await read({ limit: isFollowed ? Math.max(limit, PAGE) : limit })
  let shown = items.slice(0, limit).reverse()
  if (!isFollowed)
    return {
      json: { items: shown },
      lines: shown.length === 0 ? [empty] : shown.map(line),
      plain: shown.map(row),
    }
  // The program that reads the lines may end, as in `toolroom logs -f | head`.
  process.stdout.once('error', () => process.exit(0))
  process.once('SIGINT', () => process.exit(130))
  let known = new Set(items.map(({ id }) => id).reverse())
  for (;;) {
    for (const item of shown) emit(item, line(item), row(item))
    await sleep(POLL_MS)
    shown = await newSince(known, read)
    if (shown.length > 0) known = new Set([...known, ...shown.map(({ id }) => id)].slice(-2 * MOST))
  }
}

/** The items that came after the known ones, the oldest first. */
async function newSince<T extends Item>(
  known: ReadonlySet<Item['id']>,
  read: Source<T>['read'],
): Promise<T[]> {
  const fresh: T[] = []
  let cursor: string | null = null
  do {
    const page: Page<T> = await read({ limit: PAGE, ...(cursor !== null && { cursor }) })
    const unknown = page.items.filter(({ id }) => !known.has(id))
    fresh.push(...unknown)
    cursor = unknown.length < page.items.length ? null : page.next_cursor
  } while (cursor !== null && fresh.length < MOST)
  return fresh.reverse()
}

function limitOf(given = '100'): number {
  const limit = Number(given)
  if (/^\d+$/.test(given) && limit >= 1 && limit <= MOST) return limit
  throw usage(`--limit must be a whole number from 1 to ${MOST}, not '${given}'`, null)
}

/** The filters that the lists of this group share. */
async function filtersOf({ api, given }: Context): Promise<{ server_id?: string[]; since?: string }> {
  const names = given.words('SERVER')
  const servers = names.length === 0 ? [] : await allServers(api)
  return {
    ...(names.length > 0 && { server_id: names.map((name) => findNamed(servers, name, 'server').id) }),
    ...given.flags('since'),
  }
}
