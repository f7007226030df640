import type { Run } from '../frame/context.ts'
import { type Line, type Span, textOf, toned } from '../output/line.ts'
import { bytes, counted, elapsed, milliseconds, share, thousands } from '../output/units.ts'
import { isStdio, serverNamed } from './all-servers.ts'
import { isolationText } from './isolation.ts'
import { type AnyServer, type HttpServer, needsHelp, type StdioServer, stateSpan } from './state.ts'

type Field = readonly [label: string, value: Span]

/** `toolroom info SERVER` */
export const run: Run = async ({ api, given }) => {
  const server = await serverNamed(api, given.word('SERVER'))
  return {
    json: server,
    lines: infoLines(server),
    plain: fieldsOf(server).map(([label, value]) => [label, textOf(value)]),
    next: needsHelp(server) ? `next: toolroom why ${server.id}` : `next: toolroom tools ${server.id}`,
  }
}

/** One line for each thing that is known about a server. */
export function infoLines(server: AnyServer): Line[] {
  const fields = fieldsOf(server)
  const width = Math.max(...fields.map(([label]) => label.length)) + 2
  return fields.map(([label, value]) => [toned('dim', label.padEnd(width)), value])
}

function fieldsOf(server: AnyServer): Field[] {
  const { id, name, health, tool_count, tool_tokens, stats, tags, last_error } = server
  const tools =
    tool_count === null
      ? null
      : `${counted(tool_count, 'tool')}, about ${thousands(tool_tokens) ?? '?'} tokens`
  const fields: Field[] = [
    ['Id', id],
    ['Name', name],
    ['Status', stateSpan(server)],
    ['Health', health.action === null ? health.summary : `${health.summary}. ${health.action}`],
    ['Error', last_error ? toned('err', last_error.message) : null],
    ...(isStdio(server) ? stdioFields(server) : httpFields(server)),
    ['Tools', tools],
    ['Calls', callsOf(stats)],
    ['Tags', tags.join(' ')],
    ['MCP', server.protocol_version],
    ['Gateway', server.expose ? 'offered to agents' : 'not offered to agents'],
  ]
  return fields.filter(([, value]) => value !== null && textOf(value) !== '')
}

function stdioFields(server: StdioServer): Field[] {
  const { command, args, env, cwd, package: from, start_mode, pid, uptime_s, resources } = server
  return [
    ['Command', [command, ...args].join(' ')],
    ['Package', from],
    ['Folder', cwd],
    [
      'Variables',
      Object.entries(env)
        .map(([key, value]) => `${key}=${value}`)
        .join(' '),
    ],
    ['Isolation', isolationText(server)],
    ['Start', start_mode.replace('_', ' ')],
    [
      'Process',
      pid === null
        ? null
        : [`${pid}`, uptime_s === null ? '' : `up ${elapsed(uptime_s)}`, bytes(resources?.rss_bytes)]
            .filter(Boolean)
            .join(', '),
    ],
    ['Restarts', server.restart_count],
    ['Agents', server.used_by_agents.join(' ')],
  ]
}

function httpFields({ url, transport, headers, auth, latency_ms }: HttpServer): Field[] {
  return [
    ['URL', url],
    ['Transport', transport],
    [
      'Headers',
      Object.entries(headers)
        .map(([key, value]) => `${key}: ${value}`)
        .join(', '),
    ],
    ['Login', auth.state.replace('_', ' ')],
    ['Latency', milliseconds(latency_ms)],
  ]
}

function callsOf({ calls, errors, p50_ms, p95_ms }: AnyServer['stats']): string | null {
  if (calls === 0) return null
  return `${calls}, ${share(errors, calls)} failed, p50 ${milliseconds(p50_ms) ?? '-'}, p95 ${milliseconds(p95_ms) ?? '-'}`
}
