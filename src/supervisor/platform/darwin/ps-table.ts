import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { isAdopted, type ProcessDetails, type ProcessFacts, type ProcessTable } from '../process-table.ts'

const run = promisify(execFile)
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024
const TIMEOUT_MS = 10_000

/** The process table as a list that `ps` prints. It is asked once for all processes. */
export class PsTable implements ProcessTable {
  /** The option that appends the environment to the command: `-E` on macOS. */
  readonly #environmentFlag: string
  readonly isCurrent = false
  #processes: ReadonlyMap<number, PsLine> = new Map()
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined
  /** Begins when the reading in progress has ended, for callers that need a later one. */
  #next: Promise<void> | undefined

  constructor(environmentFlag = '-E') {
    this.#environmentFlag = environmentFlag
  }

  async refresh(maxAgeMs = 0): Promise<void> {
    if (performance.now() - this.#readAt < maxAgeMs) return
    if (!this.#reading) return this.#read()
    if (maxAgeMs > 0) return this.#reading
    const readAgain = () => {
      this.#next = undefined
      return this.#read()
    }
    this.#next ??= this.#reading.then(readAgain, readAgain)
    return this.#next
  }

  newest(): undefined {
    return undefined
  }

  pids(): readonly number[] {
    return [...this.#processes.keys()]
  }

  read(pid: number): ProcessFacts | undefined {
    return this.#processes.get(pid)
  }

  /** `ps` does not tell where an argument ends, so an argument with spaces is several words. */
  commandLine(pid: number): readonly string[] {
    const words = this.#processes.get(pid)?.command.split(' ') ?? []
    return words.filter((word) => word !== '')
  }

  /** macOS hides the environment of programs of the system, so this is only an addition to the recorded descendants. */
  async marked(...entries: readonly string[]): Promise<readonly ProcessFacts[]> {
    await this.refresh()
    const text = await ps(['-A', '-ww', '-o', 'pid=,command=', this.#environmentFlag])
    const found: ProcessFacts[] = []
    for (const line of text.split('\n')) {
      const [, pid = '', rest = ''] = /^ *(\d+) (.*)$/.exec(line) ?? []
      const facts = this.#processes.get(Number(pid))
      if (!facts || facts.zombie || !rest.startsWith(facts.command)) continue
      const environment = rest.slice(facts.command.length)
      if (entries.some((entry) => environment.includes(` ${entry}`))) found.push(facts)
    }
    return found
  }

  async details({ pid, startedAt }: ProcessFacts): Promise<ProcessDetails> {
    return {
      owner: this.#processes.get(pid)?.owner ?? '',
      ageS: Math.max(0, Math.round((Date.now() - startedAt) / 1000)),
      input: await standardInput(pid),
      isManaged: false,
    }
  }

  hasLostParent(facts: ProcessFacts): boolean {
    return isAdopted(facts, this.read(facts.parent))
  }

  #read(): Promise<void> {
    this.#reading = this.#take().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #take(): Promise<void> {
    const begun = performance.now()
    this.#processes = parsePs(await ps(['-A', '-ww', '-o', PS_FIELDS]))
    this.#readAt = begun
  }
}

async function ps(args: readonly string[]): Promise<string> {
  const env = { ...PS_ENVIRONMENT, PATH: process.env.PATH }
  const { stdout } = await run('ps', args, { env, maxBuffer: MAX_OUTPUT_BYTES, timeout: TIMEOUT_MS })
  return stdout
}

/** `lsof` prints the type of the open file after a `t`. */
async function standardInput(pid: number): Promise<ProcessDetails['input']> {
  try {
    const { stdout } = await run('lsof', ['-a', '-d', '0', '-p', String(pid), '-Ft'], { timeout: TIMEOUT_MS })
    return /^t(?:PIPE|FIFO|unix|sock)/im.test(stdout) ? 'pipe' : 'other'
  } catch {
    return 'other' // it has just ended, belongs to another user, or there is no lsof
  }
}

/** What one line of `ps` says. */
interface PsLine extends ProcessFacts {
  readonly owner: string
  /** The program and its arguments, with a space between them. */
  readonly command: string
}

/** The command is last, because it is the only field with spaces besides the start time. */
export const PS_FIELDS = 'pid=,ppid=,pgid=,stat=,lstart=,time=,rss=,user=,command='

/** Names of months and days in English, and times without a change of the clock in summer. */
export const PS_ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC' }

const LINE =
  /^ *(\d+) +(\d+) +(\d+) +(\S+) +(\w{3} +\w{3} +\d+ +\d+:\d\d:\d\d +\d{4}) +([\d:.-]+) +(\d+) +(\S+) *(.*)$/

/** One pass over the text, line by line. A line that is not understood, such as a warning, is left out. */
export function parsePs(text: string): Map<number, PsLine> {
  const processes = new Map<number, PsLine>()
  for (const line of text.split('\n')) {
    const [, pid, parent, group, state, started, time, rss, owner, command] = LINE.exec(line) ?? []
    if (pid === undefined || started === undefined) continue
    processes.set(Number(pid), {
      pid: Number(pid),
      name: nameIn(command ?? ''),
      parent: Number(parent),
      group: Number(group),
      session: Number(group), // macOS does not tell the session
      startedAt: Date.parse(`${started} UTC`),
      zombie: state?.startsWith('Z') === true,
      cpuMs: millisecondsIn(time ?? ''),
      rssBytes: Number(rss) * 1024,
      owner: owner ?? '',
      command: command ?? '',
    })
  }
  return processes
}

/** The program without its folder. Wrong for a folder with a space, so it only decides what it does not harm. */
function nameIn(command: string): string {
  const [program = ''] = command.split(' ', 1)
  return program.slice(program.lastIndexOf('/') + 1)
}

/** `1234:56.78` on macOS, `2-03:04:05` elsewhere: days, then hours, minutes and seconds. */
function millisecondsIn(time: string): number {
  const [clock = '', days = '0'] = time.split('-').reverse()
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)
  return Math.round((Number(days) * 86_400 + seconds) * 1000)
}

/** The start time as the reaper's script reads it from `ps`: no spaces and no colons. */
export function startText(startedAt: number): string {
  const [day, month, date, time, year] = new Date(startedAt)
    .toUTCString() // Mon, 16 Nov 2026 18:02:51 GMT
    .replace(/^(\w+), 0?(\d+) (\w+) (\d+) (\S+) GMT$/, '$1 $3 $2 $5 $4')
    .split(' ')
  return `${day}_${month}_${date}_${time?.replaceAll(':', '.')}_${year}`
}
