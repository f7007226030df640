import { StartError } from '../kernel/exit.ts'
import { envName, flagName, type SettingName, Settings } from './schema.ts'

export interface Flags {
  readonly command: 'up' | 'help' | 'version'
  readonly settings: ReadonlyMap<SettingName, string>
  readonly envFile?: string
  /** What to do when the database was set aside as damaged. */
  readonly afterDamage?: 'restore' | 'start_empty'
}

const NAMES = Object.keys(Settings.properties) as SettingName[]
const isSecret = (name: SettingName): boolean => 'secret' in Settings.properties[name]

/** `toolroom [up] [--port 9000] [--protect-reads] …` */
export function readFlags(argv: readonly string[]): Flags {
  const settings = new Map<SettingName, string>()
  const flags: { command: Flags['command']; envFile?: string; afterDamage?: 'restore' | 'start_empty' } = {
    command: 'up',
  }
  const rest = argv[0] === 'up' ? argv.slice(1) : [...argv]
  while (rest.length > 0) {
    const word = rest.shift() ?? ''
    const [flag = '', inline] = word.startsWith('--') ? splitOnce(word, '=') : [word]
    const takeValue = (): string => inline ?? rest.shift() ?? missing(flag)
    const name = NAMES.find((candidate) => flagName(candidate) === flag)
    if (name && isSecret(name)) refuseSecret(name)
    else if (name)
      settings.set(name, isSwitch(name) && inline === undefined ? switchValue(rest) : takeValue())
    else if (flag === '--env-file') flags.envFile = takeValue()
    else if (flag === '--restore') flags.afterDamage = 'restore'
    else if (flag === '--start-empty') flags.afterDamage = 'start_empty'
    else if (flag === '--help' || flag === '-h' || word === 'help') flags.command = 'help'
    else if (flag === '--version' || flag === '-v') flags.command = 'version'
    else unknown(word)
  }
  return { ...flags, settings }
}

const isSwitch = (name: SettingName): boolean => typeOf(name) === 'boolean'
const typeOf = (name: SettingName): unknown => (Settings.properties[name] as { type?: string }).type

/** `--protect-reads` alone means true; `--protect-reads false` is understood too. */
function switchValue(rest: string[]): string {
  return rest[0] === 'true' || rest[0] === 'false' ? (rest.shift() ?? 'true') : 'true'
}

function splitOnce(text: string, at: string): [string, string?] {
  const index = text.indexOf(at)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}

function missing(flag: string): never {
  throw new StartError('configuration', `${flag} needs a value`)
}

function unknown(word: string): never {
  const kind = word.startsWith('-') ? 'flag' : 'command'
  throw new StartError('configuration', `Unknown ${kind} '${word}'; toolroom --help lists what there is`)
}

function refuseSecret(name: SettingName): never {
  const why = 'every user of this computer can read the process list'
  throw new StartError(
    'configuration',
    `${flagName(name)} is no flag, because ${why}; set ${envName(name)} instead`,
  )
}
