import {
  type AnyServer,
  allServers,
  type HttpServer,
  isStdio,
  isUntried,
  needsHelp,
  type StdioServer,
  serverNamed,
  stateSpan,
  TRY_ALL,
} from '../run/any-server.ts'
import { emptyList, type Run } from '../run/command-context.ts'
import { bytes, counted, elapsed, milliseconds, share, thousands } from '../run/human-readable.ts'
import { type Line, type Span, textOf, toned } from '../run/printed-line.ts'
import { whyOrRepair } from '../run/repair-command.ts'
import { isolationText } from './isolation.ts'

const HEAD = ['NAME', 'STATUS', 'KIND', 'TOOLS', '~TOKENS', 'P95', 'ERR', 'RSS', 'AGENTS']
const MORE = ['PID', 'RESTARTS', 'TAGS']

/** `toolroom ls` */
export const listServers: Run = async ({ api, given }) => {
  const tag = given.flag('tag')
  const isLong = given.is('all')
  const servers = (await allServers(api)).filter(({ tags }) => tag === undefined || tags.includes(tag))
  if (servers.length === 0)
    return emptyList(
      { items: [] },
      tag === undefined ? 'No servers yet.' : `No server has the tag '${tag}'.`,
      'next: toolroom init, or toolroom add NAME -- COMMAND',
    )
  return {
    json: { items: servers },
    table: {
      head: isLong ? [...HEAD, ...MORE] : HEAD,
      rows: servers.map((server) => (isLong ? [...rowOf(server), ...moreOf(server)] : rowOf(server))),
    },
    next: nextOf(servers.filter(needsHelp), servers.filter(isUntried).length),
  }
}

function rowOf(server: AnyServer): Span[] {
  const { id, tool_count, tool_tokens, stats } = server
  return [
    id,
    stateSpan(server, detailOf(server)),
    kindOf(server),
    tool_count,
    thousands(tool_tokens),
    milliseconds(stats.p95_ms),
    share(stats.errors, stats.calls),
    isStdio(server) ? bytes(server.resources?.rss_bytes) : null,
    server.used_by_agents.length > 0 ? server.used_by_agents.join(' ') : null,
  ]
}

/** An isolated server is a local one. */
const kindOf = (server: AnyServer): string =>
  isStdio(server) && server.isolation !== 'none' ? server.isolation : server.type

const moreOf = (server: AnyServer): Span[] => [
  isStdio(server) ? server.pid : null,
  isStdio(server) ? server.restart_count : null,
  server.tags.length > 0 ? server.tags.join(' ') : null,
]

/** How long it has been running, or how it ended. */
function detailOf(server: AnyServer): string {
  if (!isStdio(server)) return ''
  if (server.uptime_s !== null) return ` ${elapsed(server.uptime_s)}`
  const { last_exit } = server
  if (!last_exit || !needsHelp(server)) return ''
  return ` (${last_exit.signal ?? `exit ${last_exit.code}`})`
}

function nextOf(troubled: readonly AnyServer[], untried: number): string | undefined {
  const [first] = troubled
  if (!first)
    return untried === 0
      ? undefined
      : `${counted(untried, 'server')} ${untried === 1 ? 'was' : 'were'} not tried yet:  ${TRY_ALL}`
  const verb = troubled.length === 1 ? 'needs' : 'need'
  return `${counted(troubled.length, 'server')} ${verb} you:  ${whyOrRepair(first)}`
}

type Field = readonly [label: string, value: Span]

/** `toolroom info SERVER` */
export const showServer: Run = async ({ api, given }) => {
  const server = await serverNamed(api, given.word('SERVER'))
  return {
    json: server,
    lines: infoLines(server),
    plain: fieldsOf(server).map(([label, value]) => [label, textOf(value)]),
    next: `next: toolroom ${needsHelp(server) ? 'why' : isUntried(server) ? 'test' : 'tools'} ${server.id}`,
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
    ['Last try', lastTryOf(server)],
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

function lastTryOf({ last_try }: AnyServer): string {
  if (!last_try) return 'none since it was added or changed'
  const ago = elapsed(Math.max(0, (Date.now() - Date.parse(last_try.at)) / 1000))
  return `${last_try.ok ? 'worked' : `failed (${last_try.code})`}, ${ago} ago`
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

function httpFields({ url, transport, headers, auth, latency_ms, used_by_agents }: HttpServer): Field[] {
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
    ['Agents', used_by_agents.join(' ')],
  ]
}

function callsOf({ calls, errors, p50_ms, p95_ms }: AnyServer['stats']): string | null {
  if (calls === 0) return null
  return `${calls}, ${share(errors, calls)} failed, p50 ${milliseconds(p50_ms) ?? '-'}, p95 ${milliseconds(p95_ms) ?? '-'}`
}
