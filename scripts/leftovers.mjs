// node scripts/leftovers.mjs [MARK]: fails when a process that Toolroom started is still alive. For CI, after the tests.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { root } from './lib.mjs'

/** Processes that are ending when this script starts get this long. */
const DEADLINE_MS = 5000
const POLL_MS = 100
const MAX_BYTES = 64 * 1_048_576

/** How each system lists the processes that have `mark` in their environment. */
const READERS = {
  linux: (mark) =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && textOf(`/proc/${name}/environ`).split('\0').some(begins(mark)))
      .map((name) => ({ pid: Number(name), command: textOf(`/proc/${name}/cmdline`).replaceAll('\0', ' ') })),
  /** `ps` shows the environment behind the command, except that of programs of the system itself. */
  darwin: (mark) => markedIn(output('ps', ['-axEww', '-o', 'pid=,command=']), mark),
  /** An environment cannot be read there: instead, programs and scripts of this checkout and of the tests' folders. */
  win32: () => {
    const list = 'Get-CimInstance Win32_Process | Select-Object ProcessId,ParentProcessId,CommandLine'
    const script = `[Console]::OutputEncoding=[Text.Encoding]::UTF8; ${list} | ConvertTo-Json -Compress`
    const json = output('powershell', ['-NoProfile', '-NonInteractive', '-Command', script])
    return oursIn(JSON.parse(json), [root, join(tmpdir(), 'toolroom-test-')], process.pid)
  },
}

/** Of the output of `ps`: a line is a pid, a command and its environment. */
export function markedIn(text, mark) {
  const lines = text.split('\n').map((line) => /^\s*(\d+) (.*)$/.exec(line))
  return lines
    .filter((found) => found?.[2].split(' ').some(begins(mark)))
    .map(([, pid, command]) => ({ pid: Number(pid), command: command.slice(0, 200) }))
}

/** Those whose command line names one of the folders, without this process and those that started it. */
export function oursIn(rows, folders, self) {
  const parents = new Map(rows.map(({ ProcessId, ParentProcessId }) => [ProcessId, ParentProcessId]))
  const own = new Set()
  for (let pid = self; pid !== undefined && !own.has(pid); pid = parents.get(pid)) own.add(pid)
  const names = folders.map((folder) => folder.toLowerCase())
  return rows
    .map(({ ProcessId, CommandLine }) => ({ pid: ProcessId, command: CommandLine ?? '' }))
    .filter(({ pid, command }) => !own.has(pid) && names.some((name) => command.toLowerCase().includes(name)))
}

const begins = (mark) => (word) => word.startsWith(mark)
const output = (command, args) => execFileSync(command, args, { encoding: 'utf8', maxBuffer: MAX_BYTES })

function textOf(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // the process has ended, or belongs to another user
  }
}

async function main(mark = 'TOOLROOM_CHILD=') {
  const read = READERS[process.platform]
  const deadline = performance.now() + DEADLINE_MS
  let left = read(mark)
  while (left.length > 0 && performance.now() < deadline) {
    await sleep(POLL_MS)
    left = read(mark)
  }
  for (const { pid, command } of left) console.log(`process ${pid} is still alive: ${command}`)
  if (left.length > 0) process.exitCode = 1
  else console.log('No process was left behind')
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  await main(process.argv[2])
