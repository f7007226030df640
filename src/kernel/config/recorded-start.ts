import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeDurably } from '../files/durable-file.ts'
import { readForeign } from '../files/foreign-file.ts'
import { isObject } from '../json/json-checks.ts'
import { type Config, type Origin, readConfig } from './config.ts'
import type { Platform } from './paths.ts'
import { envName, type SettingName, Settings } from './settings.ts'

/** How the service was running when an agent was connected. The bridge of an agent starts it in the same way. */
export interface RecordedStart {
  /** Without secrets. */
  readonly env: Readonly<Record<string, string>>
  /** Settings that it had from its environment, and that are secrets: their values are not here. */
  readonly not_recorded: readonly string[]
}

const MAX_BYTES = 1_048_576
const fileIn = (dataFolder: string): string => join(dataFolder, 'agents-start.json')

export function recordStart(config: Config, mainFile: string): void {
  const { folders, origins, platform } = config
  const read = [join(folders.data, '.env'), join(dirname(dirname(mainFile)), '.env')]
  /** A later start reads the files again. */
  const isLost = ({ source, from }: Origin) =>
    source !== 'config_file' && !(source === 'env_file' && read.some((file) => from.endsWith(` in ${file}`)))
  const lost = [...origins].flatMap(([name, origin]) => (isLost(origin) ? [name] : []))
  const settings = lost.filter((name) => !isSecret(name)).map((name) => [envName(name), textOf(config[name])])
  const start: RecordedStart = {
    env: { ...keptVariables(platform), ...Object.fromEntries(settings), TOOLROOM_HOME: folders.data },
    not_recorded: lost.filter(isSecret).map(envName),
  }
  writeDurably(fileIn(folders.data), `${JSON.stringify(start, null, 2)}\n`, 0o600)
}

/** Undefined if no agent is connected, or if the file was damaged. */
export function recordedStart(dataFolder: string): RecordedStart | undefined {
  try {
    const value: unknown = JSON.parse(readForeign(fileIn(dataFolder), MAX_BYTES).bytes.toString())
    if (!isObject(value) || !isObject(value.env) || !Array.isArray(value.not_recorded)) return undefined
    const texts = Object.entries(value.env).filter(
      (pair): pair is [string, string] => typeof pair[1] === 'string',
    )
    return { env: Object.fromEntries(texts), not_recorded: value.not_recorded.map(String) }
  } catch {
    return undefined
  }
}

export const forgetStart = (dataFolder: string): void => rmSync(fileIn(dataFolder), { force: true })

/** The settings that the service has when it is started from the record. Throws if one is invalid. */
export function configOfStart({ env }: RecordedStart, mainFile: string, home: string): Config {
  const os = process.platform
  const platform = { os, home: (os === 'win32' ? env.USERPROFILE : env.HOME) || home, env }
  return readConfig({
    flags: { command: 'up', settings: new Map() },
    platform,
    packageRoot: dirname(dirname(mainFile)),
  })
}

const isSecret = (name: SettingName): boolean => 'secret' in Settings.properties[name]

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(',') : String(value))

/** Where programs and files are, the language, and the network. */
const KEPT = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'PLAIN_HTTP'],
  ...[
    'DISPLAY',
    'WAYLAND_DISPLAY',
    'XAUTHORITY',
    'DBUS_SESSION_BUS_ADDRESS',
    'DOCKER_HOST',
    'CONTAINER_HOST',
  ],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
]
/** Without these, Windows programs do not start, or do not find their files. */
const KEPT_ON_WINDOWS = [
  ...['ALLUSERSPROFILE', 'APPDATA', 'COMMONPROGRAMFILES', 'COMMONPROGRAMFILES(X86)', 'COMMONPROGRAMW6432'],
  ...['COMPUTERNAME', 'COMSPEC', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'NUMBER_OF_PROCESSORS', 'OS'],
  ...[
    'PATHEXT',
    'PROCESSOR_ARCHITECTURE',
    'PROGRAMDATA',
    'PROGRAMFILES',
    'PROGRAMFILES(X86)',
    'PROGRAMW6432',
  ],
  ...[
    'PUBLIC',
    'SYSTEMDRIVE',
    'SYSTEMROOT',
    'TEMP',
    'TMP',
    'USERDOMAIN',
    'USERNAME',
    'USERPROFILE',
    'WINDIR',
  ],
]
const FAMILY = /^(?:LC|XDG)_/
const PROXY = /^(?:https?|all|no)_proxy$/i

function keptVariables({ os, env }: Pick<Platform, 'os' | 'env'>): Record<string, string> {
  const isWindows = os === 'win32'
  const entries = Object.entries(env).flatMap(([name, value = '']): [string, string][] => {
    const key = isWindows ? name.toUpperCase() : name // `Path` is PATH there
    if (key === 'PATH') return [[name, pathWithoutNpm(value, os)]]
    if (PROXY.test(key)) return [[name, value.replace(CREDENTIALS, '$1')]]
    const isKept = KEPT.includes(key) || FAMILY.test(key) || (isWindows && KEPT_ON_WINDOWS.includes(key))
    return isKept && !PASSWORD.test(value) ? [[name, value]] : []
  })
  return Object.fromEntries(entries)
}

const CREDENTIALS = /^([a-z][\w+.-]*:\/\/)?.*@/i
const PASSWORD = /:\/\/[^/]*:[^/]*@/

/** `PATH` without the folders that npm and npx add while they run. */
export const pathWithoutNpm = (path: string, os: string): string => {
  const delimiter = os === 'win32' ? ';' : ':'
  const folders = path.split(delimiter).filter((folder) => folder !== '' && !OF_NPM.test(folder))
  return folders.join(delimiter)
}

const OF_NPM = /[\\/]node_modules[\\/](?:\.bin|npm[\\/])|[\\/]_npx[\\/]/
