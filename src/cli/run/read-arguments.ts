import { parseWords } from '../../kernel/config/parse-flags.ts'
import { nearest } from '../../kernel/did-you-mean.ts'
import { isStartError } from '../../kernel/exit-codes.ts'
import { type Command, flagsOf } from './command.ts'
import { Given } from './command-context.ts'
import { usage } from './failure.ts'

/** Reads the words after the name of the command. Throws a sentence that names the first wrong one. */
export function readGiven(
  command: Command,
  argv: readonly string[],
  subcommands: readonly string[],
): Given | 'help' {
  const { name, words = [], rest } = command
  const flags = flagsOf(command)
  const types = Object.fromEntries(
    Object.entries(flags).map(([flag, { value, short }]) => [
      flag,
      { type: value === undefined ? 'boolean' : 'string', ...(short && { short }) } as const,
    ]),
  )
  const help = `see toolroom ${name} --help`
  const unknown = (word: string) => {
    const isFlag = word.startsWith('-')
    const near = nearest(word.replace(/^--?/, ''), isFlag ? Object.keys(flags) : subcommands)
    const meant = near === undefined ? help : `Did you mean '${isFlag ? `--${near}` : `${name} ${near}`}'?`
    return usage(`${isFlag ? 'Unknown flag' : 'Unexpected argument'} '${word}'`, meant)
  }
  const most = words.some(({ many }) => many) ? Number.POSITIVE_INFINITY : words.length
  const parsed = parsedOrUsage(() =>
    parseWords(argv, types, unknown, { words: most, rest: rest !== undefined }),
  )
  if (parsed === 'help') return parsed
  const empty = [...parsed.flags].find(([, values]) => values.includes(''))
  if (empty) throw usage(`--${empty[0]} needs a value`, help)
  for (const [flag, values] of parsed.flags)
    for (const value of values) checkChoice(`--${flag}`, value, flags[flag]?.oneOf)
  words.forEach(({ name: label, optional, oneOf }, at) => {
    const value = parsed.words[at]
    if (value === '' || (value === undefined && !optional)) throw usage(`${label} is missing`, help)
    if (value !== undefined) checkChoice(label, value, oneOf)
  })
  return new Given(parsed, words)
}

function checkChoice(label: string, value: string, oneOf: readonly string[] | undefined): void {
  if (!oneOf || oneOf.includes(value)) return
  throw usage(
    `${label} must be ${new Intl.ListFormat('en', { type: 'disjunction' }).format(oneOf)}, not '${value}'`,
    null,
  )
}

function parsedOrUsage<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw isStartError(error) ? usage(error.message, null) : error
  }
}
