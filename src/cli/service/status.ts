import type { Config } from '../../kernel/config/config.ts'
import { VERSION } from '../../kernel/version.ts'
import { HttpClient } from '../../net/http-client.ts'
import { MEBIBYTE, RemoteFailure } from '../../net/http-failure.ts'
import type { Run } from '../run/context.ts'
import { notRunning, notToolroom, tokenRefused, unreachable } from '../run/failure.ts'
import { findAddress, networkFrom, parseAddress } from '../run/service-address.ts'
import { tokenOf } from '../run/service-client.ts'
import { type Report, type ServerLine, statusLines } from './status-lines.ts'

const TIMEOUT_MS = 5000
const MAX_BYTES = 64 * MEBIBYTE

/** `toolroom status`: whether Toolroom is running, and the status of its servers. */
export const showStatus: Run = async ({ config, given, terminal }) => {
  const url = given.flag('url')
  const report = await fetchReport(url === undefined ? undefined : parseAddress(url, '--url'), config)
  return {
    json: report,
    lines: statusLines(report, terminal.width),
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
