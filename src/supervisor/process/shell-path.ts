import { isAbsolute } from 'node:path'
import type { Command, Finished } from './run-command.ts'

/** A line before the environment: a profile may print anything. */
const BEGIN = 'toolroom-environment'
/** A profile that waits for an answer must not keep the caller waiting. */
const TIMEOUT_MS = 5000

/**
 * The PATH in the user's login shell. Programs such as nvm extend it in files that only a shell reads, so a service or an
 * app that was started from a desktop does not have it. Undefined without a shell, or if it does not answer in time.
 */
export async function shellPath(
  run: (command: Command) => Promise<Finished>,
  { SHELL: shell = '' }: Readonly<Record<string, string | undefined>> = process.env,
): Promise<string | undefined> {
  if (process.platform === 'win32' || !isAbsolute(shell)) return undefined
  let hasBegun = false
  let path: string | undefined
  const onLine: Command['onLine'] = (stream, text) => {
    if (stream !== 'stdout') return
    if (text === BEGIN) hasBegun = true
    else if (hasBegun && text.startsWith('PATH=')) path = text.slice('PATH='.length)
  }
  // `env` prints the variables alike in every shell.
  const args = ['-l', '-i', '-c', `echo ${BEGIN}; env`]
  try {
    await run({ command: shell, args, env: {}, timeoutMs: TIMEOUT_MS, onLine })
  } catch {
    return undefined // the shell does not exist
  }
  return path
}
