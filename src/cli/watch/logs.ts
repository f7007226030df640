import type { Run } from '../run/context.ts'
import { type Line, type Tone, toned } from '../run/line.ts'
import type { Schemas } from '../run/service-client.ts'
import { clock } from '../run/units.ts'
import { filtersOf, showNewest } from './follow.ts'

type LogLine = Schemas['LogLine']

/** `toolroom logs [SERVER...]` */
export const showLogs: Run = async (context) => {
  const { api, given } = context
  const level = given.flag('level') as LogLine['level'] | undefined
  const search = given.flag('search')
  const filters = {
    ...(await filtersOf(context)),
    ...(level !== undefined && { level }),
    ...(search !== undefined && { search }),
  }
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
