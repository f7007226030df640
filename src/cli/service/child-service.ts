import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
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
