import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { TSchema } from 'typebox'
import Value from 'typebox/value'
import { StartError } from '../kernel/exit.ts'
import type { Flags } from './flags.ts'
import { type Folders, foldersOf, type Platform } from './paths.ts'
import { envName, flagName, type SettingName, Settings } from './schema.ts'
import { isPlaceholder } from './token.ts'

export interface Config extends Readonly<Settings> {
  readonly folders: Folders
  /** Sentences for the start banner, the log and /api/health. */
  readonly warnings: readonly string[]
}

interface Input {
  readonly flags: Flags
  readonly platform: Platform
  /** Toolroom's own folder. The working folder is never read: a hostile repository must not configure us. */
  readonly packageRoot: string
}

const NAMES = Object.keys(Settings.properties) as SettingName[]

/** Reads every source once. Flags win over environment, `.env`, `config.json` and defaults. */
export function readConfig({ flags, platform, packageRoot }: Input): Config {
  const found = new Map<SettingName, { value: unknown; from: string }>()
  const take = (values: ReadonlyMap<SettingName, unknown>, from: (name: SettingName) => string) => {
    for (const [name, value] of values) if (!found.has(name)) found.set(name, { value, from: from(name) })
  }
  const takeText = (texts: Readonly<Record<string, string | undefined>>, file: string) =>
    take(fromTexts(texts), (name) => `${envName(name)}${file}`)

  take(parsed(flags.settings), flagName)
  takeText(platform.env, '')
  const ownEnv = flags.envFile === undefined ? join(packageRoot, '.env') : undefined
  // The data folder must be known before its own files can be read, so they cannot move it.
  const early = ownEnv ?? flags.envFile
  const earlyTexts = early === undefined ? {} : readEnvFile(early, flags.envFile !== undefined)
  const home = found.get('toolroom_home')?.value ?? earlyTexts.TOOLROOM_HOME
  const folders = foldersOf(platform, typeof home === 'string' && home !== '' ? home : undefined)
  if (flags.envFile === undefined)
    takeText(readEnvFile(join(folders.data, '.env'), false), ' in the data folder’s .env')
  takeText(earlyTexts, ` in ${flags.envFile ?? 'Toolroom’s own .env'}`)
  take(readConfigFile(join(folders.data, 'config.json')), (name) => `${name} in config.json`)

  const warnings: string[] = []
  const token = found.get('auth_token')
  if (typeof token?.value === 'string' && isPlaceholder(token.value)) {
    found.delete('auth_token')
    warnings.push(`${token.from} is the placeholder of .env.example and is ignored`)
  }
  const settings = Object.fromEntries(NAMES.flatMap((name) => settingEntry(name, found.get(name))))
  return Object.freeze({ ...(settings as Settings), folders, warnings })
}

function settingEntry(
  name: SettingName,
  found: { value: unknown; from: string } | undefined,
): [string, unknown][] {
  const schema: TSchema & { default?: unknown; secret?: boolean; expected?: string } =
    Settings.properties[name]
  if (!found) return schema.default === undefined ? [] : [[name, schema.default]]
  if (Value.Check(schema, found.value)) return [[name, found.value]]
  const shown = schema.secret ? '' : `, not ${JSON.stringify(found.value)}`
  throw new StartError('configuration', `${found.from} must be ${schema.expected}${shown}`)
}

/** Text that was set but is empty counts as unset, except for HOST, where it would mean every address. */
function fromTexts(texts: Readonly<Record<string, string | undefined>>): Map<SettingName, unknown> {
  const given = new Map<SettingName, string>()
  for (const name of NAMES) {
    const text = texts[envName(name)]
    if (text !== undefined && (text !== '' || name === 'host')) given.set(name, text)
  }
  return parsed(given)
}

/** Text becomes the type that the schema asks for; what does not fit stays text and is refused with its value. */
function parsed(texts: ReadonlyMap<SettingName, string>): Map<SettingName, unknown> {
  return new Map([...texts].map(([name, text]) => [name, parseText(Settings.properties[name], text)]))
}

function parseText(schema: TSchema & { type?: string }, text: string): unknown {
  if (schema.type === 'integer' && /^\d{1,9}$/.test(text)) return Number(text)
  if (schema.type === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true'
  if (schema.type === 'array')
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
  return text
}

function readEnvFile(path: string, required: boolean): Record<string, string | undefined> {
  if (!required && !existsSync(path)) return {}
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new StartError(
      'configuration',
      `The environment file ${path} cannot be read: ${reason(cause)}`,
      cause,
    )
  }
}

function readConfigFile(path: string): Map<SettingName, unknown> {
  if (!existsSync(path)) return new Map()
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw new StartError('configuration', `${path} cannot be read: ${reason(cause)}`, cause)
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new StartError('configuration', `${path} must hold one JSON object`)
  }
  const known = new Map<SettingName, unknown>()
  for (const [key, value] of Object.entries(content)) {
    const name = NAMES.find((candidate) => candidate === key.toLowerCase())
    if (!name) throw new StartError('configuration', `${path} has an unknown key ${JSON.stringify(key)}`)
    if (known.has(name)) throw new StartError('configuration', `${path} names ${JSON.stringify(key)} twice`)
    known.set(name, value)
  }
  return known
}

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
