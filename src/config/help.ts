import { commandRows, row } from './commands.ts'
import { envName, flagName, type SettingName, Settings } from './schema.ts'

const OTHERS = [
  ['--env-file FILE', 'Read this file instead of .env in the data folder and in the installation folder.'],
  ['--restore', 'After damage to the database: restore the newest backup.'],
  ['--start-empty', 'After damage to the database: start with an empty one.'],
  ['--version, --help', ''],
] as const

/** Generated from the settings schema. */
export const HELP = [
  'Usage: toolroom [command] [flags]',
  '',
  row('up', 'Start the service and print its address. This is the default command.'),
  ...commandRows(),
  '',
  'See also toolroom <command> --help. Exit codes: 0 success, 1 failed or port in use, 2 wrong usage, 3 not running,',
  '4 token refused, 5 not found, 6 conflict, 8 timeout, 65 database damaged, 70 internal error, 75 data folder in use,',
  '78 invalid flag or setting.',
  '',
  'Flags for up. Each setting is also an environment variable and a key in config.json.',
  '',
  ...(Object.keys(Settings.properties) as SettingName[]).map((name) => {
    const schema = Settings.properties[name] as { description?: string; default?: unknown; secret?: boolean }
    const label = schema.secret ? `${envName(name)} (no flag)` : flagName(name)
    const preset =
      schema.default === undefined || String(schema.default) === '' ? '' : ` [${String(schema.default)}]`
    return row(label, `${schema.description}${preset}`)
  }),
  ...OTHERS.map(([label, text]) => row(label, text)),
].join('\n')
