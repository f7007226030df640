import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Config, readConfig } from '../config/config.ts'
import { type Flags, readFlags } from '../config/flags.ts'
import { HELP } from '../config/help.ts'
import { portTaken } from '../config/port-owner.ts'
import { StartError } from '../kernel/exit.ts'
import { VERSION } from '../kernel/version.ts'
import { LogThread } from '../store/logs/thread/log-thread.ts'
import { openService, type Service } from './service.ts'

const say = (line: string) => process.stdout.write(`${line}\n`)
const warn = (sentence: string) => process.stderr.write(`Warning: ${sentence}\n`)
/** A terminal's Ctrl-C reaches npm and us, and npm may hand it on: two signals, one intent. */
const SAME_INTENT_MS = 100

/** Starts the service, which then lives until a signal. */
export async function up(argv: readonly string[], mainFile: string): Promise<void> {
  const flags = readFlags(argv)
  if (flags.command === 'help') return void say(HELP)
  if (flags.command === 'version') return void say(VERSION)
  const config = readConfig({
    flags,
    platform: { os: process.platform, home: homedir(), env: process.env },
    packageRoot: dirname(dirname(mainFile)),
  })
  const stop = stopOnSignals()
  stop.when(await start(config, flags, mainFile))
}

function tell({ address, tokenFile, warnings }: Pick<Service, 'address' | 'tokenFile' | 'warnings'>): void {
  for (const warning of warnings) warn(warning)
  say(`Toolroom is ready at ${address}${tokenFile ? ` (token in ${tokenFile})` : ''}`)
}

async function start(config: Config, { afterDamage }: Flags, mainFile: string): Promise<Service> {
  const openLogs = async ({
    folder,
    maxBytes,
    onTrouble,
  }: Parameters<Parameters<typeof openService>[1]['openLogs']>[0]) =>
    new LogThread({
      path: `${folder}/logs.db`,
      maxBytes,
      onDamaged: onTrouble,
      onError: (error: Error) => onTrouble(error.message),
      workerUrl: new URL('./log-worker.js', pathToFileURL(mainFile)),
    })
  try {
    return await openService(config, { afterDamage, warn, openLogs, mainFile, onOpen: tell })
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw error
    if (error.code === 'EADDRINUSE') throw await portTaken(config.host, config.port)
    if (error.code === 'EACCES' && 'syscall' in error && error.syscall === 'listen') {
      throw new StartError(
        'port_taken',
        `Port ${config.port} needs rights that this user does not have; choose one above 1023`,
      )
    }
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
      throw new StartError(
        'configuration',
        `HOST ${JSON.stringify(config.host)} is no address of this computer`,
      )
    }
    throw error
  }
}

/** The first signal ends in good order, a second one at once. One that comes during the start waits for its end. */
function stopOnSignals(): { when(service: Service): void } {
  let service: Service | undefined
  let asked: number | undefined
  const stop = (signal: NodeJS.Signals) => {
    const now = performance.now()
    const again = asked !== undefined && (signal !== 'SIGINT' || now - asked > SAME_INTENT_MS)
    if (again) process.exit(130)
    if (asked !== undefined) return
    asked = now
    if (service) void end(service)
  }
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop)
  return {
    when: (opened) => {
      service = opened
      process.on('unhandledRejection', (error) =>
        opened.log.error({ error }, 'a promise was rejected and nobody noticed'),
      )
      process.on('uncaughtException', (error) => {
        opened.log.fatal({ error }, 'unexpected fault, the service ends')
        process.stderr.write(`toolroom: unexpected fault: ${error.stack}\n`)
        void opened.close().finally(() => process.exit(70))
      })
      if (asked !== undefined) void end(opened)
    },
  }
}

async function end(service: Service): Promise<void> {
  await service.close()
  process.exit(0)
}
