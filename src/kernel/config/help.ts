import { envName, flagName, type SettingName, Settings } from './schema.ts'

/** Every setting with its flag and its default, generated from the schema: `toolroom help settings`. */
export const settingRows = (): [label: string, does: string][] =>
  (Object.keys(Settings.properties) as SettingName[]).map((name) => {
    const schema = Settings.properties[name] as { description?: string; default?: unknown; secret?: boolean }
    const label = schema.secret ? `${envName(name)} (no flag)` : flagName(name)
    const preset =
      schema.default === undefined || String(schema.default) === '' ? '' : ` [${String(schema.default)}]`
    return [label, `${schema.description}${preset}`]
  })
