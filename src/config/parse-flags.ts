import { parseArgs } from 'node:util'
import { configError, type StartError } from '../kernel/exit.ts'

/** By name without the dashes. */
export type FlagTypes = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly short?: string }>
>
/** The text of each flag that was given. A switch is `true` or `false`. */
export type GivenFlags = ReadonlyMap<string, string>

/**
 * Reads `--flag value`, `--flag=value`, `--switch`, `--switch false` and `--help`, and one word without dashes if `operand`
 * names it. If a flag is given twice, the last one wins. Throws one sentence that names the first wrong word.
 */
export function parseFlags(
  argv: readonly string[],
  flags: FlagTypes,
  unknown: (word: string) => StartError,
  operand?: string,
): GivenFlags | 'help' {
  const options: FlagTypes = { ...flags, help: { type: 'boolean', short: 'h' } }
  const { tokens } = parseArgs({ args: [...argv], options, strict: false, tokens: true })
  const given = new Map<string, string>()
  let bareSwitch = ''
  for (const token of tokens) {
    if (token.kind === 'option') {
      const { name, rawName, value } = token
      const type = Object.hasOwn(options, name) ? options[name]?.type : undefined
      if (type === undefined) throw unknown(rawName)
      if (name === 'help') return 'help'
      if (type === 'string' && value === undefined) throw configError(`${rawName} needs a value`)
      if (type === 'boolean' && !isBoolean(value ?? 'true'))
        throw configError(`${rawName} must be true or false, not ${JSON.stringify(value)}`)
      given.set(name, value ?? 'true')
      bareSwitch = value === undefined ? name : ''
    } else if (token.kind === 'positional' && bareSwitch && isBoolean(token.value)) {
      given.set(bareSwitch, token.value)
      bareSwitch = ''
    } else if (token.kind === 'positional' && token.value === 'help') return 'help'
    else if (token.kind === 'positional' && operand !== undefined && !given.has(operand))
      given.set(operand, token.value)
    else throw unknown(argv[token.index] ?? '')
  }
  return given
}

const isBoolean = (text: string): boolean => text === 'true' || text === 'false'

export function unknownFlag(word: string, command?: string): StartError {
  const kind = word.startsWith('-') ? 'Unknown flag' : command ? 'Unexpected argument' : 'Unknown command'
  const help = ['toolroom', command, '--help'].filter((part) => part).join(' ')
  return configError(`${kind} '${word}'; see ${help}`)
}
