import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { commandHelp, readCommand } from '../config/commands.ts'
import { type Config, readConfig } from '../config/config.ts'
import { readFlags } from '../config/flags.ts'
import { EXIT } from '../kernel/exit.ts'
import { VERSION } from '../kernel/version.ts'
import { HttpClient } from '../net/http-client.ts'
import { MEBIBYTE, RemoteFailure } from '../net/http-failure.ts'
import { Failure, notRunning, notToolroom, tokenRefused, unreachable } from './failure.ts'
import { findAddress, networkFrom, parseAddress } from './service-address.ts'
import { tokenOf } from './service-client.ts'
import { type Report, type ServerLine, statusLines } from './status-lines.ts'

const TIMEOUT_MS = 5000
const MAX_BYTES = 64 * MEBIBYTE

/** Prints whether Toolroom is running, and the status of its servers. */
export async function status(words: readonly string[], mainFile: string): Promise<void> {
  const flags = readCommand('status', words)
  if (flags === 'help') return void process.stdout.write(`${commandHelp('status')}\n`)
  const { env, stdout, stderr } = process
  const config = readConfig({
    flags: readFlags([]),
    platform: { os: process.platform, home: homedir(), env },
    packageRoot: dirname(dirname(mainFile)),
  })
  const given = flags.get('url')
  const url = given === undefined ? undefined : parseAddress(given, '--url')
  const isJson = flags.get('json') === 'true'
  try {
    const report = await fetchReport(url, config)
    const width = stdout.isTTY ? stdout.columns : undefined
    const isColoured = stdout.isTTY && !env.NO_COLOR && env.TERM !== 'dumb'
    const lines = isJson ? [JSON.stringify(report)] : statusLines(report, { width, isColoured })
    stdout.write(`${lines.join('\n')}\n`)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { code, message, hint, exit } = error
    if (isJson) stdout.write(`${JSON.stringify({ code, detail: message, hint })}\n`)
    stderr.write(`toolroom: ${message}: ${hint}\n`)
    process.exitCode = EXIT[exit]
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
