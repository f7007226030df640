import { existsSync } from 'node:fs'
import { configError } from '../exit-codes.ts'
import { readForeign } from '../files/foreign-file.ts'
import { isObject } from '../json/json-checks.ts'
import { SETTING_NAMES, type SettingName } from './settings.ts'

export const MAX_SETTINGS_BYTES = 1024 * 1024

/** The settings in `config.json`. Throws when the file is not valid. */
export function readConfigFile(path: string): Map<SettingName, unknown> {
  const known = new Map<SettingName, unknown>()
  for (const [key, value] of Object.entries(contentOf(path))) {
    const name = nameOf(key)
    if (!name) throw configError(`${path} has an unknown key ${JSON.stringify(key)}`)
    if (known.has(name)) throw configError(`${path} has the key ${JSON.stringify(key)} twice`)
    known.set(name, value)
  }
  return known
}

const nameOf = (key: string): SettingName | undefined =>
  SETTING_NAMES.find((candidate) => candidate === key.toLowerCase())

/** With the keys as they are spelled in the file. Empty if there is no file. */
function contentOf(path: string): Record<string, unknown> {
  if (!existsSync(path)) return {}
  let content: unknown
  try {
    content = JSON.parse(readForeign(path, MAX_SETTINGS_BYTES).bytes.toString('utf8'))
  } catch (cause) {
    throw configError(`Cannot read ${path}: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
  }
  if (!isObject(content)) throw configError(`${path} must contain one JSON object`)
  return { ...content }
}

/** The content of `config.json` with some settings changed, and the others as they are spelled. Undefined removes one. */
export function changedConfig(path: string, changes: ReadonlyMap<SettingName, unknown>): string {
  readConfigFile(path) // a file that would stop the next start is not rewritten
  const content = contentOf(path)
  for (const [name, value] of changes) {
    const key = Object.keys(content).find((each) => nameOf(each) === name) ?? name
    if (value === undefined) delete content[key]
    else content[key] = value
  }
  return `${JSON.stringify(content, null, 2)}\n`
}
