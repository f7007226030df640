import { commandRows, row } from './commands.ts'
import { envName, flagName, type SettingName, Settings } from './schema.ts'

const OTHERS = [
  ['--env-file FILE', 'Read this file instead of the .env in the data folder and in Toolroom’s own folder.'],
  ['--restore', 'After damage: go on from the newest backup.'],
  ['--start-empty', 'After damage: begin anew.'],
  ['--version, --help', ''],
] as const

/** Made from the schema, so that it cannot go stale. */
export const HELP = [
  'Usage: toolroom [command] [flags]',
  '',
  row('up', 'Start the service and print its address; also without a command.'),
  ...commandRows(),
  '',
  'toolroom <command> --help explains one. Exit codes: 0 well, 1 port taken, 3 not running, 4 token refused,',
  '65 database damaged, 75 data folder in use, 78 wrong flag or setting.',
  '',
  'Flags of up. Each is also an environment variable and a key of config.json.',
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
