import { expect, test } from 'vitest'
import { COMMANDS } from '../src/cli/table/table.ts'
import { cliPage } from './cli-page.ts'

test('docs/cli.md matches the table of commands', async () => {
  await expect(cliPage(COMMANDS)).toMatchFileSnapshot('../docs/cli.md')
})
