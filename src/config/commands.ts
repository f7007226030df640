import { StartError } from '../kernel/exit.ts'

interface Command {
  readonly does: string
  /** What follows the name in the line of use, and the text below it. */
  readonly use: string
  readonly text: readonly string[]
  /** Each with the name of its value; without one it is a switch. */
  readonly flags: Readonly<Record<string, { readonly value?: string; readonly does: string }>>
}

const URL_FLAG = { value: 'URL', does: 'Where Toolroom answers, instead of looking in the data folder.' }

/** Each command beside `up`. Apart from the settings, because an agent starts `connect` often and waits for it. */
const COMMANDS = {
  status: {
    does: 'Say whether it runs, and how its servers are.',
    use: 'status [--json] [--url URL]',
    text: ['Prints the address of the running service and one line for each server.'],
    flags: { '--json': { does: 'One JSON document instead of lines for people.' }, '--url': URL_FLAG },
  },
  connect: {
    does: 'Bridge an agent that takes only local commands to the gateway.',
    use: 'connect [--server ID] [--url URL]',
    text: [
      'Speaks MCP on its input and output, and hands every message on to a running Toolroom. An agent starts it; the',
      'entry is written by POST /api/agents/{agent_type}/connect. Ends with its input.',
      '',
      'Environment: TOOLROOM_KEY is the key of the agent. TOOLROOM_URL means the same as --url.',
    ],
    flags: { '--server': { value: 'ID', does: 'One server instead of all.' }, '--url': URL_FLAG },
  },
} as const satisfies Record<string, Command>
export type CommandName = keyof typeof COMMANDS

/** What was given to a command: a text for each flag, `''` for a switch. */
export type Given = Readonly<Partial<Record<string, string>>>

const isCommand = (word: string | undefined): word is CommandName =>
  word !== undefined && Object.hasOwn(COMMANDS, word)

/** Undefined for what is none of them: then it is `up`, or nothing that we know. `help status` is `status --help`. */
export function commandOf(argv: readonly string[]): { name: CommandName; words: string[] } | undefined {
  const [first, second, ...rest] = argv
  if (isCommand(first)) return { name: first, words: argv.slice(1) }
  return first === 'help' && isCommand(second) ? { name: second, words: ['--help', ...rest] } : undefined
}

export function readCommand(name: CommandName, words: readonly string[]): Given | 'help' {
  const { flags }: Command = COMMANDS[name]
  const given: Record<string, string> = {}
  const rest = [...words]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word === '--help' || word === '-h') return 'help'
    const at = word.startsWith('--') ? word.indexOf('=') : -1
    const flag = at < 0 ? word : word.slice(0, at)
    const known = Object.hasOwn(flags, flag) ? flags[flag] : undefined
    if (!known || (known.value === undefined && at >= 0)) throw unknown(name, word)
    const value = at < 0 ? undefined : word.slice(at + 1)
    given[flag] = known.value === undefined ? '' : (value ?? rest.shift() ?? '')
    if (known.value !== undefined && given[flag] === '')
      throw new StartError('configuration', `${flag} needs a value`)
  }
  return given
}

function unknown(name: CommandName, word: string): StartError {
  const sentence = `${name} knows no '${word}'; toolroom ${name} --help lists what there is`
  return new StartError('configuration', sentence)
}

export function commandHelp(name: CommandName): string {
  const { use, text, flags }: Command = COMMANDS[name]
  const rows = Object.entries(flags).map(([flag, { value, does }]) =>
    row(value ? `${flag} ${value}` : flag, does),
  )
  return [`Usage: toolroom ${use}`, '', ...text, '', ...rows].join('\n')
}

export const commandRows = (): string[] => Object.entries(COMMANDS).map(([name, { does }]) => row(name, does))

/** One line of a table in a help text. */
export const row = (label: string, does: string): string => `  ${label.padEnd(32)} ${does}`.trimEnd()
