import { columns } from '../run/columns.ts'
import { cut, type Line, plain } from '../run/line.ts'
import { type AnyServer, stateSpan } from '../servers/any-server.ts'

export interface ServerLine {
  readonly id: string
  readonly name: string
  readonly status: AnyServer['status']
  readonly tool_count: number | null
  /** Of HTTP servers. */
  readonly auth?:
    | {
        readonly state: string
        readonly error: { readonly message: string; readonly hint: string | null } | null
      }
    | undefined
  readonly health: AnyServer['health']
}

export interface Report {
  readonly address: string
  readonly version: string
  readonly uptime_s: number
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string | null }[]
  readonly warnings: readonly string[]
  readonly servers: readonly ServerLine[]
}

/** One line per server, in columns, at most `width` columns wide. */
export function statusLines(report: Report, width: number | undefined): Line[] {
  const { address, version, uptime_s, checks, warnings, servers } = report
  const problems = checks.flatMap(({ name, ok, detail }) => (ok ? [] : [`${name}: ${detail ?? 'failed'}`]))
  const rows = servers.map((server) => [
    plain(server.name),
    stateSpan(server),
    toolsOf(server),
    problemOf(server),
  ])
  return [
    `Toolroom ${plain(version)} at ${plain(address)}, up ${durationOf(uptime_s)}`,
    ...[...problems, ...warnings].map((sentence) =>
      cut(`! ${plain(sentence)}`, width ?? Number.POSITIVE_INFINITY),
    ),
    ...(servers.length === 0 ? ['No servers yet'] : columns({ rows }, width)),
  ]
}

const toolsOf = ({ tool_count }: ServerLine): string =>
  tool_count === null ? '-' : `${tool_count} ${tool_count === 1 ? 'tool' : 'tools'}`

function problemOf({ id, health, auth }: ServerLine): string {
  const login = LOGINS[auth?.state ?? '']
  if (login !== undefined) return plain(`${login}: toolroom login ${id}`)
  if (auth?.state === 'refused' && auth.error)
    return `login refused: ${sentences(auth.error.message, auth.error.hint)}`
  if (health.level !== 'unhealthy' && health.level !== 'degraded') return ''
  return sentences(health.summary, health.action)
}

const sentences = (...texts: readonly (string | null)[]): string =>
  plain(texts.filter((text) => text).join('. '))

const LOGINS: Readonly<Record<string, string>> = { expired: 'login expired', needs_login: 'login needed' }

function durationOf(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1) return `${Math.floor(seconds)} s`
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} days`
}
