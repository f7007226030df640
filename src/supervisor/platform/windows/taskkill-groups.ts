import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exit, Launch } from '../platform.ts'
import type { KnownProcess } from '../process-table.ts'
import { spawned } from '../spawning.ts'
import { spawnOptions, WindowsProcessGroup, WindowsProcessGroups } from './windows-process-groups.ts'

const POLL_MS = 100

/** Without Job Objects: descendants are found in the list of processes, by their parent and start time. */
export class TaskkillGroups extends WindowsProcessGroups {
  protected async startGroup(launch: Launch): Promise<TaskkillGroup> {
    const child = spawn(launch.path, launch.args, spawnOptions(launch))
    const { ended } = await spawned(child)
    return new TaskkillGroup(child, ended)
  }
}

type Spawned = ConstructorParameters<typeof WindowsProcessGroup>[0]

class TaskkillGroup extends WindowsProcessGroup {
  readonly #child: Spawned
  #known: readonly KnownProcess[] = []

  constructor(child: Spawned, ended: Promise<Exit>) {
    super(child, child.pid ?? 0, ended)
    this.#child = child
  }

  override settled(): void {
    void this.#find()
  }

  override async closeInput(): Promise<void> {
    await this.#find() // before its children lose their parent
    this.input.end()
  }

  /** Not known. */
  async usage(): Promise<undefined> {
    return undefined
  }

  get #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The processes that are left, as far as the list tells; undefined without a list. */
  async #find(): Promise<readonly KnownProcess[] | undefined> {
    const listed = await listSlowly()
    if (!listed) return undefined
    // Its pid is not reused before Node has reported its end.
    const leader = this.#isRunning ? listed.filter(({ pid }) => pid === this.pid) : []
    const found = [...stillThere([...this.#known, ...leader], listed).values()]
    this.#known = found
    return found
  }

  protected async endAll(): Promise<void> {
    for (;;) {
      const left = await this.#find()
      if (left?.length === 0) break
      if (left) await taskkill(left.map(({ pid }) => pid))
      else if (this.#isRunning) await taskkill([this.pid], '/T')
      else break
      await sleep(POLL_MS)
    }
    await this.ended
  }
}

interface ListedProcess extends KnownProcess {
  readonly parent: number
}

const SCRIPT =
  "Get-CimInstance Win32_Process | Where-Object CreationDate | ForEach-Object { '{0} {1} {2}' -f $_.ProcessId, $_.ParentProcessId, $_.CreationDate.ToFileTimeUtc() }"
const LIST_WITHIN_MS = 10_000
const MAX_BYTES = 4 * 1024 * 1024

/** All processes, from PowerShell, which takes about a second. Undefined if it does not tell. */
function listSlowly(): Promise<ListedProcess[] | undefined> {
  const shell = join(systemFolder(), 'WindowsPowerShell\\v1.0\\powershell.exe')
  const args = ['-NoProfile', '-NonInteractive', '-Command', SCRIPT]
  const options = { timeout: LIST_WITHIN_MS, maxBuffer: MAX_BYTES, windowsHide: true }
  return new Promise((resolve) => {
    execFile(shell, args, options, (_, text) => {
      const listed = readList(text)
      resolve(listed.some(({ pid }) => pid === process.pid) ? listed : undefined)
    })
  })
}

/** Each line is a pid, the pid of the parent, and the start in hundreds of nanoseconds, which is only compared. */
export function readList(text: string): ListedProcess[] {
  return [...text.matchAll(/^(\d+) (\d+) (\d+)\r?$/gm)].map(([, pid, parent, startedAt]) => ({
    pid: Number(pid),
    parent: Number(parent),
    startedAt: Number(startedAt),
  }))
}

/** The known processes that still are the same, and all their descendants. A child is not older than its parent. */
export function stillThere(
  known: readonly KnownProcess[],
  listed: readonly ListedProcess[],
): Map<number, ListedProcess> {
  const found = new Map<number, ListedProcess>()
  const isKnown = (each: ListedProcess) =>
    known.some(({ pid, startedAt }) => pid === each.pid && startedAt === each.startedAt)
  for (const each of listed) if (isKnown(each)) found.set(each.pid, each)
  // Iterating a map includes the entries that are added meanwhile.
  for (const parent of found.values())
    for (const each of listed)
      if (each.parent === parent.pid && each.startedAt >= parent.startedAt) found.set(each.pid, each)
  return found
}

/** Ends processes without their children. Resolves when it has tried. */
function taskkill(pids: readonly number[], ...options: readonly string[]): Promise<void> {
  const args = ['/F', ...options, ...pids.flatMap((pid) => ['/PID', String(pid)])]
  return new Promise((resolve) => {
    const file = join(systemFolder(), 'taskkill.exe')
    execFile(file, args, { timeout: LIST_WITHIN_MS, windowsHide: true }, () => resolve())
  })
}

const systemFolder = (): string => join(process.env.SystemRoot ?? 'C:\\Windows', 'System32')
