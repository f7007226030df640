import { configError } from '../kernel/exit.ts'
import { type FlagTypes, type GivenFlags, parseFlags, unknownFlag } from './parse-flags.ts'

interface Command {
  readonly does: string
  readonly use: string
  readonly text: readonly string[]
  /** The name of the word that the command takes besides its flags. */
  readonly operand?: string
  /** A flag that is not a switch has a placeholder for its value. */
  readonly flags: Readonly<
    Record<string, FlagTypes[string] & { readonly value?: string; readonly does: string }>
  >
}

const URL_FLAG = {
  type: 'string',
  value: 'URL',
  does: 'Address of the service. Default: read from the data folder.',
} as const

/** All commands except `up`. Separate from the settings: agents wait for `connect`, which must not load them. */
const COMMANDS = {
  status: {
    does: 'Show whether the service is running, and the status of its servers.',
    use: 'status [--json] [--url URL]',
    text: ['Prints the address of the running service and one line per server.'],
    flags: { json: { type: 'boolean', does: 'Print one JSON document instead of text.' }, url: URL_FLAG },
  },
  open: {
    does: 'Open the dashboard, signed in.',
    use: 'open [--no-browser] [--json] [--url URL]',
    text: [
      'Opens the dashboard in a browser if there is one on this computer. Otherwise, prints an address that signs a browser',
      'in. It works once, within a minute.',
    ],
    flags: {
      'no-browser': { type: 'boolean', does: 'Only print the address.' },
      json: { type: 'boolean', does: 'Print one JSON document with the address, and open nothing.' },
      url: URL_FLAG,
    },
  },
  login: {
    does: 'Log in to an HTTP server, in a browser.',
    use: 'login SERVER [--no-browser] [--fresh] [--scopes LIST] [--json] [--url URL]',
    text: [
      'SERVER is the name or the id of an HTTP server, or an unambiguous beginning of one. Prints the address of the login',
      'page, opens it in a browser if there is one on this computer, and waits until the login is finished. If the browser',
      'runs on another computer, paste the address of the page that it cannot open at the end of the login.',
    ],
    operand: 'SERVER',
    flags: {
      'no-browser': { type: 'boolean', does: 'Only print the address.' },
      fresh: { type: 'boolean', does: 'Forget the registration at the issuer first.' },
      scopes: { type: 'string', value: 'LIST', does: 'Ask for these scopes, separated by commas or spaces.' },
      json: { type: 'boolean', does: 'Print one JSON document on stdout; the address goes to stderr.' },
      url: URL_FLAG,
    },
  },
  logout: {
    does: 'Forget the login at an HTTP server, and revoke it.',
    use: 'logout SERVER [--client] [--json] [--url URL]',
    text: ['SERVER is the name or the id of an HTTP server, or an unambiguous beginning of one.'],
    operand: 'SERVER',
    flags: {
      client: { type: 'boolean', does: 'Forget the registration at the issuer too.' },
      json: { type: 'boolean', does: 'Print one JSON document instead of text.' },
      url: URL_FLAG,
    },
  },
  connect: {
    does: 'Connect an agent that supports only stdio servers to the gateway.',
    use: 'connect [--server ID] [--url URL]',
    text: [
      'An MCP server on stdin and stdout that forwards every message to a running Toolroom. Agents start it from the',
      'entry that POST /api/agents/{agent_type}/connect writes. Ends when stdin is closed.',
      '',
      "Environment: TOOLROOM_KEY is the agent's gateway key. TOOLROOM_URL is the same as --url.",
    ],
    flags: { server: { type: 'string', value: 'ID', does: 'Offer only this server.' }, url: URL_FLAG },
  },
} as const satisfies Record<string, Command>
export type CommandName = keyof typeof COMMANDS

const isCommand = (word: string | undefined): word is CommandName =>
  word !== undefined && Object.hasOwn(COMMANDS, word)

/** Undefined for `up` and for unknown commands. `help status` is `status --help`. */
export function commandOf(argv: readonly string[]): { name: CommandName; words: string[] } | undefined {
  const [first, second, ...rest] = argv
  if (isCommand(first)) return { name: first, words: argv.slice(1) }
  return first === 'help' && isCommand(second) ? { name: second, words: ['--help', ...rest] } : undefined
}

export function readCommand(name: CommandName, words: readonly string[]): GivenFlags | 'help' {
  const { flags, operand }: Command = COMMANDS[name]
  const given = parseFlags(words, flags, (word) => unknownFlag(word, name), operand)
  const empty = given === 'help' ? undefined : [...given].find(([, value]) => value === '')
  if (empty) throw configError(`${empty[0] === operand ? operand : `--${empty[0]}`} needs a value`)
  if (given !== 'help' && operand !== undefined && !given.has(operand))
    throw configError(`${operand} is missing; see toolroom ${name} --help`)
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
