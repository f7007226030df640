import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadCompiled } from './cli/compiled.ts'
import { commandOf } from './config/commands.ts'
import { isStartError } from './kernel/exit.ts'

type Up = typeof import('./compose/up.ts')
/** The file of the service, which is a separate bundle. The build defines it. */
declare const UP_FILE: string

/** Loads only the code of the command: a bridge, which agents start often, does not load the service. */
async function main(argv: readonly string[]): Promise<void> {
  const mainFile = fileURLToPath(import.meta.url)
  const { name, words } = commandOf(argv) ?? { name: 'up', words: argv }
  switch (name) {
    case 'status':
      return (await import('./cli/status.ts')).status(words, mainFile)
    case 'open':
      return (await import('./cli/open.ts')).open(words, mainFile)
    case 'login':
      return (await import('./cli/login.ts')).login(words, mainFile)
    case 'logout':
      return (await import('./cli/login.ts')).logout(words, mainFile)
    case 'connect':
      return (await import('./cli/connect.ts')).connect(words)
    case 'up':
      return (loadCompiled(join(dirname(mainFile), UP_FILE)) as Up).up(words, mainFile)
  }
}

// The program that reads the output may end; the service continues.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

main(process.argv.slice(2)).catch((error: unknown) => {
  const known = isStartError(error)
  process.stderr.write(
    known ? `toolroom: ${error.message}\n` : `toolroom: ${error instanceof Error ? error.stack : error}\n`,
  )
  process.exit(known ? error.exitCode : 70)
})
