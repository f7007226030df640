import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadCompiled } from './cli/code-cache.ts'
import { isStartError, LASTING_EXITS } from './kernel/exit-codes.ts'

type Up = typeof import('./compose/up.ts')
/** The file of the service, which is a separate bundle. The build defines it. */
declare const UP_FILE: string

/** `toolroom` or `toolroom up`, without flags, as a service manager or a script starts it. In a terminal, `toolroom` is more. */
const isService = (argv: readonly string[]): boolean =>
  argv.length === 0 ? !(process.stdout.isTTY && process.stdin.isTTY) : argv.length === 1 && argv[0] === 'up'

/**
 * Loads only the code of the command: a bridge, which agents start often, loads neither the service nor the table, and the
 * service loads no command.
 */
async function main(argv: readonly string[]): Promise<void> {
  const file = fileURLToPath(import.meta.url)
  const startService = (words: readonly string[], options?: { readonly isQuiet: boolean }) =>
    (loadCompiled(join(dirname(file), UP_FILE)) as Up).up(words, file, options)
  if (isService(argv)) return void (await startService([]))
  const isBridge = argv[0] === 'connect'
  if (isBridge && (await import('./cli/bridge/connect.ts')).connect(argv.slice(1), file) !== 'help') return
  const words = isBridge ? ['help', 'connect'] : argv
  return (await import('./cli/dispatch.ts')).dispatch(words, { file, startService })
}

if (process.env.HOME === '') delete process.env.HOME // then the system knows the folder of this user
// The program that reads the output may end; the service continues.
process.stdout.on('error', () => {})
process.stderr.on('error', () => {})

main(process.argv.slice(2)).catch((error: unknown) => {
  const known = isStartError(error)
  process.stderr.write(
    known ? `toolroom: ${error.message}\n` : `toolroom: ${error instanceof Error ? error.stack : error}\n`,
  )
  process.exit(known ? exitCodeFor(error.exitCode) : 70)
})

/** launchd repeats every start that ended with an error. A refusal that lasts ends without one; its sentence is in the log. */
const exitCodeFor = (code: number): number =>
  process.env.TOOLROOM_STARTED_BY === 'launchd' && LASTING_EXITS.includes(code) ? 0 : code
