import { homedir } from 'node:os'
import { asTyped, programName } from '../kernel/config/program-name.ts'
import { EXIT } from '../kernel/exit-codes.ts'
import { VERSION } from '../kernel/version.ts'
import { COMMANDS, findCommand, nearestCommand, subcommandsOf } from './commands/all-commands.ts'
import { WELCOME } from './commands/service-commands.ts'

interface Main {
  readonly file: string
  /** Runs the service in this process. Resolves with `help` if that is what the words ask for. */
  readonly startService: (
    words: readonly string[],
    options?: { readonly isQuiet: boolean },
  ) => Promise<'help' | undefined>
}

const FIRST_WORDS = [...new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''))]

/** Texts with commands as they are typed on this computer. Where the program is, is found out when a text needs it. */
function typedWith(file: string): (text: string) => string {
  let name: string | undefined
  const program = () => (name ??= programName({ mainFile: file, home: homedir() }))
  return (text) => asTyped(text, program, FIRST_WORDS)
}

const print = (text: string) => void process.stdout.write(`${text}\n`)

/** Finds the command and runs it. Loads the code of that command only. Flags without a command are those of `up`. */
export async function dispatch(argv: readonly string[], { file, startService }: Main): Promise<void> {
  const [first = ''] = argv
  if (['--help', '-h', 'help'].includes(first)) return help(argv.slice(1), file)
  if (['--version', '-v'].includes(first)) return print(VERSION)
  if (first === '__complete') return (await import('./completion/complete.ts')).complete(argv.slice(1), file)
  if (argv.length === 0 && process.stdin.isTTY && process.stdout.isTTY) return welcome({ file, startService })
  if (argv.length === 0 || first.startsWith('-')) return up(argv, { file, startService })
  const found = findCommand(argv)
  if (!found) return isHelp(argv[1]) ? help([first], file) : refuse(argv, file)
  const { command, words } = found
  if (command.name === 'up') return up(words, { file, startService })
  const { runCommand } = await import('./run/run-command.ts')
  const main = { file, typed: typedWith(file) }
  if ((await runCommand(command, words, main, subcommandsOf(command.name))) === 'help') await help(argv, file)
}

/** The service runs in this process unless one is running already. */
async function welcome({ file, startService }: Main): Promise<void> {
  const { isRunning, runCommand } = await import('./run/run-command.ts')
  if (!isRunning(file)) await startService([], { isQuiet: true })
  await runCommand(WELCOME, [], { file, typed: typedWith(file) })
}

async function up(words: readonly string[], { file, startService }: Main): Promise<void> {
  const asksForHelp = words.some(isHelp)
  const others = words.filter((word) => word !== '--detach' && word !== '-d')
  if (others.length < words.length && !asksForHelp)
    return (await import('./service/detach-keep-running.ts')).detach(others, file)
  const own = words.filter((word) => word !== '--restart-after-crash')
  if (own.length < words.length && !asksForHelp)
    return (await import('./service/detach-keep-running.ts')).keepRunning(own, file)
  if ((await startService(words)) === 'help') await help(['up'], file)
}

async function help(words: readonly string[], file: string): Promise<void> {
  const [first] = words
  const found = findCommand(words)
  const isPage =
    first === undefined || first.startsWith('-') || ['all', 'settings', 'isolation'].includes(first)
  const isNoun = words.length === 1 && first !== undefined && subcommandsOf(first).length > 0
  if (!isPage && !found && !isNoun) return refuse(words, file)
  const { helpText } = await import('./commands/help-text.ts')
  print(typedWith(file)(helpText(found?.command ?? first)))
}

const isHelp = (word: string | undefined): boolean => word === '--help' || word === '-h'

/** An unknown command, or the first word of one without its second. */
function refuse(argv: readonly string[], file: string): void {
  const [first = '', second] = argv
  const seconds = subcommandsOf(first)
  const near = nearestCommand(first)
  const detail =
    seconds.length === 0
      ? `Unknown command '${first}'`
      : `toolroom ${first} needs one of ${seconds.join(', ')}${second === undefined || second.startsWith('-') ? '' : `, not '${second}'`}`
  const hint = typedWith(file)(
    seconds.length === 0 && near !== undefined ? `Did you mean '${near}'?` : 'See toolroom --help',
  )
  if (argv.includes('--json')) print(JSON.stringify({ code: 'usage', detail, hint }))
  process.stderr.write(`toolroom: ${detail}. ${hint}\n`)
  process.exitCode = EXIT.usage
}
