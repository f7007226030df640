import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../run/failure.ts'

const READY_MS = 60_000
const MAX_CHARS = 65_536
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** A service that runs for one command, on a port of its own, and ends with it. */
export interface ChildService {
  readonly address: string
  readonly close: () => Promise<void>
}

interface Options {
  readonly mainFile: string
  readonly flags?: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Asks it to end. Windows has no signal for that. Default: SIGTERM. */
  readonly askToEnd?: () => Promise<unknown>
  /** How it ends if this process ends before `close`. */
  readonly endsBy: 'SIGTERM' | 'SIGKILL'
  /** Runs when the process is told to end, or has ended. */
  readonly onEnd?: () => void
  /** What cannot be done without it, as a sentence. */
  readonly cannot: string
}

/** Starts it. A signal to this process ends it, too. */
export async function openChildService(options: Options): Promise<ChildService> {
  const { mainFile, flags = [], env, endsBy, onEnd = () => {}, cannot } = options
  const args = [mainFile, 'up', '--port', '0', '--host', '127.0.0.1', ...flags]
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  const { askToEnd = async () => child.kill('SIGTERM') } = options
  const end = () => {
    child.kill(endsBy)
    onEnd()
  }
  const abort = (signal: NodeJS.Signals) => process.exit(128 + constants.signals[signal])
  process.on('exit', end)
  for (const signal of SIGNALS) process.on(signal, abort)
  const close = async () => {
    const { pid, exitCode, signalCode } = child
    if (pid !== undefined && exitCode === null && signalCode === null) {
      await askToEnd().catch(() => child.kill('SIGTERM'))
      await exited
    }
    onEnd()
    process.off('exit', end)
    for (const signal of SIGNALS) process.off(signal, abort)
  }
  let output = ''
  const ready = new Promise<string>((resolve, reject) => {
    const read = (text: string) => {
      output = (output + text).slice(-MAX_CHARS)
      const found = /ready at (http:\S+)/.exec(output)?.[1]
      if (found) resolve(found)
    }
    child.stdout.setEncoding('utf8').on('data', read)
    child.stderr.setEncoding('utf8').on('data', read)
    const fail = (why: string) => reject(new Failure('failed', `${cannot}: ${why}`, null))
    child.once('error', ({ message }) => fail(message))
    child.once('exit', () => fail(output.trim().split('\n').at(-1) || 'the service ended'))
    setTimeout(() => fail('the service did not start in time'), READY_MS).unref()
  })
  try {
    return { address: await ready, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** How the names of its folders begin. */
export const TEMPORARY = 'toolroom-temporary-'

/** A service with an empty data folder of its own, for commands that only read agents' files. */
export interface TemporaryService extends ChildService {
  readonly token: string
  readonly folder: string
}

/** Starts it. It registers nothing, checks nothing and leaves nothing behind, even if a signal ends this process. */
export async function openTemporaryService(mainFile: string): Promise<TemporaryService> {
  const folder = mkdtempSync(join(tmpdir(), TEMPORARY))
  const token = randomBytes(32).toString('hex')
  const service = await openChildService({
    mainFile,
    env: {
      ...process.env,
      TOOLROOM_HOME: folder,
      TOOLROOM_SECRET_KEY: randomBytes(32).toString('hex'),
      AUTH_TOKEN: token,
      HTTP_CHECK_INTERVAL_S: '0',
    },
    endsBy: 'SIGKILL', // it has no state that a kill could damage, and its helper ends what it has started
    onEnd: () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }),
    cannot: 'The files of agents cannot be read',
  })
  return { ...service, token, folder }
}
