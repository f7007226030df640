import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Config, readConfig } from '../kernel/config/config.ts'
import { assertNodeVersion } from '../kernel/config/node-version.ts'
import { asTyped, programName } from '../kernel/config/program-name.ts'
import { portTaken } from '../kernel/config/system/port-owner.ts'
import { type Flags, readFlags } from '../kernel/config/up-flags.ts'
import { configError, isStartError, StartError } from '../kernel/exit-codes.ts'
import { VERSION } from '../kernel/version.ts'
import { CallThread } from '../store/thread/call-thread.ts'
import { LogThread } from '../store/thread/log-thread.ts'
import { StoreThread } from '../store/thread/store-thread.ts'
import type { Opened } from './basics.ts'
import type { OpenStores } from './logging.ts'
import { openService, type Service } from './service.ts'
import { startRefused } from './start-refused.ts'

const print = (line: string) => process.stdout.write(`${line}\n`)
const warn = (sentence: string) => process.stderr.write(`Warning: ${sentence}\n`)
/** Ctrl-C in a terminal reaches both npm and this process, and npm may forward it: two signals for one key. */
const SAME_KEY_MS = 100

/**
 * Starts the service, which runs until a signal. Resolves with `help` if that is what the flags ask for. `isQuiet`: the
 * caller prints the address.
 */
export async function up(
  argv: readonly string[],
  mainFile: string,
  { isQuiet = false } = {},
): Promise<'help' | undefined> {
  const flags = flagsIn(argv, mainFile)
  if (flags.command === 'help') return 'help'
  if (flags.command === 'version') {
    print(VERSION)
    return undefined
  }
  assertNodeVersion(process.platform, process.versions.node)
  const config = readConfig({
    flags,
    platform: { os: process.platform, home: homeFolder(), env: process.env },
    packageRoot: dirname(dirname(mainFile)),
  })
  const { onStarted, stop } = stopOnSignals()
  const onOpen = isQuiet ? printWarnings : printReady
  onStarted(await start(config, flags, mainFile, { onOpen, shutDown: () => stop('SIGTERM') }))
  return undefined
}

function homeFolder(): string {
  try {
    return homedir()
  } catch (cause) {
    throw configError('This user has no home folder; set HOME to a folder of your own', cause)
  }
}

/** A refusal names the command for help as it is typed on this computer. */
function flagsIn(argv: readonly string[], mainFile: string): Flags {
  try {
    return readFlags(argv)
  } catch (error) {
    if (isStartError(error))
      error.message = asTyped(error.message, () => programName({ mainFile, home: homedir() }), ['up'])
    throw error
  }
}

function printWarnings({ warnings }: Pick<Opened, 'warnings'>): void {
  for (const warning of warnings) warn(warning)
}

function printReady(opened: Opened): void {
  const { address, tokenFile } = opened
  printWarnings(opened)
  print(`Toolroom is ready at ${address}${tokenFile ? ` (token in ${tokenFile})` : ''}`)
}

async function start(
  config: Config,
  { afterDamage, withoutServers }: Flags,
  mainFile: string,
  calls: { readonly onOpen: (opened: Opened) => void; readonly shutDown: () => void },
): Promise<Service> {
  const openStores: OpenStores = async (options) => {
    const { folder, maxBytes, keepsPayloads, onTrouble, onDamaged, onDiscarded } = options
    const thread = new StoreThread({
      logs: { path: `${folder}/logs.db`, maxBytes },
      calls: { path: `${folder}/calls.db`, keepsPayloads },
      onDamaged,
      onDiscarded,
      onError: (error: Error) => onTrouble(error.message),
      workerUrl: new URL('./store-worker.js', pathToFileURL(mainFile)),
    })
    const [logs, calls] = [new LogThread(thread, maxBytes), new CallThread(thread)]
    return { logs, calls, start: () => thread.start() }
  }
  try {
    return await openService(config, {
      afterDamage,
      withoutServers,
      warn,
      openStores,
      mainFile,
      webFolder: join(dirname(mainFile), 'web'),
      docsFolder: join(dirname(mainFile), 'docs'),
      ...calls,
    })
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error)) throw startRefused(error, config.folders.data)
    if (error.code === 'EADDRINUSE') throw await portTaken(config.host, config.port)
    if (error.code === 'EACCES' && 'syscall' in error && error.syscall === 'listen') {
      throw new StartError(
        'port_taken',
        `Port ${config.port} requires privileges that this user does not have; choose a port above 1023`,
      )
    }
    if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
      throw configError(`HOST ${JSON.stringify(config.host)} is not one of this computer's addresses`)
    }
    throw startRefused(error, config.folders.data)
  }
}

/** The first signal closes the service, after its start if need be. A second one ends the process at once. */
function stopOnSignals() {
  let service: Service | undefined
  let signalledAt: number | undefined
  const stop = (signal: NodeJS.Signals) => {
    const now = performance.now()
    const isSecond = signalledAt !== undefined && (signal !== 'SIGINT' || now - signalledAt > SAME_KEY_MS)
    if (isSecond) process.exit(130)
    if (signalledAt !== undefined) return
    signalledAt = now
    if (service) void end(service)
  }
  process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGHUP', stop)
  const onStarted = (started: Service) => {
    service = started
    process.on('unhandledRejection', (error) => started.log.error({ error }, 'unhandled promise rejection'))
    process.on('uncaughtException', (error) => {
      started.log.fatal({ error }, 'uncaught exception, the service ends')
      process.stderr.write(`toolroom: uncaught exception: ${error.stack}\n`)
      void started.close().finally(() => process.exit(70))
    })
    if (signalledAt !== undefined) void end(started)
  }
  return { onStarted, stop }
}

async function end(service: Service): Promise<void> {
  await service.close()
  process.exit(0)
}
