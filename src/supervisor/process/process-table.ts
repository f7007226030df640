import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs'

/** One process as the operating system describes it. */
export interface ProcessFacts {
  readonly pid: number
  /** The first 15 bytes of what it calls itself. */
  readonly name: string
  readonly parent: number
  readonly group: number
  /** Clock ticks since boot. Together with the pid it names one process for ever; a pid alone is used again. */
  readonly startedAt: number
  /** It has ended and waits for its parent to notice. */
  readonly zombie: boolean
  /** CPU time used so far, in hundredths of a second. */
  readonly ticks: number
  /** Memory in use, in pages of 4 KiB. */
  readonly pages: number
}

/** What is running on this computer. Only Linux tells it through files; elsewhere the table is empty. */
export function listProcesses(): ProcessFacts[] {
  return listPids().flatMap((pid) => readProcess(pid) ?? [])
}

export function listPids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger)
  } catch {
    return [] // no /proc on this system
  }
}

export function readProcess(pid: number): ProcessFacts | undefined {
  const stat = readBytes(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  // The name stands in brackets and may hold anything, so what comes behind its last bracket is counted.
  const end = stat.lastIndexOf(')')
  const state = stat[end + 2]
  const numbers = numbersIn(stat, end + 4, 21)
  const field = (index: number) => numbers[index] ?? 0
  return {
    pid,
    name: stat.toString('utf8', stat.indexOf('(') + 1, end),
    parent: field(0),
    group: field(1),
    startedAt: field(18),
    zombie: state === ZOMBIE || state === DEAD,
    ticks: field(10) + field(11),
    pages: field(20),
  }
}

const [ZOMBIE = 0, DEAD = 0, SPACE = 0, ZERO = 0] = Buffer.from('ZX 0')

/**
 * The first so many. Signs are left out: no number that is asked for has one. By bytes, because servers are read over
 * and over, and 50 strings each would keep the garbage collector awake.
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

/** Every living process whose environment, as it was at its start, holds the entry or one that begins with it. */
export function processesMarked(entry: string): ProcessFacts[] {
  return listPids().flatMap((pid) => {
    if (!isMarked(pid, entry)) return []
    const facts = readProcess(pid)
    return facts && !facts.zombie ? [facts] : []
  })
}

/** Undefined when its environment cannot be read. */
export function isMarked(pid: number, entry: string): boolean | undefined {
  const environment = readBytes(`/proc/${pid}/environ`)
  return environment && (environment.includes(`\0${entry}`) || environment.indexOf(entry) === 0)
}

const MAX_COMMAND_BYTES = 32_768

/** The program and its arguments. One that gave itself a title, as npm does, has left only that: in words. */
export function commandLine(pid: number): string[] {
  const bytes = readBytes(`/proc/${pid}/cmdline`)?.subarray(0, MAX_COMMAND_BYTES) ?? Buffer.alloc(0)
  const args = bytes.toString('utf8').split('\0')
  const given = args.slice(0, args.findLastIndex((arg) => arg !== '') + 1)
  return given.length === 1 ? (given[0] ?? '').split(' ').filter((word) => word !== '') : given
}

/** `pipe:[…]`, `socket:[…]` or a path; undefined when it is closed or none of our business. */
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

/** It has a second pid, in a world of its own. */
export function isInContainer(pid: number): boolean {
  return /^NSpid:\s+\d+\s+\d/m.test(readOr(`/proc/${pid}/status`) ?? '')
}

/** The same process, and not another one that has got its pid. */
export function isStillThere({ pid, startedAt }: Pick<ProcessFacts, 'pid' | 'startedAt'>): boolean {
  const now = readProcess(pid)
  return now !== undefined && now.startedAt === startedAt && !now.zombie
}

function readOr(path: string): string | undefined {
  return readBytes(path)?.toString('utf8')
}

/** `readFileSync` takes 64 KiB for each file that does not say how long it is, and none in /proc does. */
let room = Buffer.allocUnsafeSlow(16_384)

/** Only until the next file is read: all of them share one room. */
function readBytes(path: string): Buffer | undefined {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    for (let length = 0; ; room = Buffer.concat([room], length * 2)) {
      length += readSync(file, room, length, room.length - length, null)
      if (length < room.length) return room.subarray(0, length) // a file of /proc gives all that there is room for
    }
  } catch {
    return undefined // it has just ended, or belongs to another user
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
