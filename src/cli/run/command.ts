import type { Run } from './command-context.ts'

export type Group = 'Service' | 'Servers' | 'Tools' | 'Agents' | 'Packages' | 'Watch' | 'Care'

/** What a word or the value of a flag names. Shell completions offer these. */
export type Kind =
  | 'server'
  | 'http-server'
  | 'tool'
  | 'agent'
  | 'package'
  | 'preset'
  | 'secret'
  | 'setting'
  | 'file'

export interface Word {
  /** In capitals, as the help shows it. */
  readonly name: string
  readonly kind?: Kind
  /** The words that are allowed. */
  readonly oneOf?: readonly string[]
  readonly optional?: boolean
  /** The last word may be repeated. */
  readonly many?: boolean
}

export interface Flag {
  readonly does: string
  /** The placeholder for its value. A flag without one is a switch. */
  readonly value?: string
  readonly short?: string
  readonly kind?: Kind
  readonly oneOf?: readonly string[]
  /** May be given several times. Otherwise the last one wins. */
  readonly many?: boolean
}

/** One command. The parser, the help, the completions and docs/cli.md are made from it. */
export interface Command {
  /** One word, or two: `agents show`. */
  readonly name: string
  readonly group: Group
  /** One sentence. */
  readonly does: string
  /** More about it. Lines are broken by the help. */
  readonly text?: string
  readonly words?: readonly Word[]
  /** What may follow `--`, such as `COMMAND`. */
  readonly rest?: string
  readonly flags?: Readonly<Record<string, Flag>>
  /** Changes something: `--dry-run` shows what would happen. */
  readonly writes?: boolean
  /** Asks before it changes something: `--yes` answers. */
  readonly asks?: boolean
  /** Without `toolroom`. At least one. */
  readonly examples: readonly string[]
  /** What the exit codes mean for this command, beyond those that all have. */
  readonly exits?: Readonly<Record<number, string>>
  /** Other words that people type for it. They lead to a suggestion. */
  readonly also?: readonly string[]
  /** Missing for `up` and `connect`: main.ts starts them, they read their words themselves, and have no `--json`. */
  readonly load?: () => Promise<Run>
}

const OUTPUT = {
  json: { does: 'Print one JSON document.' },
  plain: { does: 'Print values separated by tabs.' },
  ascii: { does: 'Print ASCII characters only.' },
  url: { does: 'Address of the service. Default: that of the data folder.', value: 'URL' },
} as const satisfies Record<string, Flag>
export const OUTPUT_FLAGS: Readonly<Record<string, Flag>> = OUTPUT

/** The commands of a group, by name. */
export const commandsOf = (
  group: Group,
  commands: Readonly<Record<string, Omit<Command, 'name' | 'group'>>>,
): Command[] => Object.entries(commands).map(([name, command]) => ({ name, group, ...command }))

/** The flags of a command, with those that many have. */
export function flagsOf({ flags = {}, writes, asks, load }: Command): Record<string, Flag> {
  return {
    ...flags,
    ...((writes || asks) && { 'dry-run': { does: 'Show what would happen, and change nothing.' } }),
    ...(asks && { yes: { does: 'Do not ask.', short: 'y' } }),
    ...(load && OUTPUT),
  }
}
