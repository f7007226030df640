import { settingRows } from '../../kernel/config/settings.ts'
import { type Command, type Flag, flagsOf, type Group, OUTPUT_FLAGS, type Word } from '../run/command.ts'
import { ISOLATION_FLAGS, ISOLATION_PAGE } from '../servers/isolation-flags.ts'
import { COMMANDS, subcommandsOf } from './all-commands.ts'

const WIDTH = 79
/** A usage with more flags than these does not list them: they follow below. */
const MOST_FLAGS = 10
export const GROUPS: readonly Group[] = ['Service', 'Servers', 'Tools', 'Agents', 'Packages', 'Watch', 'Care']

/** The help for a command, for the first word of several, for `all`, `settings` or `isolation`, or the overview. */
export function helpText(subject: Command | string | undefined): string {
  if (typeof subject === 'object') return commandHelp(subject)
  if (subject === 'all') return allCommands()
  if (subject === 'isolation') return ISOLATION_PAGE
  if (subject !== undefined && subcommandsOf(subject).length > 0) return nounHelp(subject)
  if (subject !== 'settings') return overview()
  const rows = settingRows().map(([label, does]) => `  ${label.padEnd(32)} ${does}`.trimEnd())
  return rows.join('\n')
}

/** `toolroom --help`: the names of all commands, by group. */
export function overview(): string {
  const groups = GROUPS.flatMap((group) => {
    const names = new Set(
      COMMANDS.filter((one) => one.group === group).map(({ name }) => name.split(' ')[0] ?? ''),
    )
    return names.size === 0 ? [] : wrapped([...names].join(' '), group.padEnd(10), ' '.repeat(10))
  })
  return [
    'Usage: toolroom [COMMAND] [FLAGS]',
    '',
    'Without a command, starts the service, shows what was found and opens the',
    'dashboard. Changes nothing.',
    '',
    ...groups,
    '',
    'toolroom COMMAND --help   what it does, its flags and an example',
    'toolroom help all         one line for each command',
    'toolroom help settings    every setting of the service',
    'toolroom help isolation   where a server runs, and what it may reach there',
    '',
    'Example: toolroom ls',
  ].join('\n')
}

/** `toolroom service --help`: the commands that begin with this word. */
function nounHelp(noun: string): string {
  const rows = COMMANDS.filter(({ name }) => name.startsWith(`${noun} `))
  const width = Math.max(...rows.map(({ name }) => name.length)) + 4
  return [
    `Usage: toolroom ${noun} ${subcommandsOf(noun).join('|')} [FLAGS]`,
    '',
    ...rows.flatMap(({ name, does }) => wrapped(does, `  ${name}`.padEnd(width), ' '.repeat(width))),
    '',
    `toolroom ${noun} COMMAND --help   what it does, its flags and an example`,
  ].join('\n')
}

/** `toolroom help all`. */
export const allCommands = (): string =>
  GROUPS.flatMap((group) => {
    const rows = COMMANDS.filter((one) => one.group === group)
    return rows.length === 0
      ? []
      : [
          '',
          group,
          ...rows.flatMap(({ name, does }) => wrapped(does, `  ${name}`.padEnd(20), ' '.repeat(20))),
        ]
  })
    .slice(1)
    .join('\n')

/** `toolroom COMMAND --help`: fits a terminal of 80 columns and 24 lines. */
export function commandHelp(command: Command): string {
  const { name, does, text, examples, exits = {} } = command
  const own = Object.entries(flagsOf(command)).filter(
    ([flag, given]) => OUTPUT_FLAGS[flag] !== given && !isOfIsolation(flag, given),
  )
  const isolation = Object.entries(flagsOf(command)).flatMap(([flag, given]) =>
    isOfIsolation(flag, given) ? [`[${flagLabel(flag, given)}]`] : [],
  )
  const labels = own.map(([flag, given]) => `  ${flagLabel(flag, given)}`)
  const room = Math.max(0, ...labels.map((label) => label.length)) + 2
  const subcommands = subcommandsOf(name)
  const codes = Object.entries(exits).map(([code, meaning]) => `${code} ${meaning}`)
  return [
    does,
    '',
    ...wrapped(usageOf(command), 'Usage: ', '       '),
    ...(text === undefined ? [] : ['', ...wrapped(text)]),
    ...(own.length === 0 && !command.load ? [] : ['']),
    ...own.flatMap(([, flag], at) => wrapped(flag.does, (labels[at] ?? '').padEnd(room), ' '.repeat(room))),
    ...(isolation.length === 0 ? [] : isolationLines(isolation)),
    ...(command.load ? [`  --json --plain --ascii --url URL   as for every command`] : []),
    ...(subcommands.length === 0 ? [] : ['', ...wrapped(subcommands.join(', '), 'Also: ', '      ')]),
    ...(codes.length === 0 ? [] : ['', ...wrapped(codes.join(', '), 'Exit codes: ', '  ')]),
    '',
    ...examples.map((example, at) => `${at === 0 ? 'Example: ' : '         '}toolroom ${example}`),
  ].join('\n')
}

/** `toolroom start SERVER... [--all]` */
export function usageOf(command: Command): string {
  const { name, words = [], rest } = command
  const flags = Object.entries(flagsOf(command)).flatMap(([flag, given]) =>
    OUTPUT_FLAGS[flag] === given ? [] : [`[${flagLabel(flag, given)}]`],
  )
  const shown = flags.length > MOST_FLAGS ? ['[FLAGS]'] : flags
  return [
    'toolroom',
    name,
    ...words.map(wordLabel),
    ...shown,
    ...(rest === undefined ? [] : [`[-- ${rest}...]`]),
  ].join(' ')
}

const isOfIsolation = (name: string, flag: Flag): boolean =>
  Object.entries(ISOLATION_FLAGS).some(([each, given]) => each === name && given === flag)

/** In few lines: `toolroom help isolation` explains them. */
const isolationLines = (labels: readonly string[]): string[] =>
  wrapped(`${labels.join(' ')} [see toolroom help isolation]`, '  ', '  ').map((line) =>
    line.replace(/\[([^\]]*)\]/g, '$1').replace(' see toolroom', '   see toolroom'),
  )

function wordLabel({ name, oneOf, optional, many }: Word): string {
  const label = `${oneOf?.join('|') ?? name}${many ? '...' : ''}`
  return optional ? `[${label}]` : label
}

const flagLabel = (name: string, { value, short }: { value?: string; short?: string }): string =>
  `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`

/** Breaks a text between words. A flag in brackets stays in one piece. */
function wrapped(text: string, first = '', indent = ''): string[] {
  const lines: string[] = []
  let line = first
  for (const word of text.match(/\[[^\]]*\]|\S+/g) ?? []) {
    const isEmpty = line.trim() === '' || line === first || line === indent
    if (!isEmpty && line.length + 1 + word.length > WIDTH) {
      lines.push(line)
      line = indent + word
    } else line += isEmpty ? word : ` ${word}`
  }
  return [...lines, line]
}
