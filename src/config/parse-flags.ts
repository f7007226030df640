import { parseArgs } from 'node:util'
import { StartError } from '../kernel/exit.ts'

/** By name without the dashes. */
export type FlagTypes = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly short?: string }>
>
/** The text of each flag that was given. A switch is `true` or `false`. */
export type GivenFlags = ReadonlyMap<string, string>

/**
 * Reads `--flag value`, `--flag=value`, `--switch`, `--switch false` and `--help`. The last of two equal flags wins.
 * Throws one sentence that names the first wrong word.
 */
export function parseFlags(
  argv: readonly string[],
  flags: FlagTypes,
  unknown: (word: string) => StartError,
): GivenFlags | 'help' {
  const options: FlagTypes = { ...flags, help: { type: 'boolean', short: 'h' } }
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true })
  const given = new Map<string, string>()
  let bareSwitch: string | undefined
  for (const token of tokens) {
    if (token.kind === 'positional' && bareSwitch !== undefined && isBoolean(token.value)) {
      given.set(bareSwitch, token.value)
      bareSwitch = undefined
      continue
    }
    if (token.kind !== 'option') {
      if (token.kind === 'positional' && token.value === 'help') return 'help'
      throw unknown(token.kind === 'positional' ? token.value : '--')
    }
    const { name, rawName, value } = token
    const type = Object.hasOwn(options, name) ? options[name]?.type : undefined
    if (type === undefined) throw unknown(rawName)
    if (name === 'help') return 'help'
    if (type === 'string' && value === undefined)
      throw new StartError('configuration', `${rawName} needs a value`)
    if (type === 'boolean' && value !== undefined && !isBoolean(value))
      throw new StartError('configuration', `${rawName} must be true or false, not ${JSON.stringify(value)}`)
    given.set(name, value ?? 'true')
    bareSwitch = type === 'boolean' && value === undefined ? name : undefined
  }
  return given
}

const isBoolean = (text: string): boolean => text === 'true' || text === 'false'

export function unknownFlag(word: string, command?: string): StartError {
  const kind = word.startsWith('-') ? 'Unknown flag' : command ? 'Unexpected argument' : 'Unknown command'
  const help = ['toolroom', command, '--help'].filter((part) => part).join(' ')
  return new StartError('configuration', `${kind} '${word}'; see ${help}`)
}
