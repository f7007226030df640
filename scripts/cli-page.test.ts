import { expect, test } from 'vitest'
import { COMMANDS } from '../src/cli/commands/all-commands.ts'
import { cliPage } from './cli-page.ts'

test('docs/cli.md matches the table of commands', async () => {
  await expect(cliPage(COMMANDS)).toMatchFileSnapshot('../docs/cli.md')
})
