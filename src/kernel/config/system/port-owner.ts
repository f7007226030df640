import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { StartError } from '../../exit-codes.ts'

/** A Toolroom that has just started answers after its API is built, which takes a while on a busy computer. */
const ANSWERS_WITHIN_MS = 5000

/** The error for a port in use, with its owner if that can be found out. */
export async function portTaken(host: string, port: number): Promise<StartError> {
  const owner = (await isToolroom(port))
    ? 'another Toolroom'
    : ((await processListening(port)) ?? 'another program')
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

const COMMAND_TIMEOUT_MS = 3000

/** The process that listens on a TCP port, as `node (process 4711)`; undefined if the system does not tell. */
export async function processListening(port: number, os = process.platform): Promise<string | undefined> {
  if (os === 'linux') return inProc(port)
  if (os === 'win32') return inNetstat(port)
  return listenerInLsof(await outputOf('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc']))
}

// macOS

/** Lines of `lsof -F`: `p4711` begins a process, `cnode` is its command. */
export function listenerInLsof(output: string): string | undefined {
  const pid = /^p(\d+)$/m.exec(output)?.[1]
  const command = /^c(.+)$/m.exec(output)?.[1]
  return pid && named(pid, command)
}

// Windows

async function inNetstat(port: number): Promise<string | undefined> {
  const pid = listenerInNetstat(await outputOf('netstat', ['-ano', '-p', 'TCP']), port)
  if (pid === undefined) return undefined
  const tasks = await outputOf('tasklist', ['/fi', `PID eq ${pid}`, '/fo', 'csv', '/nh'])
  return named(pid, /^"([^"]+)","\d+"/m.exec(tasks)?.[1])
}

/** The states are in the user's language, so a listening socket is known by its remote port, which is 0. */
export function listenerInNetstat(output: string, port: number): string | undefined {
  const rows = output.split('\n').map((row) => row.trim().split(/\s+/))
  return rows.find(
    ([protocol, local, remote]) =>
      protocol === 'TCP' && local?.endsWith(`:${port}`) && remote?.endsWith(':0'),
  )?.[4]
}

// Linux

function inProc(port: number): string | undefined {
  try {
    const inodes = ['tcp', 'tcp6'].flatMap((table) => listeningInodes(`/proc/net/${table}`, port))
    const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && holdsSocket(name, inodes))
    return pid && named(pid, readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
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

const named = (pid: string, command: string | undefined): string =>
  command === undefined ? `process ${pid}` : `${command} (process ${pid})`

/** Empty if there is no such program, or if it fails or takes too long. */
function outputOf(program: string, args: readonly string[]): Promise<string> {
  return new Promise((done) => {
    execFile(program, args, { timeout: COMMAND_TIMEOUT_MS, windowsHide: true }, (error, stdout) =>
      done(error ? '' : stdout),
    )
  })
}
