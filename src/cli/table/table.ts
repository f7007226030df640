import { nearest } from '../../kernel/did-you-mean.ts'
import type { Command } from '../run/command.ts'
import { AGENTS_TABLE } from './agents.ts'
import { DATA } from './data.ts'
import { PACKAGES } from './packages.ts'
import { SERVERS_TABLE } from './servers.ts'
import { SERVICE } from './service.ts'
import { TOOLS } from './tools.ts'
import { WATCH } from './watch.ts'

/** All commands. */
export const COMMANDS: readonly Command[] = [
  ...SERVICE,
  ...SERVERS_TABLE,
  ...TOOLS,
  ...AGENTS_TABLE,
  ...PACKAGES,
  ...WATCH,
  ...DATA,
]

/** The command that these words begin with, and the words after its name. */
export function findCommand(
  argv: readonly string[],
): { command: Command; words: readonly string[] } | undefined {
  for (const length of [2, 1]) {
    const name = argv.slice(0, length).join(' ')
    const command = argv.length >= length ? COMMANDS.find((one) => one.name === name) : undefined
    if (command) return { command, words: argv.slice(length) }
  }
  return undefined
}

/** The second words of commands that begin with this one: `show` of `agents show`. */
export const subcommandsOf = (name: string): string[] =>
  COMMANDS.flatMap((command) =>
    command.name.startsWith(`${name} `) ? [command.name.slice(name.length + 1)] : [],
  )

/** The command that was probably meant. */
export function nearestCommand(word: string): string | undefined {
  const other = COMMANDS.find(({ also }) => also?.includes(word))
  return other?.name ?? nearest(word, new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? '')))
}
