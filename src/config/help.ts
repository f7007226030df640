import { envName, flagName, type SettingName, Settings } from './schema.ts'

const OTHERS = [
  ['--env-file FILE', 'Read this file instead of the .env in the data folder and in Toolroom’s own folder.'],
  ['--restore', 'After damage: go on from the newest backup.'],
  ['--start-empty', 'After damage: begin anew.'],
  ['--version, --help', ''],
] as const

/** Made from the schema, so that it cannot go stale. */
export const HELP = [
  'Usage: toolroom [up] [flags]',
  '',
  'Starts the service and prints its address. Each flag is also an environment variable and a key of config.json.',
  '',
  ...(Object.keys(Settings.properties) as SettingName[]).map((name) => {
    const schema = Settings.properties[name] as { description?: string; default?: unknown; secret?: boolean }
    const label = schema.secret ? `${envName(name)} (no flag)` : flagName(name)
    const preset =
      schema.default === undefined || String(schema.default) === '' ? '' : ` [${String(schema.default)}]`
    return `  ${label.padEnd(32)} ${schema.description}${preset}`
  }),
  ...OTHERS.map(([label, text]) => `  ${label.padEnd(32)} ${text}`.trimEnd()),
].join('\n')
