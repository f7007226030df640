import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { HOME_SECRET } from '../support/dashboard-home.ts'
import { executablePath, expectAccessible, openBrowser, openPage } from './support/browser.ts'
import { openDashboard } from './support/dashboard.ts'

describe.runIf(executablePath)('the page of an agent', () => {
  test('the file of an agent is shown as it is with its secrets masked, and a broken one with a mark at the fault', async () => {
    const dashboard = await openDashboard({ register: true })
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.visit(page, '/agents/claude-code')
    const files = page.getByRole('region', { name: 'Files' })
    await files.getByRole('button', { name: 'Show file' }).click()
    await files.getByText('This needs permission.').waitFor()
    await dashboard.signIn(page, '/agents/claude-code') // in the same tab, where only the fragment changes
    await page.getByText('Read-only.').waitFor({ state: 'hidden' })
    await files.getByRole('button', { name: 'Show file' }).click()
    await files.getByText('"numStartups": 12,').waitFor()
    await files.getByText('"NOTES_TOKEN": "***"').waitFor()
    await files.getByText(`"command": "${process.execPath}"`).first().waitFor()
    expect(await page.content()).not.toContain(HOME_SECRET)
    await expectAccessible(page)
    await files.getByRole('button', { name: 'Hide file' }).click()
    await files.getByText('"numStartups": 12,').waitFor({ state: 'hidden' })

    await dashboard.signIn(page, '/agents/zed')
    await files.getByRole('button', { name: 'Show line' }).click()
    const lines = files.getByRole('list', { name: /^Lines of .*settings.json/ })
    await lines.locator('mark').waitFor()
    expect((await lines.innerText()).replaceAll(/\s+/g, ' ')).toBe(
      '2 { 3 "theme": "***" 4 "context_servers": {}, 5 }',
    )
    expect(await lines.locator('mark').innerText()).toBe('"')
    await expectAccessible(page, files)
    const [path = ''] = [...dashboard.files.keys()].filter((each) => each.includes('zed'))
    writeFileSync(path, '{ "context_servers": {} }\n') // corrected in an editor
    await files.getByRole('button', { name: 'Show line' }).waitFor({ state: 'hidden' })
    await files.getByText('0 entries').waitFor()
    expect(complaints).toEqual([])
  })
})
