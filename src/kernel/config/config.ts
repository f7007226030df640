import { existsSync, readFileSync } from 'node:fs'
import { join, posix, win32 } from 'node:path'
import { parseEnv } from 'node:util'
import { configError } from '../exit-codes.ts'
import { readForeign } from '../files/foreign-file.ts'
import { MAX_SETTINGS_BYTES, readConfigFile } from './config-file.ts'
import { type Folders, foldersOf, type Platform } from './paths.ts'
import { envName, flagName, SETTING_NAMES, type SettingName, Settings } from './settings.ts'
import type { Flags } from './up-flags.ts'

export interface Config extends Readonly<Settings> {
  readonly folders: Folders
  /** Used to find the agents' files. */
  readonly platform: Platform
  /** Where each setting comes from. Settings with their default are missing. */
  readonly origins: ReadonlyMap<SettingName, Origin>
  /** For the start banner, the log and /api/health. */
  readonly warnings: readonly string[]
}

export interface Origin {
  readonly source: 'flag' | 'environment' | 'env_file' | 'config_file'
  /** Names the setting there. */
  readonly from: string
}

interface Input {
  readonly flags: Flags
  readonly platform: Platform
  /** Toolroom's own folder. The working folder is never read: a hostile repository must not configure Toolroom. */
  readonly packageRoot: string
}

/** The token in `.env.example`. It is ignored, so an unchanged copy of that file gets a generated token. */
const PLACEHOLDER = 'replace-me-with-64-random-hex-characters'

/** Precedence: flags, environment, `.env`, `config.json`, defaults. */
export function readConfig({ flags, platform, packageRoot }: Input): Config {
  const given: Source[] = [
    { source: 'flag', values: parsed(flags.settings), from: flagName },
    { source: 'environment', values: fromTexts(platform.env), from: envName },
  ]
  const { envFile } = flags
  const outside = envSource(envFile ?? join(packageRoot, '.env'), envFile !== undefined)
  const home = firstOf([...given, outside], 'toolroom_home')
  const folders = foldersOf(platform, typeof home === 'string' ? home : undefined)
  if (![posix, win32].some(({ isAbsolute }) => isAbsolute(folders.data) && isAbsolute(folders.config)))
    throw configError(`HOME must be an absolute path, not ${JSON.stringify(platform.home)}`)
  const envFiles =
    envFile === undefined ? [inDataFolder(envSource(join(folders.data, '.env'), false)), outside] : [outside]
  const sources = [...given, ...envFiles, inDataFolder(fileSource(join(folders.data, 'config.json')))]

  const warnings: string[] = []
  const origins = new Map<SettingName, Origin>()
  const settings = SETTING_NAMES.flatMap((name): [string, unknown][] => {
    const source = sources.find(({ values }) => values.has(name))
    const value = source?.values.get(name)
    if (source && name === 'auth_token' && value === PLACEHOLDER) {
      warnings.push(`${source.from(name)} is the placeholder from .env.example and is ignored`)
      return []
    }
    if (source) origins.set(name, { source: source.source, from: source.from(name) })
    return settingEntry(name, source && { value, from: source.from(name) })
  })
  const chosen = Object.fromEntries(settings) as unknown as Settings
  return Object.freeze({ ...chosen, folders, platform, origins, warnings })
}

/** Where settings come from. `from` names a setting from this source in an error. */
interface Source {
  readonly source: Origin['source']
  readonly values: ReadonlyMap<SettingName, unknown>
  readonly from: (name: SettingName) => string
}

function firstOf(sources: readonly Source[], name: SettingName): unknown {
  return sources.find(({ values }) => values.has(name))?.values.get(name)
}

/** Files in the data folder cannot move it: it must be known before they are read. */
function inDataFolder(source: Source): Source {
  if (!source.values.has('toolroom_home')) return source
  throw configError(`${source.from('toolroom_home')} cannot be set there: this file is in the data folder`)
}

const envSource = (path: string, required: boolean): Source => {
  const values = fromTexts(readEnvFile(path, required))
  return { source: 'env_file', values, from: (name) => `${envName(name)} in ${path}` }
}

const fileSource = (path: string): Source => ({
  source: 'config_file',
  values: readConfigFile(path),
  from: (name) => `${name} in ${path}`,
})

function settingEntry(
  name: SettingName,
  found: { value: unknown; from: string } | undefined,
): [string, unknown][] {
  const schema: SettingSchema & { default?: unknown; secret?: boolean; expected?: string } =
    Settings.properties[name]
  if (!found) return schema.default === undefined ? [] : [[name, schema.default]]
  if (isSetting(schema, found.value)) return [[name, found.value]]
  const shown = schema.secret ? '' : `, not ${JSON.stringify(found.value)}`
  throw configError(`${found.from} must be ${schema.expected}${shown}`)
}

/** An empty value counts as unset, except for HOST, where it means all addresses. */
function fromTexts(texts: Readonly<Record<string, string | undefined>>): Map<SettingName, unknown> {
  const given = new Map<SettingName, string>()
  for (const name of SETTING_NAMES) {
    const text = texts[envName(name)]
    if (text !== undefined && (text !== '' || name === 'host')) given.set(name, text)
  }
  return parsed(given)
}

/** Converts text to the type in the schema. What does not convert stays text, and validation refuses it. */
function parsed(texts: ReadonlyMap<SettingName, string>): Map<SettingName, unknown> {
  return new Map([...texts].map(([name, text]) => [name, parseSetting(name, text)]))
}

export function parseSetting(name: SettingName, text: string): unknown {
  const schema: SettingSchema = Settings.properties[name]
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
    // A file that the user names may be a pipe: --env-file <(command).
    return parseEnv(required ? readFileSync(path, 'utf8') : settingsText(path))
  } catch (cause) {
    throw configError(`Cannot read the environment file ${path}: ${reason(cause)}`, cause)
  }
}

const settingsText = (path: string): string => readForeign(path, MAX_SETTINGS_BYTES).bytes.toString('utf8')

const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** The part of JSON Schema that settings use. */
interface SettingSchema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
  readonly items?: SettingSchema
}

/** Whether a setting has the type and the limits in its schema. Every command reads settings, so it loads no validator. */
export function isSetting(schema: SettingSchema, value: unknown): boolean {
  const { type, pattern, items } = schema
  if (schema.enum) return schema.enum.includes(value)
  if (type === 'boolean') return typeof value === 'boolean'
  if (type === 'integer') return Number.isInteger(value) && isWithin(value, schema.minimum, schema.maximum)
  if (type === 'array')
    return (
      Array.isArray(value) &&
      isWithin(value.length, 0, schema.maxItems) &&
      value.every((item) => items !== undefined && isSetting(items, item))
    )
  return (
    typeof value === 'string' &&
    isWithin([...value].length, schema.minLength, schema.maxLength) &&
    (pattern === undefined || new RegExp(pattern, 'u').test(value))
  )
}

const isWithin = (value: unknown, least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY) =>
  Number(value) >= least && Number(value) <= most
