import type { Run } from '../run/context.ts'
import { type Line, toned } from '../run/line.ts'
import type { Schemas } from '../run/service-client.ts'
import { bytes, clock, milliseconds } from '../run/units.ts'

import { filtersOf, showNewest } from './follow.ts'

type Call = Schemas['Call']

const FAILED: Call['status'][] = ['error', 'timeout', 'cancelled']

/** `toolroom traffic [SERVER...]` */
export const showTraffic: Run = async (context) => {
  const { api, given } = context
  const filters = { ...(await filtersOf(context)), ...(given.is('failed') && { status: FAILED }) }
  return showNewest(context, {
    read: (page) => api.get('/api/calls', { query: { ...filters, ...page } }),
    line: lineOf,
    row: (call) => [
      call.started_at,
      call.server_id,
      call.tool,
      call.agent_type,
      call.status,
      call.duration_ms,
      call.request_bytes,
      call.response_bytes,
      call.error_code,
    ],
    empty: 'No calls.',
  })
}

function lineOf(call: Call): Line {
  const { started_at, status, server_id, tool, agent_type, duration_ms, error_code, error_message } = call
  const isOk = status === 'ok'
  const size = `${bytes(call.request_bytes)} in, ${bytes(call.response_bytes)} out`
  const reason = [error_code ?? status, error_message].filter(Boolean).join(': ')
  return [
    toned('dim', clock(started_at)),
    isOk ? toned('ok', ' ✓ ') : toned('err', ' ✕ '),
    `${server_id ?? '-'} ${tool}  ${milliseconds(duration_ms)}  `,
    isOk ? size : toned('err', reason),
    agent_type === null ? '' : toned('dim', `  ${agent_type}`),
  ]
}
