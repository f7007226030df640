import type { Config } from '../../kernel/config/config.ts'
import { VERSION } from '../../kernel/version.ts'
import { HttpClient } from '../../net/http-client.ts'
import { MEBIBYTE, RemoteFailure } from '../../net/http-failure.ts'
import { type AnyServer, isUntried, stateSpan } from '../run/any-server.ts'
import { columns } from '../run/columns.ts'
import type { Run } from '../run/command-context.ts'
import { notRunning, notToolroom, tokenRefused, unreachable } from '../run/failure.ts'
import { cut, type Line, plain } from '../run/printed-line.ts'
import { repairOf } from '../run/repair-command.ts'
import { findAddress, networkFrom, parseAddress } from '../run/service-address.ts'
import { tokenOf } from '../run/service-client.ts'

const TIMEOUT_MS = 5000
const MAX_BYTES = 64 * MEBIBYTE

interface Login {
  readonly state: string
  readonly error: { readonly message: string; readonly hint: string | null } | null
}

interface ServerLine {
  readonly id: string
  readonly name: string
  readonly status: AnyServer['status']
  readonly tool_count: number | null
  /** Of HTTP servers. */
  readonly auth?: Login | undefined
  readonly health: AnyServer['health']
  readonly type: AnyServer['type']
  readonly last_error?: AnyServer['last_error']
}

export interface Report {
  readonly address: string
  readonly version: string
  readonly uptime_s: number
  readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly detail: string | null }[]
  readonly warnings: readonly string[]
  readonly servers: readonly ServerLine[]
}

/** `toolroom status`: whether Toolroom is running, and the status of its servers. */
export const showStatus: Run = async ({ config, given, terminal }) => {
  const url = given.flag('url')
  const report = await fetchReport(url === undefined ? undefined : parseAddress(url, '--url'), config)
  return {
    json: report,
    lines: statusLines(report, terminal.width, terminal.typed),
    plain: report.servers.map(({ id, status, tool_count }) => [id, status, tool_count]),
  }
}

async function fetchReport(given: string | undefined, config: Config): Promise<Report> {
  const address = given ?? findAddress(config.folders.data)
  if (address === undefined) throw notRunning('Toolroom is not running')
  // Sent only to the service that uses this data folder, or with PROTECT_READS: a URL may point to another program.
  const token = given === undefined || config.protect_reads ? tokenOf(config) : undefined
  const network = networkFrom(config.platform.env)
  const client = new HttpClient({ url: new URL(address), userAgent: `toolroom/${VERSION}`, network })
  const get = async <T>(path: string, headers: Record<string, string> = {}): Promise<T> => {
    const url = new URL(address + path)
    const reply = await client
      .request({ method: 'GET', url, headers, timeoutMs: TIMEOUT_MS })
      .catch((error) => {
        throw error instanceof RemoteFailure ? unreachable(address, error) : error
      })
    if (reply.status === 401) {
      reply.discard()
      const header = config.auth_token_header_name
      if (token !== undefined && headers[header] === undefined) return get(path, { [header]: token })
      throw tokenRefused(address)
    }
    try {
      return JSON.parse((await reply.read(MAX_BYTES)).toString())
    } catch {
      throw notToolroom(address)
    }
  }
  const list = async (path: string): Promise<ServerLine[]> => {
    const { items } = await get<{ items?: ServerLine[] }>(path)
    if (!Array.isArray(items)) throw notToolroom(address)
    return items
  }
  // Without the token, a service that protects reads shows only the number of its notices.
  const shown = config.protect_reads && token !== undefined ? { [config.auth_token_header_name]: token } : {}
  const health = await get<Omit<Report, 'address' | 'servers'>>('/api/health', shown)
  if (typeof health.version !== 'string') throw notToolroom(address)
  return {
    address,
    ...health,
    servers: [...(await list('/api/servers')), ...(await list('/api/http-servers'))],
  }
}

/** One line per server, in columns, at most `width` columns wide. */
export function statusLines(
  report: Report,
  width: number | undefined,
  typed = (text: string) => text,
): Line[] {
  const { address, version, uptime_s, checks, warnings, servers } = report
  const problems = checks.flatMap(({ name, ok, detail }) => (ok ? [] : [`${name}: ${detail ?? 'failed'}`]))
  const rows = servers.map((server) => [
    plain(server.name),
    stateSpan(server),
    toolCount(server),
    typed(serverProblem(server)),
  ])
  return [
    `Toolroom ${plain(version)} at ${plain(address)}, up ${durationOf(uptime_s)}`,
    ...[...problems, ...warnings].map((sentence) =>
      cut(typed(`! ${plain(sentence)}`), width ?? Number.POSITIVE_INFINITY),
    ),
    ...(servers.length === 0 ? ['No servers yet'] : columns({ rows }, width)),
  ]
}

const toolCount = ({ tool_count }: ServerLine): string =>
  tool_count === null ? '-' : `${tool_count} ${tool_count === 1 ? 'tool' : 'tools'}`

function serverProblem(server: ServerLine): string {
  const { id, health, auth } = server
  const login = LOGINS[auth?.state ?? '']
  if (login !== undefined) return plain(`${login}: toolroom login ${id}`)
  if (auth?.state === 'refused' && auth.error)
    return `login refused: ${sentences(auth.error.message, auth.error.hint)}`
  if (isUntried({ health })) return `try it: toolroom test ${id}`
  if (health.level !== 'unhealthy' && health.level !== 'degraded') return ''
  return `${sentences(health.summary, health.action)}: ${repairOf(server)}`
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
