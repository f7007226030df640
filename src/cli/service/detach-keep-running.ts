import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT, LASTING_EXITS } from '../../kernel/exit-codes.ts'
import { Failure } from '../run/failure.ts'
import { shortPath } from '../run/human-readable.ts'
import { configHere } from '../run/run-command.ts'
import { startDetached } from './start-detached.ts'

const RESTART_MS = 2000
const MOST_STARTS = 10
const WITHIN_MS = 300_000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** `toolroom up --detach`: starts the service in the background, and returns when it answers. */
export async function detach(words: readonly string[], mainFile: string): Promise<void> {
  const { stdout, stderr } = process
  const isJson = words.includes('--json')
  const own = words.filter((word) => word !== '--json')
  const config = configHere(mainFile, own)
  try {
    const started = await startDetached(config, mainFile, own)
    const { address, pid, log_file, already_running } = started
    const text = already_running
      ? `Toolroom is already running at ${address} (process ${pid})`
      : `Toolroom is ready at ${address} (process ${pid}, log in ${shortPath(log_file)})`
    stdout.write(`${isJson ? JSON.stringify(started) : text}\n`)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { code, message, hint, exit } = error
    if (isJson) stdout.write(`${JSON.stringify({ code, detail: message, hint })}\n`)
    stderr.write(`toolroom: ${message}${hint === null ? '' : `. ${hint}`}\n`)
    process.exitCode = EXIT[exit]
  }
}

/**
 * `toolroom up --restart-after-crash`: runs the service as a child process, and starts it again by the rules that the unit
 * of systemd has. For the Task Scheduler of Windows, which repeats a start that failed but does not notice a crash.
 */
export async function keepRunning(words: readonly string[], mainFile: string): Promise<void> {
  const starts: number[] = []
  for (;;) {
    starts.push(performance.now())
    const code = await runOnce([mainFile, 'up', ...words])
    const earlier = starts.at(-MOST_STARTS)
    const isTooOften = earlier !== undefined && performance.now() - earlier < WITHIN_MS
    if (code === 0 || LASTING_EXITS.includes(code) || isTooOften) {
      process.exitCode = code
      return
    }
    await sleep(RESTART_MS)
  }
}

/** Its exit code. With pipes and `windowsHide`, Windows opens no window for it. */
async function runOnce(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true })
  child.stdout.pipe(process.stdout, { end: false })
  child.stderr.pipe(process.stderr, { end: false })
  const forward = (signal: NodeJS.Signals) => void child.kill(signal)
  for (const signal of SIGNALS) process.on(signal, forward)
  try {
    const [code] = (await once(child, 'close')) as [number | null]
    return code ?? 1
  } finally {
    for (const signal of SIGNALS) process.off(signal, forward)
  }
}
