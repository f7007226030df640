import type { Run } from '../frame/context.ts'
import type { Span } from '../output/line.ts'
import { bytes, counted, elapsed, milliseconds, share, thousands } from '../output/units.ts'
import { allServers, isStdio } from './all-servers.ts'
import { type AnyServer, needsHelp, stateSpan } from './state.ts'

const HEAD = ['NAME', 'STATUS', 'KIND', 'TOOLS', '~TOKENS', 'P95', 'ERR', 'RSS', 'AGENTS']
const MORE = ['PID', 'RESTARTS', 'TAGS']

/** `toolroom ls` */
export const run: Run = async ({ api, given }) => {
  const tag = given.flag('tag')
  const isLong = given.is('all')
  const servers = (await allServers(api)).filter(({ tags }) => tag === undefined || tags.includes(tag))
  if (servers.length === 0)
    return {
      json: { items: [] },
      plain: [],
      lines: [tag === undefined ? 'No servers yet.' : `No server has the tag '${tag}'.`],
      next: 'next: toolroom init, or toolroom add NAME -- COMMAND',
    }
  return {
    json: { items: servers },
    table: {
      head: isLong ? [...HEAD, ...MORE] : HEAD,
      rows: servers.map((server) => (isLong ? [...rowOf(server), ...moreOf(server)] : rowOf(server))),
    },
    next: nextOf(servers.filter(needsHelp)),
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
    isStdio(server) && server.used_by_agents.length > 0 ? server.used_by_agents.join(' ') : null,
  ]
}

/** A server in isolation is a local one. */
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

function nextOf(troubled: readonly AnyServer[]): string | undefined {
  const [first] = troubled
  if (!first) return undefined
  const verb = troubled.length === 1 ? 'needs' : 'need'
  return `${counted(troubled.length, 'server')} ${verb} you:  toolroom why ${first.id}`
}
