import { StartError } from '../kernel/exit.ts'
import { type FlagTypes, type GivenFlags, parseFlags, unknownFlag } from './parse-flags.ts'

interface Command {
  readonly does: string
  /** What follows the name in the line of use, and the text below it. */
  readonly use: string
  readonly text: readonly string[]
  /** A flag that is not a switch has a placeholder for its value. */
  readonly flags: Readonly<
    Record<string, FlagTypes[string] & { readonly value?: string; readonly does: string }>
  >
}

const URL_FLAG = {
  type: 'string',
  value: 'URL',
  does: 'Where Toolroom answers, instead of looking in the data folder.',
} as const

/** Each command beside `up`. Apart from the settings, because an agent starts `connect` often and waits for it. */
const COMMANDS = {
  status: {
    does: 'Say whether it runs, and how its servers are.',
    use: 'status [--json] [--url URL]',
    text: ['Prints the address of the running service and one line for each server.'],
    flags: { json: { type: 'boolean', does: 'Print one JSON document instead of text.' }, url: URL_FLAG },
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
    flags: { server: { type: 'string', value: 'ID', does: 'One server instead of all.' }, url: URL_FLAG },
  },
} as const satisfies Record<string, Command>
export type CommandName = keyof typeof COMMANDS

const isCommand = (word: string | undefined): word is CommandName =>
  word !== undefined && Object.hasOwn(COMMANDS, word)

/** Undefined for what is none of them: then it is `up`, or nothing that we know. `help status` is `status --help`. */
export function commandOf(argv: readonly string[]): { name: CommandName; words: string[] } | undefined {
  const [first, second, ...rest] = argv
  if (isCommand(first)) return { name: first, words: argv.slice(1) }
  return first === 'help' && isCommand(second) ? { name: second, words: ['--help', ...rest] } : undefined
}

export function readCommand(name: CommandName, words: readonly string[]): GivenFlags | 'help' {
  const given = parseFlags(words, COMMANDS[name].flags, (word) => unknownFlag(word, name))
  const empty = given === 'help' ? undefined : [...given].find(([, value]) => value === '')
  if (empty) throw new StartError('configuration', `--${empty[0]} needs a value`)
  return given
}

export function commandHelp(name: CommandName): string {
  const { use, text, flags }: Command = COMMANDS[name]
  const rows = Object.entries(flags).map(([flag, { value, does }]) =>
    row(value ? `--${flag} ${value}` : `--${flag}`, does),
  )
  return [`Usage: toolroom ${use}`, '', ...text, '', ...rows].join('\n')
}

export const commandRows = (): string[] => Object.entries(COMMANDS).map(([name, { does }]) => row(name, does))

/** One line of a table in a help text. */
export const row = (label: string, does: string): string => `  ${label.padEnd(32)} ${does}`.trimEnd()
