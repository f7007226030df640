import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { KnownProcess } from '../process-table.ts'

export interface ListedProcess extends KnownProcess {
  readonly parent: number
}

const SCRIPT =
  "Get-CimInstance Win32_Process | Where-Object CreationDate | ForEach-Object { '{0} {1} {2}' -f $_.ProcessId, $_.ParentProcessId, $_.CreationDate.ToFileTimeUtc() }"
const LIST_WITHIN_MS = 10_000
const MAX_BYTES = 4 * 1024 * 1024

/** All processes, from PowerShell, which takes about a second. Undefined if it does not tell. */
export function listSlowly(): Promise<ListedProcess[] | undefined> {
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
export function taskkill(pids: readonly number[], ...options: readonly string[]): Promise<void> {
  const args = ['/F', ...options, ...pids.flatMap((pid) => ['/PID', String(pid)])]
  return new Promise((resolve) => {
    const file = join(systemFolder(), 'taskkill.exe')
    execFile(file, args, { timeout: LIST_WITHIN_MS, windowsHide: true }, () => resolve())
  })
}

const systemFolder = (): string => join(process.env.SystemRoot ?? 'C:\\Windows', 'System32')
