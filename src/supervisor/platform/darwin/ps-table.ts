import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { ProcessDetails, ProcessFacts, ProcessTable } from '../process-table.ts'
import { isAdopted } from '../unix/adoption.ts'
import { PS_ENVIRONMENT, PS_FIELDS, type PsLine, parsePs } from './ps.ts'

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
