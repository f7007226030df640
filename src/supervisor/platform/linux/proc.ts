import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs'
import type { KnownProcess, ProcessFacts } from '../process-table.ts'

/** Linux counts CPU and start times in hundredths of a second for every program. */
export const TICKS_PER_S = 100

/** All processes on this computer. */
export function listProcesses(): ProcessFacts[] {
  return listPids().flatMap((pid) => readProcess(pid) ?? [])
}

export function listPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger)
}

/** Changes with every new process on this computer. */
export function newestPid(): string | undefined {
  return readOr('/proc/loadavg')?.trim().split(' ').at(-1)
}

export function readProcess(pid: number): ProcessFacts | undefined {
  const stat = readBytes(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  // The name is in parentheses and may contain any character, so fields are counted from the last parenthesis.
  const end = stat.lastIndexOf(')')
  const state = stat[end + 2]
  const numbers = numbersIn(stat, end + 4, 21)
  const field = (index: number) => numbers[index] ?? 0
  return {
    pid,
    name: stat.toString('utf8', stat.indexOf('(') + 1, end),
    parent: field(0),
    group: field(1),
    session: field(2),
    startedAt: field(18), // in ticks since the computer was started
    zombie: state === ZOMBIE || state === DEAD,
    cpuMs: (field(10) + field(11)) * (1000 / TICKS_PER_S),
    rssBytes: field(20) * pageBytes(),
  }
}

let pageSize: number | undefined

/** 4 KiB on most computers, 16 or 64 KiB on some with ARM. The kernel tells it to each program at its start. */
function pageBytes(): number {
  pageSize ??= pageSizeIn(readFileSync('/proc/self/auxv'))
  return pageSize
}

const AT_PAGESZ = 6n

/** The vector is a list of pairs of words. */
export function pageSizeIn(vector: Buffer): number {
  for (let at = 0; at + 16 <= vector.length; at += 16)
    if (vector.readBigUInt64LE(at) === AT_PAGESZ) return Number(vector.readBigUInt64LE(at + 8))
  return 4096 // a system with words of 32 bits
}

const [ZOMBIE = 0, DEAD = 0, SPACE = 0, ZERO = 0] = Buffer.from('ZX 0')

/**
 * The first `count` numbers. Ignores signs, which none of the needed fields has. Works on bytes, because processes are
 * sampled all the time, and 50 strings each would burden the garbage collector.
 */
function numbersIn(bytes: Buffer, from: number, count: number): number[] {
  const numbers: number[] = []
  let value = 0
  for (let at = from; at < bytes.length && numbers.length < count; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === SPACE) {
      numbers.push(value)
      value = 0
    } else if (byte >= ZERO) value = value * 10 + (byte - ZERO)
  }
  return numbers
}

/** All running processes with a variable in their initial environment that starts with one of the entries. */
export function processesMarked(...entries: readonly string[]): ProcessFacts[] {
  return listPids().flatMap((pid) => {
    if (!isMarked(pid, ...entries)) return []
    const facts = readProcess(pid)
    return facts && !facts.zombie ? [facts] : []
  })
}

/** Undefined if its environment cannot be read. */
export function isMarked(pid: number, ...entries: readonly string[]): boolean | undefined {
  const environment = readBytes(`/proc/${pid}/environ`)
  return environment && entries.some((entry) => holds(environment, entry))
}

/** Whether a variable starts with the entry. */
function holds(environment: Buffer, entry: string): boolean {
  const at = environment.indexOf(entry)
  return at === 0 || (at > 0 && environment.includes(`\0${entry}`))
}

const MAX_COMMAND_BYTES = 32_768

/** The program and its arguments. A process that has set a title, like npm, shows only that; it is split into words. */
export function commandLine(pid: number): string[] {
  const bytes = readBytes(`/proc/${pid}/cmdline`)?.subarray(0, MAX_COMMAND_BYTES) ?? Buffer.alloc(0)
  const args = bytes.toString('utf8').split('\0')
  const given = args.slice(0, args.findLastIndex((arg) => arg !== '') + 1)
  return given.length === 1 ? (given[0] ?? '').split(' ').filter((word) => word !== '') : given
}

/** `pipe:[…]`, `socket:[…]` or a path; undefined if it is closed or not readable. */
export function standardInput(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/0`)
  } catch {
    return undefined // it has just ended, or belongs to another user
  }
}

export function userId(pid: number): string | undefined {
  return /^Uid:\s+(\d+)/m.exec(readOr(`/proc/${pid}/status`) ?? '')?.[1]
}

/** It has a second pid, in its own pid namespace. */
export function isInContainer(pid: number): boolean {
  return /^NSpid:\s+\d+\s+\d/m.test(readOr(`/proc/${pid}/status`) ?? '')
}

/** False if the process has ended, even if its pid is in use again. */
export function isStillThere({ pid, startedAt }: KnownProcess): boolean {
  const now = readProcess(pid)
  return now !== undefined && now.startedAt === startedAt && !now.zombie
}

function readOr(path: string): string | undefined {
  return readBytes(path)?.toString('utf8')
}

/** `readFileSync` allocates 64 KiB for each file without a known length, such as all files in /proc. */
let buffer = Buffer.allocUnsafeSlow(16_384)

/** The result is valid until the next call: all files share one buffer. */
function readBytes(path: string): Buffer | undefined {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    for (let length = 0; ; buffer = Buffer.concat([buffer], length * 2)) {
      length += readSync(file, buffer, length, buffer.length - length, null)
      if (length < buffer.length) return buffer.subarray(0, length) // files in /proc fill the buffer if they can
    }
  } catch {
    return undefined // it has just ended, or belongs to another user
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
