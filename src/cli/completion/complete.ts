import { homedir } from 'node:os'
import { runningInstance } from '../../kernel/config/find-running-instance.ts'
import { foldersOf } from '../../kernel/config/paths.ts'
import type { Command } from '../run/command.ts'
import { cachedNames, candidates } from './candidates.ts'

const REFRESH = '--refresh'

/**
 * `toolroom __complete =CURRENT WORD...`: what the shells ask for. Reads only the cache, so that a key press is answered at
 * once, also without the service. Another process asks the service for the names of the next time.
 */
export async function complete(argv: readonly string[], mainFile: string): Promise<void> {
  if (argv[0] === REFRESH) {
    const { runCommand } = await import('../run/run-command.ts')
    return void (await runCommand(REFRESH_NAMES, [], { file: mainFile, typed: (text) => text }))
  }
  const [current = '', ...before] = argv
  const { data } = foldersOf(
    { os: process.platform, home: homedir(), env: process.env },
    process.env.TOOLROOM_HOME || undefined,
  )
  const { names, isFresh } = cachedNames(data)
  const found = candidates(current.replace(/^=/, ''), before, names)
  // A name is one line. Nothing that a server calls its tools may do more in a shell.
  const shown = found.filter((name) => /^[\w@./:,-]+$/.test(name))
  process.stdout.write(shown.map((name) => `${name}\n`).join(''))
  if (!isFresh && runningInstance(data)) startApart([mainFile, '__complete', REFRESH])
}

/** Starts this program once more, without waiting for it. Most completions do not need node:child_process. */
function startApart(argv: readonly string[]): void {
  const { spawn } = process.getBuiltinModule('node:child_process')
  spawn(process.execPath, argv, { stdio: 'ignore', detached: true }).unref()
}

const REFRESH_NAMES: Command = {
  name: '__complete',
  group: 'Care',
  does: 'Ask the service for the names that shells complete.',
  examples: [],
  load: async () => (await import('./refresh-names.ts')).refreshNames,
}
