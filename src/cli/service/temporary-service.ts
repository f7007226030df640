import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Failure } from '../frame/failure.ts'

const READY_MS = 60_000
const MAX_CHARS = 65_536
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** How the names of its folders begin. */
export const TEMPORARY = 'toolroom-temporary-'

/** A service with an empty data folder of its own, for commands that only read agents' files. */
export interface TemporaryService {
  readonly address: string
  readonly token: string
  readonly folder: string
  readonly close: () => Promise<void>
}

/** Starts it. It registers nothing, checks nothing and leaves nothing behind, even if a signal ends this process. */
export async function openTemporaryService(mainFile: string): Promise<TemporaryService> {
  const home = mkdtempSync(join(tmpdir(), TEMPORARY))
  const token = randomBytes(32).toString('hex')
  const child = spawn(process.execPath, [mainFile, 'up', '--port', '0', '--host', '127.0.0.1'], {
    env: {
      ...process.env,
      TOOLROOM_HOME: home,
      TOOLROOM_SECRET_KEY: randomBytes(32).toString('hex'),
      AUTH_TOKEN: token,
      HTTP_CHECK_INTERVAL_S: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  const removeFolder = () => rmSync(home, { recursive: true, force: true, maxRetries: 10 })
  /** It has no state that a kill could damage, and its helper ends what it has started. */
  const end = () => {
    child.kill('SIGKILL')
    removeFolder()
  }
  const abort = (signal: NodeJS.Signals) => process.exit(128 + constants.signals[signal])
  process.on('exit', end)
  for (const signal of SIGNALS) process.on(signal, abort)
  const close = async () => {
    if (child.kill('SIGTERM')) await exited
    removeFolder()
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
    const fail = (why: string) =>
      reject(new Failure('failed', `The files of agents cannot be read: ${why}`, null))
    child.once('error', ({ message }) => fail(message))
    child.once('exit', () => fail(output.trim().split('\n').at(-1) ?? 'the service ended'))
    setTimeout(() => fail('the service did not start in time'), READY_MS).unref()
  })
  try {
    return { address: await ready, token, folder: home, close }
  } catch (error) {
    await close()
    throw error
  }
}
