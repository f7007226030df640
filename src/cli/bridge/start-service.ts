import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../kernel/config/config.ts'
import { runningInstance } from '../../kernel/config/find-running-instance.ts'
import { configOfStart, type RecordedStart, recordedStart } from '../../kernel/config/recorded-start.ts'
import type { SettingName } from '../../kernel/config/settings.ts'
import { prepareDataFolder } from '../../kernel/config/system/data-folder.ts'
import { isStartError } from '../../kernel/exit-codes.ts'
import { installedManager } from '../autostart/autostart.ts'
import { runToolWith } from '../autostart/service-manager.ts'
import { Failure } from '../run/failure.ts'
import { startDetached, untilReady } from '../service/start-detached.ts'

const POLL_MS = 50
/** Another process that holds the data folder may be a service that starts, or one that ends. */
const IN_USE_MS = 5000
const TRY_AGAIN_MS = 1000
/** A claim that is older was left behind: its process id may be that of another process by now. */
const CLAIM_MS = 120_000

/**
 * Starts the service of a data folder as it was running when an agent was connected: by the unit if there is one, else as a
 * process of its own. Several bridges start it once. Resolves with a sentence if it could not be started, and with nothing
 * if it runs, or if it is not to be started.
 */
export async function startService(data: string, mainFile: string): Promise<string | undefined> {
  const recorded = recordedStart(data)
  if (!recorded) return undefined
  try {
    const config = configOfStart(recorded, mainFile, userInfo().homedir)
    if (!config.agents_start_service) return undefined
    prepareDataFolder(data)
    await claimed(data, () => start(config, recorded, mainFile))
    return undefined
  } catch (error) {
    return `Toolroom is not running, and could not be started: ${reasonOf(error)}`
  }
}

async function start(config: Config, recorded: RecordedStart, mainFile: string): Promise<void> {
  const { data } = config.folders
  const manager = await installedManager(config, runToolWith(recorded.env))
  if (manager) {
    await manager.start()
    const instance = await untilReady(data, () => manager.refuseFailed())
    if (!instance) throw new Failure('timeout', 'The service does not answer', `See ${manager.logCommand}`)
    return
  }
  const missing = recorded.not_recorded.filter(
    (name) => !config.origins.has(name.toLowerCase() as SettingName),
  )
  if (missing.length > 0)
    throw new Failure(
      'configuration',
      `it had ${missing.join(' and ')} from its environment, which is not recorded because it is a secret`,
      `Set it in ${join(data, '.env')}, or start Toolroom with \`toolroom up\``,
    )
  const { home } = config.platform
  const from = { env: recorded.env, cwd: existsSync(home) ? home : data }
  const deadline = performance.now() + IN_USE_MS
  for (;;) {
    try {
      await startDetached(config, mainFile, [], from)
      return
    } catch (error) {
      const isInUse = error instanceof Failure && error.exit === 'folder_in_use'
      if (!isInUse || performance.now() > deadline) throw error
      for (const end = performance.now() + TRY_AGAIN_MS; performance.now() < end; await sleep(POLL_MS))
        if (runningInstance(data)) return
    }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Failure) return error.hint === null ? error.message : `${error.message}. ${error.hint}`
  if (!(error instanceof Error)) return String(error)
  return isStartError(error) ? error.message : `${error.message}. Start it with \`toolroom up\``
}

/**
 * Runs `work` while no other bridge does. The others wait until the service runs, or do it themselves if the first one did
 * not succeed. If two should claim at once, the lock of the data folder still admits one service.
 */
async function claimed(data: string, work: () => Promise<void>): Promise<void> {
  const file = join(data, 'agents-start.claim')
  const isRunning = () => runningInstance(data) !== undefined
  while (!isRunning()) {
    if (!claim(file)) {
      await sleep(POLL_MS)
      continue
    }
    try {
      if (!isRunning()) await work() // the process that had the claim before may just have succeeded
    } finally {
      rmSync(file, { force: true })
    }
    return
  }
}

function claim(file: string): boolean {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    if (!isHeld(file)) rmSync(file, { force: true })
    return false
  }
}

/** Whether the process that made the claim may still be at work. */
function isHeld(file: string): boolean {
  try {
    // A claim of the future was made before the clock was set back.
    if (Math.abs(Date.now() - statSync(file).mtimeMs) > CLAIM_MS) return false
    const pid = Number(readFileSync(file, 'utf8'))
    if (pid > 0) process.kill(pid, 0) // 0: it is just being written
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
