import type { LogFilter, LogReadFilter } from '../../data/logs.ts'
import { flag, list, number, oneOf, searchState, text } from '../../url/search-state.ts'
import type { ShownLine } from './view.ts'

/** The filter of the page is in the address, so a reload and a shared link show the same lines. */

export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const
export const STREAMS = ['all', 'stdout', 'stderr', 'mcp'] as const
export const SINCE = ['5m', '1h', '24h', '7d', 'all'] as const
const MATCHES = ['only', 'mark'] as const

export const search = searchState({
  servers: list(),
  level: oneOf(LEVELS, 'info'),
  stream: oneOf(STREAMS, 'all'),
  q: text(),
  matches: oneOf(MATCHES, 'only'),
  since: oneOf(SINCE, '1h'),
  /** A fixed range in milliseconds, chosen in the histogram. It wins over `since`. */
  from: number(),
  to: number(),
  wrap: flag(),
  /** Without the column of times. */
  timeless: flag(),
  /** The line whose neighbours are shown. */
  line: number(),
})

export interface Choice {
  readonly servers: readonly string[]
  readonly level: (typeof LEVELS)[number]
  readonly stream: (typeof STREAMS)[number]
  readonly q: string
  readonly matches: (typeof MATCHES)[number]
  readonly since: (typeof SINCE)[number]
  readonly from: number | undefined
  readonly to: number | undefined
}

/** A range that ended in the past gets no new lines. */
export const isFixed = ({ from, to }: Pick<Choice, 'from' | 'to'>): boolean =>
  from !== undefined && to !== undefined

/** Every line of the view, whether it contains the text or not. */
export function allOf({ servers, level, stream, since, from, to }: Choice): LogReadFilter {
  return {
    ...(servers.length > 0 && { server_id: [...servers] }),
    ...(level !== 'trace' && { level }),
    ...(stream !== 'all' && { stream: [stream] }),
    ...rangeOf(since, from, to),
  }
}

/** Only the lines that contain the text. */
export const matchingOf = (choice: Choice): LogReadFilter => ({
  ...allOf(choice),
  ...(choice.q.trim() !== '' && { search: choice.q.trim().slice(0, 256) }),
})

/** The lines that the page shows: what *Download* saves. */
export const shownOf = (choice: Choice): LogReadFilter =>
  choice.matches === 'only' ? matchingOf(choice) : allOf(choice)

/** The same for the live stream. */
export function followed(choice: Choice): LogFilter | undefined {
  if (isFixed(choice)) return undefined
  const { server_id, level, stream, search: sought } = shownOf(choice)
  return {
    ...(level && { level }),
    ...(stream && { stream }),
    ...(sought !== undefined && { search: sought }),
    ...(server_id && { server_ids: server_id }),
  }
}

function rangeOf(since: Choice['since'], from: number | undefined, to: number | undefined) {
  if (from !== undefined && to !== undefined && from < to)
    return { since: new Date(from).toISOString(), until: new Date(to).toISOString() }
  return since === 'all' ? {} : { since }
}

const RANK: readonly string[] = [...LEVELS, 'fatal']

/** Lines of the filter before may still arrive after a change. */
export function fits({ level, stream, search: sought, server_ids }: LogFilter, line: ShownLine): boolean {
  return (
    (level === undefined || RANK.indexOf(line.level) >= RANK.indexOf(level)) &&
    (stream === undefined || stream.some((each) => each === line.stream)) &&
    (server_ids === undefined || server_ids.some((id) => id === line.server_id)) &&
    (sought === undefined || line.message.toLowerCase().includes(sought.toLowerCase()))
  )
}
