import { parseArgs } from 'node:util'
import { configError } from '../exit-codes.ts'

/** By name without the dashes. */
export type FlagTypes = Readonly<
  Record<string, { readonly type: 'string' | 'boolean'; readonly short?: string }>
>

/** The words of a command line. */
export interface ParsedWords {
  /** The values of each flag that was given, in their order. Those of a switch are `true` or `false`. */
  readonly flags: ReadonlyMap<string, readonly string[]>
  /** The words without dashes. */
  readonly words: readonly string[]
  /** What follows `--`; undefined without it. */
  readonly rest: readonly string[] | undefined
}

interface Allowed {
  /** How many words without dashes there may be. */
  readonly words: number
  /** Whether `--` may be followed by anything. */
  readonly rest: boolean
}

/**
 * Reads `--flag value`, `--flag=value`, `--switch` and `--help`. Without words, `help` is `--help`, and a switch may be
 * followed by `true` or `false`. Throws one sentence that names the first wrong word.
 */
export function parseWords(
  argv: readonly string[],
  flags: FlagTypes,
  unknown: (word: string) => Error,
  allowed: Allowed = { words: 0, rest: false },
): ParsedWords | 'help' {
  const options: FlagTypes = { ...flags, help: { type: 'boolean', short: 'h' } }
  const end = argv.indexOf('--')
  const before = end === -1 || !allowed.rest ? argv : argv.slice(0, end)
  const { tokens } = parseArgs({ args: [...before], options, strict: false, tokens: true })
  const given = new Map<string, string[]>()
  const words: string[] = []
  const add = (name: string, value: string) => given.set(name, [...(given.get(name) ?? []), value])
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
      add(name, value ?? 'true')
      bareSwitch = value === undefined && allowed.words === 0 ? name : ''
    } else if (token.kind === 'positional' && bareSwitch && isBoolean(token.value)) {
      add(bareSwitch, token.value)
      bareSwitch = ''
    } else if (token.kind === 'positional' && allowed.words === 0 && token.value === 'help') return 'help'
    else if (token.kind === 'positional' && words.length < allowed.words) words.push(token.value)
    else throw unknown(before[token.index] ?? '')
  }
  return { flags: given, words, rest: before === argv ? undefined : argv.slice(end + 1) }
}

const isBoolean = (text: string): boolean => text === 'true' || text === 'false'
