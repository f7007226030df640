import { type SpawnOptions, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../kernel/config/config.ts'
import { type Instance, runningInstance } from '../../kernel/config/find-running-instance.ts'
import { lastingProgram } from '../../kernel/config/npx-program-copy.ts'
import { prepareDataFolder } from '../../kernel/config/system/data-folder.ts'
import { EXIT } from '../../kernel/exit-codes.ts'
import { readForeign } from '../../kernel/files/foreign-file.ts'
import { Failure } from '../run/failure.ts'
import { findAddress } from '../run/service-address.ts'

interface Started extends Instance {
  /** What the service prints: the line with its address, warnings, and why it ended if it did. */
  readonly log_file: string
  readonly already_running: boolean
}

const READY_MS = 60_000
const POLL_MS = 50
const MAX_BYTES = 1_048_576

/**
 * Starts the service as a process of its own, which outlives this one, and waits until it answers. `words` are the flags of
 * `up`; `from` is its environment and working folder if they are not those of this process. If one is running already,
 * nothing is started.
 */
export async function startDetached(
  config: Config,
  mainFile: string,
  words: readonly string[] = [],
  from: Pick<SpawnOptions, 'env' | 'cwd'> = {},
): Promise<Started> {
  const { data } = config.folders
  const log_file = join(data, 'up.log')
  const running = runningInstance(data)
  if (running) return { ...running, log_file, already_running: true }
  prepareDataFolder(data)
  const program = lastingProgram(mainFile, data)
  await program.keep()
  const log = openSync(log_file, 'w', 0o600)
  const child = spawn(process.execPath, [program.mainFile, 'up', ...words], {
    detached: true,
    stdio: ['ignore', log, log],
    windowsHide: true,
    ...from,
  })
  closeSync(log)
  let end: { readonly code: number | null } | undefined
  child.once('error', () => (end = { code: null }))
  child.once('exit', (code) => (end = { code }))
  const instance = await untilReady(data, () => {
    if (end) throw ended(end.code, log_file)
  })
  child.unref()
  if (instance) return { ...instance, log_file, already_running: false }
  throw new Failure('timeout', `Toolroom did not answer within ${READY_MS / 1000} s`, `See ${log_file}`)
}

/** The service of this data folder, once it answers; undefined if it does not in time. `check` may end the wait. */
export async function untilReady(
  data: string,
  check: () => void | Promise<void>,
): Promise<Instance | undefined> {
  const deadline = performance.now() + READY_MS
  while (performance.now() < deadline) {
    const instance = runningInstance(data)
    const address = instance && findAddress(data)
    if (instance && address !== undefined && (await answers(address))) return { ...instance, address }
    await check()
    await sleep(POLL_MS)
  }
  return undefined
}

async function answers(address: string): Promise<boolean> {
  try {
    const reply = await fetch(`${address}/api/health`, { signal: AbortSignal.timeout(5000) })
    await reply.body?.cancel()
    return true
  } catch {
    return false // not yet
  }
}

function ended(code: number | null, logFile: string): Failure {
  const exit = (Object.keys(EXIT) as (keyof typeof EXIT)[]).find((name) => EXIT[name] === code) ?? 'failed'
  const last = readForeign(logFile, MAX_BYTES).bytes.toString().trim().split('\n').at(-1) ?? ''
  const why = last.replace(/^toolroom: /, '') || `exit code ${code}`
  return new Failure(exit, `Toolroom could not start: ${why}`, `See ${logFile}`)
}
