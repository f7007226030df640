import { settingRows } from '../../kernel/config/help.ts'
import type { Command } from '../table/command.ts'
import { allCommands, commandHelp, overview } from '../table/help.ts'
import { ISOLATION_PAGE } from '../table/isolation.ts'

/** What all commands but `up` and `connect` load: one file of the build. */
export { isRunning, runCommand } from './run.ts'

/** The help for a command, for `all`, `settings` or `isolation`, or the overview. */
export function helpText(subject: Command | string | undefined): string {
  if (typeof subject === 'object') return commandHelp(subject)
  if (subject === 'all') return allCommands()
  if (subject === 'isolation') return ISOLATION_PAGE
  if (subject !== 'settings') return overview()
  const rows = settingRows().map(([label, does]) => `  ${label.padEnd(32)} ${does}`.trimEnd())
  return rows.join('\n')
}
