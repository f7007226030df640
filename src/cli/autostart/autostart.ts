import { userInfo } from 'node:os'
import type { Config } from '../../kernel/config/config.ts'
import { runningInstance } from '../../kernel/config/find-running-instance.ts'
import { lastingProgram } from '../../kernel/config/npx-program-copy.ts'
import { serviceFile } from '../../kernel/config/paths.ts'
import { pathWithoutNpm } from '../../kernel/config/recorded-start.ts'
import { prepareDataFolder } from '../../kernel/config/system/data-folder.ts'
import { type Answer, type Context, dryRun, type Run } from '../run/command-context.ts'
import { Failure } from '../run/failure.ts'
import { untilReady } from '../service/start-detached.ts'
import { stopService } from '../service/stop-service.ts'
import { Launchd } from './launchd.ts'
import { type Program, type RunTool, runToolWith, type ServiceManager } from './service-manager.ts'
import { Systemd } from './systemd.ts'
import { TaskScheduler } from './task-scheduler.ts'

/** `toolroom service install`: the service manager starts Toolroom now and at every login. */
export const installService: Run = async (context) => {
  const { config, mainFile, given, during } = context
  const manager = managerHere(config)
  const { data } = config.folders
  const lasting = lastingProgram(mainFile, data)
  const program = programOf(config, lasting.mainFile)
  if (given.is('dry-run')) return planned(manager, program)
  await asFailure(manager.check())
  prepareDataFolder(data)
  await lasting.keep()
  await makeRoom(manager, context)
  await during('Starting', asFailure(manager.install(program)))
  const instance = await during(
    'Starting',
    untilReady(data, () => asFailure(manager.refuseFailed())),
  )
  if (!instance) throw new Failure('timeout', 'The service does not answer', `See ${manager.logCommand}`)
  const { pid, address } = instance
  const hint = manager.hint()
  return {
    json: { file: manager.file, main_file: lasting.mainFile, pid, address },
    lines: [
      `Toolroom is ready at ${address} (process ${pid}), and starts at every login`,
      `  ${manager.file}`,
      ...(hint === null ? [] : [hint]),
    ],
    plain: [[manager.file, pid, address]],
    next: 'next: toolroom service status',
  }
}

/** Only one Toolroom can use the data folder. */
async function makeRoom(manager: ServiceManager, context: Context): Promise<void> {
  const { data } = context.config.folders
  const running = runningInstance(data)
  if (!running) return
  if (manager.asksToEnd && running.pid === (await asFailure(manager.state())).pid) return
  await context.during('Stopping', stopService(context.api, data))
  context.note(`Stopped the Toolroom that was running (process ${running.pid}); the service takes its place`)
}

/** What the terminal has and the service manager does not: where programs are found, and where our files are. */
function programOf({ folders, platform }: Pick<Config, 'folders' | 'platform'>, mainFile: string): Program {
  const { data } = folders
  const { PATH = '', XDG_CONFIG_HOME, NODE_EXTRA_CA_CERTS } = platform.env
  const env = {
    PATH: pathWithoutNpm(PATH, platform.os),
    TOOLROOM_HOME: data,
    ...(XDG_CONFIG_HOME && { XDG_CONFIG_HOME }),
    ...(NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS }),
  }
  return { command: process.execPath, mainFile, data, env }
}

/** Whether the service manager starts the service of this data folder, and why it cannot. Changes nothing. */
export async function stateAtLogin(config: Pick<Config, 'folders' | 'platform'>) {
  try {
    const manager = managerHere(config, runToolWith(config.platform.env))
    const isServed = manager.serves(config.folders.data)
    const problem = (await manager.problem()) ?? (isServed ? null : manager.occupied())
    const starts_at_login = problem === null && isServed && (await manager.state()).enabled
    return { manager: manager.name, file: manager.file, starts_at_login, problem }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { manager: null, file: null, starts_at_login: false, problem }
  }
}

/** The service manager starts the service at every login. The one that runs now goes on. */
export async function installAtLogin(
  config: Pick<Config, 'folders' | 'platform'>,
  mainFile: string,
): Promise<void> {
  const lasting = lastingProgram(mainFile, config.folders.data)
  const manager = managerHere(config, runToolWith(config.platform.env))
  await manager.check()
  await lasting.keep()
  await manager.install(programOf(config, lasting.mainFile), 'login')
}

function planned(manager: ServiceManager, program: Program): Answer {
  const text = manager.describe(program)
  return dryRun({ file: manager.file, text, commands: manager.commands }, [
    `Would write ${manager.file}:`,
    '',
    ...text.replace('\uFEFF', '').trimEnd().split(/\r?\n/),
    '',
    'Would run:',
    ...manager.commands.map((command) => `  ${command}`),
  ])
}

/** `toolroom service uninstall`: stops the service and removes its file. Toolroom's data stays. */
export const uninstallService: Run = async (context) => {
  const { config, given, during } = context
  const manager = managerHere(config)
  const { file, installed, pid } = await asFailure(manager.state())
  if (!installed) return { json: { file, removed: false, pid: null }, lines: ['No service is installed.'] }
  if (given.is('dry-run')) return dryRun({ file, pid }, [`Would stop the service and delete ${file}`])
  if (pid !== null && !manager.asksToEnd)
    await during('Stopping', stopService(context.api, config.folders.data))
  await during('Stopping', asFailure(manager.uninstall()))
  return {
    json: { file, removed: true, pid },
    lines: [`Deleted ${file}${pid === null ? '' : `; the service (process ${pid}) has stopped`}`],
    next: 'Your servers and settings are still there: toolroom up',
  }
}

/** `toolroom service status` */
export const showServiceState: Run = async ({ config }) => {
  const manager = managerHere(config)
  const state = await asFailure(manager.state())
  const { file, installed, enabled, running, failed, pid } = state
  const first = installed
    ? `Toolroom is a service of ${manager.name}: ${running ? `running (process ${pid})` : failed ? 'failed' : 'not running'}, ${enabled ? 'starts at login' : 'does not start at login'}`
    : 'No service is installed.'
  return {
    json: { manager: manager.name, ...state },
    lines: [first, ...(installed ? [`  ${file}`] : []), ...(failed ? [`See ${manager.logCommand}`] : [])],
    plain: [[manager.name, installed, enabled, running, pid, file]],
    exit: running ? undefined : 'not_running',
    next: installed ? undefined : 'next: toolroom service install',
  }
}

/** The service manager of this computer. */
export function managerHere(
  { platform, folders: { data } }: Pick<Config, 'platform' | 'folders'>,
  run?: RunTool,
): ServiceManager {
  const file = serviceFile(platform, data)
  const { uid, username } = userInfo()
  const { os, env } = platform
  if (os === 'linux') return new Systemd(file, run)
  if (os === 'darwin') return new Launchd(file, data, uid, run)
  if (os === 'win32') return new TaskScheduler({ file, data, env, userName: env.USERNAME || username, run })
  throw new Failure(
    'failed',
    `toolroom service needs systemd, launchd or the Task Scheduler, and ${os} has none of them`,
    'Start Toolroom with `toolroom up --detach`',
    'not_supported',
  )
}

/** The service manager that starts the service of this data folder; undefined if none was told to. */
export async function installedManager(
  config: Pick<Config, 'platform' | 'folders'>,
  run: RunTool,
): Promise<ServiceManager | undefined> {
  const { os } = config.platform
  if (!['linux', 'darwin', 'win32'].includes(os)) return undefined
  const manager = managerHere(config, run)
  return manager.serves(config.folders.data) && (await manager.state()).installed ? manager : undefined
}

/** What the service manager refuses ends the command with its sentence. */
async function asFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Failure) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new Failure(
      'failed',
      why,
      'Without a service manager, use `toolroom up --detach`',
      'service_manager',
    )
  }
}
