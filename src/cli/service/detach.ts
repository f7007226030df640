import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { readConfig } from '../../kernel/config/config.ts'
import { readFlags } from '../../kernel/config/flags.ts'
import { EXIT } from '../../kernel/exit.ts'
import { Failure } from '../run/failure.ts'
import { startDetached } from './start-detached.ts'

/** `toolroom up --detach`: starts the service in the background, and returns when it answers. */
export async function detach(words: readonly string[], mainFile: string): Promise<void> {
  const { stdout, stderr } = process
  const isJson = words.includes('--json')
  const own = words.filter((word) => word !== '--json')
  const config = readConfig({
    flags: readFlags(own),
    platform: { os: process.platform, home: homedir(), env: process.env },
    packageRoot: dirname(dirname(mainFile)),
  })
  try {
    const started = await startDetached(config, mainFile, own)
    const { address, pid, log_file, already_running } = started
    const text = already_running
      ? `Toolroom is already running at ${address} (process ${pid})`
      : `Toolroom is ready at ${address} (process ${pid}, log in ${log_file})`
    stdout.write(`${isJson ? JSON.stringify(started) : text}\n`)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const { code, message, hint, exit } = error
    if (isJson) stdout.write(`${JSON.stringify({ code, detail: message, hint })}\n`)
    stderr.write(`toolroom: ${message}${hint === null ? '' : `. ${hint}`}\n`)
    process.exitCode = EXIT[exit]
  }
}
