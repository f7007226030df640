import { nearest } from '../../kernel/did-you-mean.ts'
import type { Command } from '../run/command.ts'
import { AGENT_COMMANDS } from './agent-commands.ts'
import { DATA_COMMANDS } from './data-commands.ts'
import { PACKAGE_COMMANDS } from './package-commands.ts'
import { ORPHAN_COMMANDS, SERVER_COMMANDS } from './server-commands.ts'
import { DOCTOR_COMMANDS, PROGRAM_COMMANDS, SERVICE_COMMANDS } from './service-commands.ts'
import { TOOL_COMMANDS } from './tool-commands.ts'
import { WATCH_COMMANDS } from './watch-commands.ts'

/** All commands. The help lists those of a group in this order. */
export const COMMANDS: readonly Command[] = [
  ...SERVICE_COMMANDS,
  ...SERVER_COMMANDS,
  ...TOOL_COMMANDS,
  ...AGENT_COMMANDS,
  ...PACKAGE_COMMANDS,
  ...WATCH_COMMANDS,
  ...DOCTOR_COMMANDS,
  ...ORPHAN_COMMANDS,
  ...DATA_COMMANDS,
  ...PROGRAM_COMMANDS,
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
