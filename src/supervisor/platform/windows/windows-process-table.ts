import type { ProcessFacts, ProcessTable } from '../process-table.ts'
import { OpenedProcess } from './opened-process.ts'
import type { WindowsApi } from './windows-api.ts'

const SNAPSHOT_PROCESSES = 2
const INVALID = -1
const ENTRY_BYTES = 568
const [PID_AT, PARENT_AT, NAME_AT] = [8, 32, 44]

/** The parent of a process whose parent has ended. Windows keeps the pid of the parent, which a younger process may have now. */
const NO_PARENT = 0

interface Listed {
  readonly parent: number
  readonly name: string
}

/** The process table of Windows: a snapshot of the list, and the current facts of each process. */
export class WindowsTable implements ProcessTable {
  readonly isCurrent = false
  readonly #api: WindowsApi
  /** The pids of all processes that this Toolroom has started. */
  readonly #own: () => readonly number[]
  #listed: ReadonlyMap<number, Listed> = new Map()
  #listedAt = Number.NEGATIVE_INFINITY

  constructor(api: WindowsApi, own: () => readonly number[]) {
    this.#api = api
    this.#own = own
  }

  async refresh(maxAgeMs = 0): Promise<void> {
    if (performance.now() - this.#listedAt < maxAgeMs) return
    this.#listed = list(this.#api)
    this.#listedAt = performance.now()
  }

  newest(): undefined {
    return undefined
  }

  pids(): number[] {
    return [...this.#listed.keys()]
  }

  /** Undefined for processes that this user may not open, such as those of Windows itself. */
  read(pid: number): ProcessFacts | undefined {
    const usage = this.usageOf(pid)
    if (!usage) return undefined
    const { parent = 0, name = '' } = this.#listed.get(pid) ?? {}
    const isThere = this.#listed.has(parent) && !((this.#startOf(parent) ?? 0) > usage.startedAt)
    return { ...usage, name, parent: isThere ? parent : NO_PARENT, group: pid, session: pid }
  }

  usageOf(pid: number) {
    return this.#ask(pid, (opened) => {
      const [times, rssBytes] = [opened.times(), opened.rssBytes()]
      if (!times || rssBytes === undefined) return undefined
      // A process that has ended exists as long as another one has it open.
      return { pid, ...times, rssBytes, zombie: !opened.isRunning }
    })
  }

  commandLine(pid: number): string[] {
    return splitCommandLine(this.#ask(pid, (opened) => opened.commandLine(), 'read') ?? '')
  }

  /** Windows does not show the environment of a process. Those of other Toolrooms have a parent. */
  async marked(): Promise<ProcessFacts[]> {
    return this.#own().flatMap((pid) => this.read(pid) ?? [])
  }

  async details({ pid, startedAt }: ProcessFacts) {
    const owner = this.#ask(pid, (opened) => opened.owner()) ?? ''
    const ageS = Math.max(0, Math.round((Date.now() - startedAt) / 1000))
    return { owner, ageS, input: undefined, isManaged: false }
  }

  hasLostParent({ parent }: ProcessFacts): boolean {
    return parent === NO_PARENT
  }

  #startOf(pid: number): number | undefined {
    return this.#ask(pid, (opened) => opened.times()?.startedAt)
  }

  #ask<T>(pid: number, ask: (opened: OpenedProcess) => T, to: 'ask' | 'read' = 'ask'): T | undefined {
    const opened = OpenedProcess.open(this.#api, pid, to)
    try {
      return opened && ask(opened)
    } finally {
      opened?.close()
    }
  }
}

function list(api: WindowsApi): Map<number, Listed> {
  const listed = new Map<number, Listed>()
  const snapshot = api.CreateToolhelp32Snapshot(SNAPSHOT_PROCESSES, 0)
  if (snapshot === INVALID) return listed
  const entry = Buffer.alloc(ENTRY_BYTES)
  entry.writeUInt32LE(ENTRY_BYTES)
  for (let more = api.Process32FirstW(snapshot, entry); more; more = api.Process32NextW(snapshot, entry)) {
    const [name = ''] = entry.toString('utf16le', NAME_AT).split('\0', 1)
    listed.set(entry.readUInt32LE(PID_AT), { parent: entry.readUInt32LE(PARENT_AT), name })
  }
  api.CloseHandle(snapshot)
  return listed
}

const MAX_CHARS = 32_768

/** Splits a command line as the C runtime of Windows does: backslashes count only in front of a quote, `""` is a quote. */
export function splitCommandLine(line: string): string[] {
  const args: string[] = []
  let arg: string | undefined
  let isQuoted = false
  const text = line.slice(0, MAX_CHARS)
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at)
    if (!isQuoted && (char === ' ' || char === '\t')) {
      if (arg !== undefined) args.push(arg)
      arg = undefined
      continue
    }
    arg ??= ''
    let slashes = 0
    while (text[at + slashes] === '\\') slashes += 1
    if (slashes > 0 && text[at + slashes] === '"') {
      arg += '\\'.repeat(Math.floor(slashes / 2))
      at += slashes - 1
      if (slashes % 2 === 1) {
        arg += '"'
        at += 1
      }
    } else if (slashes > 0) {
      arg += '\\'.repeat(slashes)
      at += slashes - 1
    } else if (char === '"' && isQuoted && text[at + 1] === '"') {
      arg += '"'
      at += 1
    } else if (char === '"') isQuoted = !isQuoted
    else arg += char
  }
  if (arg !== undefined) args.push(arg)
  return args
}
