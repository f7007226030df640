import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { StartError } from '../kernel/exit.ts'

/** A Toolroom that has just started answers after its API is built, which takes a while on a busy computer. */
const ANSWERS_WITHIN_MS = 5000

/** The error for a port in use, with its owner if that can be found out. */
export async function portTaken(host: string, port: number): Promise<StartError> {
  const owner = (await isToolroom(port)) ? 'another Toolroom' : (processListening(port) ?? 'another program')
  return new StartError(
    'port_taken',
    `Port ${port} on ${host} is in use by ${owner}; set PORT to another port, or to 0 for any free one`,
  )
}

async function isToolroom(port: number): Promise<boolean> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/api/health`, {
      signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
      redirect: 'manual',
    })
    const { version, checks } = (await reply.json()) as { version?: unknown; checks?: unknown }
    return typeof version === 'string' && Array.isArray(checks)
  } catch {
    return false // no HTTP, no JSON, or no response in time
  }
}

/** Linux only: the process that holds the listening socket. */
function processListening(port: number): string | undefined {
  try {
    const inodes = ['tcp', 'tcp6'].flatMap((table) => listeningInodes(`/proc/net/${table}`, port))
    const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && holdsSocket(name, inodes))
    return pid && `${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()} (process ${pid})`
  } catch {
    return undefined // no /proc
  }
}

function listeningInodes(table: string, port: number): string[] {
  const LISTEN = '0A'
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  const rows = readFileSync(table, 'utf8')
    .split('\n')
    .slice(1)
    .map((row) => row.trim().split(/\s+/))
  return rows.flatMap(([, local = '', , state, , , , , , inode]) =>
    state === LISTEN && local.endsWith(`:${hexPort}`) && inode ? [inode] : [],
  )
}

function holdsSocket(pid: string, inodes: readonly string[]): boolean {
  try {
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).some((fd) =>
      inodes.some((inode) => readlinkSync(`${folder}/${fd}`) === `socket:[${inode}]`),
    )
  } catch {
    return false // another user's process, or one that has just ended
  }
}
