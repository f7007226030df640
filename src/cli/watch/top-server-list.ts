import { type AnyServer, isStdio, isUntried, needsHelp, stateSpan } from '../run/any-server.ts'
import { columns } from '../run/columns.ts'
import { bytes, counted, elapsed, milliseconds, share } from '../run/human-readable.ts'
import { cut, type Line, type Span, toned } from '../run/printed-line.ts'
import type { Schemas } from '../run/service-client.ts'

/** What is shown, as it was at one moment. */
export interface Figures {
  readonly servers: readonly AnyServer[]
  /** Of the last five minutes. */
  readonly tools: readonly Schemas['ToolFigures'][]
  readonly summary: Schemas['MetricsSummary']
  readonly at: number
}

export const SORTS = ['name', 'calls', 'errors', 'p95', 'cpu', 'memory'] as const
export type Sort = (typeof SORTS)[number]

/** What the user has chosen. */
export interface View {
  readonly page: 'list' | 'details' | 'log' | 'help'
  /** How many lines of the page are above the screen; of a log, below it. */
  readonly scroll: number
  readonly filter: string
  readonly isTyping: boolean
  readonly sort: Sort
  /** The id of the chosen server. */
  readonly chosen: string | undefined
  readonly message: string
}

export const HEAD = ['NAME', 'STATUS', 'CALLS/M', 'P50', 'P95', 'ERR', 'CPU', 'RSS', 'LAST CALL']
const WINDOW_MIN = 5

/** The servers that fit the filter, in the chosen order. */
export function rankedServers({ servers, tools }: Figures, { filter, sort }: View): AnyServer[] {
  const wanted = filter.toLowerCase()
  const weight: Record<Sort, (server: AnyServer) => number> = {
    name: () => 0,
    calls: ({ id }) => recentOf(id, tools).calls,
    errors: ({ stats }) => (stats.calls === 0 ? 0 : stats.errors / stats.calls),
    p95: ({ stats }) => stats.p95_ms ?? 0,
    cpu: (server) => (isStdio(server) ? (server.resources?.cpu_pct ?? 0) : 0),
    memory: (server) => (isStdio(server) ? (server.resources?.rss_bytes ?? 0) : 0),
  }
  return servers
    .filter(({ id, name }) => id.includes(wanted) || name.toLowerCase().includes(wanted))
    .sort((a, b) => weight[sort](b) - weight[sort](a))
}

export function rowOf(server: AnyServer, { tools, at }: Figures): Span[] {
  const { id, stats } = server
  const { calls, last } = recentOf(id, tools)
  const resources = isStdio(server) ? server.resources : null
  const ago = last?.last_call_at ? elapsed(Math.max(0, (at - Date.parse(last.last_call_at)) / 1000)) : ''
  return [
    id,
    stateSpan(server),
    Math.round(calls / WINDOW_MIN),
    milliseconds(stats.p50_ms),
    milliseconds(stats.p95_ms),
    share(stats.errors, stats.calls),
    resources ? `${Math.round(resources.cpu_pct)}%` : null,
    bytes(resources?.rss_bytes),
    last ? `${last.tool} ${ago} ago` : null,
  ]
}

/** The list of servers: exactly `height` lines, none wider than `width`. */
export function listLines(figures: Figures, view: View, width: number, height: number): Line[] {
  const ranked = rankedServers(figures, view)
  const room = Math.max(1, height - 3)
  const chosenAt = Math.max(
    0,
    ranked.findIndex(({ id }) => id === view.chosen),
  )
  const first = Math.max(0, chosenAt - room + 1)
  const [head = '', ...rows] = columns(
    { head: headOf(view.sort), rows: ranked.map((server) => rowOf(server, figures)) },
    width,
  )
  const shown = rows.slice(first, first + room).map((row, at) => marked(row, first + at === chosenAt))
  const body =
    shown.length > 0 ? shown : [view.filter === '' ? '  No servers yet' : '  No server fits the filter']
  const blank = Array.from({ length: Math.max(0, room - body.length) }, () => '')
  return [cut(summaryOf(figures), width), head, ...body, ...blank, cut(footerOf(view), width)]
}

/** Columns begin with two spaces, and the chosen row with a sign. */
function marked(row: Line, isChosen: boolean): Line {
  const spans = typeof row === 'string' ? [row] : row
  return isChosen ? [toned('strong', '> '), ...spans.slice(1)] : spans
}

function summaryOf({ servers, summary, at }: Figures): string {
  const troubled = servers.filter(needsHelp).length
  const untried = servers.filter(isUntried).length
  const { calls, latency_ms } = summary
  const time = new Date(at).toTimeString().slice(0, 8)
  return [
    ` ${counted(servers.length, 'server')}`,
    ...(troubled === 0 ? [] : [`${troubled} with problems`]),
    ...(untried === 0 ? [] : [`${untried} not tried`]),
    ...(servers.every(({ health }) => health.works) ? ['all ok'] : []),
    `calls/min ${Math.round(calls.total / WINDOW_MIN)}`,
    `err ${share(calls.total - calls.ok, calls.total) ?? '-'}`,
    `p95 ${milliseconds(latency_ms.p95) ?? '-'}`,
    time,
  ].join('   ')
}

const COLUMN: Readonly<Record<Sort, string>> = {
  name: 'NAME',
  calls: 'CALLS/M',
  errors: 'ERR',
  p95: 'P95',
  cpu: 'CPU',
  memory: 'RSS',
}

const headOf = (sort: Sort): string[] => HEAD.map((label) => (label === COLUMN[sort] ? `${label}▼` : label))

function footerOf({ filter, isTyping, message }: View): string {
  if (isTyping) return ` filter: ${filter}_   enter done  esc clear`
  if (message !== '') return ` ${message}`
  const shown = filter === '' ? 'filter' : `[${cut(filter, 9)}]`
  return ` / ${shown}  s sort  enter details  l log  r restart  x stop  ? help  q quit`
}

interface Recent {
  readonly calls: number
  /** The tool that was called last. */
  readonly last: Schemas['ToolFigures'] | undefined
}

function recentOf(id: string, tools: Figures['tools']): Recent {
  const own = tools.filter(({ server_id }) => server_id === id)
  const [last] = own
    .filter(({ last_call_at }) => last_call_at !== null)
    .sort((a, b) => (b.last_call_at ?? '').localeCompare(a.last_call_at ?? ''))
  return { calls: own.reduce((sum, { calls }) => sum + calls.total, 0), last }
}
