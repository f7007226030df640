import { configError, type StartError } from '../exit-codes.ts'
import { type FlagTypes, parseWords } from './parse-flags.ts'
import { envName, flagName, SETTING_NAMES as NAMES, type SettingName, Settings } from './settings.ts'

export interface Flags {
  readonly command: 'up' | 'help' | 'version'
  readonly settings: ReadonlyMap<SettingName, string>
  readonly envFile?: string
  /** How to start after the database was set aside as damaged. */
  readonly afterDamage?: 'restore' | 'start_empty'
  /** No server starts by itself. */
  readonly withoutServers?: true
}

const SECRET = NAMES.filter((name) => 'secret' in Settings.properties[name])
const PUBLIC = NAMES.filter((name) => !SECRET.includes(name))
const nameOf = (name: SettingName): string => flagName(name).slice(2)
const isSwitch = (name: SettingName): boolean =>
  'type' in Settings.properties[name] && Settings.properties[name].type === 'boolean'

const FLAGS: FlagTypes = {
  ...Object.fromEntries(
    PUBLIC.map((name) => [nameOf(name), { type: isSwitch(name) ? 'boolean' : 'string' }]),
  ),
  'env-file': { type: 'string' },
  restore: { type: 'boolean' },
  'start-empty': { type: 'boolean' },
  'no-servers': { type: 'boolean' },
  'restart-after-crash': { type: 'boolean' }, // the process that starts the service reads it
  version: { type: 'boolean', short: 'v' },
}

/** `toolroom [up] [--port 9000] [--protect-reads] …` */
export function readFlags(argv: readonly string[]): Flags {
  const parsed = parseWords(argv[0] === 'up' ? argv.slice(1) : argv, FLAGS, refuse)
  if (parsed === 'help' || parsed.flags.has('version'))
    return { command: parsed === 'help' ? 'help' : 'version', settings: new Map() }
  const given = (name: string) => parsed.flags.get(name)?.at(-1)
  const settings = PUBLIC.flatMap((name): [SettingName, string][] => {
    const value = given(nameOf(name))
    return value === undefined ? [] : [[name, value]]
  })
  const envFile = given('env-file')
  const isSet = (name: string) => given(name) === 'true'
  return {
    command: 'up',
    settings: new Map(settings),
    ...(envFile !== undefined && { envFile }),
    ...(isSet('restore') && { afterDamage: 'restore' }),
    ...(isSet('start-empty') && { afterDamage: 'start_empty' }),
    ...(isSet('no-servers') && { withoutServers: true }),
  }
}

function refuse(word: string): StartError {
  const secret = SECRET.find((name) => flagName(name) === word)
  if (!secret)
    return configError(
      `${word.startsWith('-') ? 'Unknown flag' : 'Unknown command'} '${word}'; see toolroom up --help`,
    )
  const why = 'every user of this computer can read the process list'
  return configError(`${word} is not a flag, because ${why}; set ${envName(secret)} instead`)
}
