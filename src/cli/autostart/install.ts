import { lastingProgram } from '../../kernel/config/lasting-program.ts'
import { runningInstance } from '../../kernel/config/running-instance.ts'
import { prepareDataFolder } from '../../kernel/config/system/data-folder.ts'
import type { Answer, Context, Run } from '../run/context.ts'
import { Failure } from '../run/failure.ts'
import { untilReady } from '../service/start-detached.ts'
import { stopService } from '../service/stop-service.ts'
import { asFailure, managerHere } from './manager-here.ts'
import type { Program, ServiceManager } from './service-manager.ts'

/** `toolroom service install`: the service manager starts Toolroom now and at every login. */
export const installService: Run = async (context) => {
  const { config, mainFile, given, during } = context
  const manager = managerHere(config)
  const { data } = config.folders
  const lasting = lastingProgram(mainFile, data)
  const program = {
    command: process.execPath,
    mainFile: lasting.mainFile,
    data,
    env: environment(data, config.platform.env),
  }
  if (given.is('dry-run')) return dryRun(manager, program)
  await asFailure(manager.check())
  prepareDataFolder(data)
  await lasting.keep()
  await makeRoom(manager, context)
  await during('Starting', asFailure(manager.install(program)))
  const instance = await during(
    'Starting',
    untilReady(data, () => refuseFailed(manager)),
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

async function refuseFailed(manager: ServiceManager): Promise<void> {
  const { failed } = await asFailure(manager.state())
  if (failed) throw new Failure('failed', 'The service has ended with an error', `See ${manager.logCommand}`)
}

/** What the terminal has and the service manager does not: where programs are found, and where our files are. */
function environment(data: string, env: Readonly<Record<string, string | undefined>>): Program['env'] {
  const { PATH = '', XDG_CONFIG_HOME, NODE_EXTRA_CA_CERTS } = env
  const folders = PATH.split(':').filter((folder) => folder !== '' && !OF_NPM.test(folder))
  return {
    PATH: folders.join(':'),
    TOOLROOM_HOME: data,
    ...(XDG_CONFIG_HOME && { XDG_CONFIG_HOME }),
    ...(NODE_EXTRA_CA_CERTS && { NODE_EXTRA_CA_CERTS }),
  }
}

/** Folders that npm and npx add to PATH while they run. */
const OF_NPM = /\/node_modules\/(?:\.bin|npm\/)|\/_npx\//

function dryRun(manager: ServiceManager, program: Program): Answer {
  const text = manager.describe(program)
  return {
    json: { dry_run: true, file: manager.file, text, commands: manager.commands },
    lines: [
      `Would write ${manager.file}:`,
      '',
      ...text.replace('\uFEFF', '').trimEnd().split(/\r?\n/),
      '',
      'Would run:',
      ...manager.commands.map((command) => `  ${command}`),
      'Nothing was changed (--dry-run).',
    ],
  }
}
