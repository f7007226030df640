import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { executablePath, expectAccessible, openBrowser, openPage } from './support/browser.ts'
import { openDashboard } from './support/dashboard.ts'

const cell = (page: Page, name: string) => page.getByRole('checkbox', { name, exact: true })
const expectState = (page: Page, name: string, state: 'true' | 'false') =>
  expect.poll(() => cell(page, name).getAttribute('aria-checked'), { message: name }).toBe(state)

describe.runIf(executablePath)('the columns and rows of the grid', () => {
  test('Shift Space stages a whole row; a column takes a preset or another column; everything of Toolroom leaves a file again; an unreadable file says its line and shows it in a dialog', async () => {
    const dashboard = await openDashboard()
    expect((await dashboard.ask('POST', '/agents/import', {})).status).toBe(200)
    const preset = { servers: ['noenv', 'slow'] }
    expect((await dashboard.ask('PUT', '/presets/work', preset)).status).toBeLessThan(300)
    const path = [...dashboard.files.keys()].find((each) => each.endsWith('config.toml')) ?? ''
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/agents')
    const staged = page.getByRole('status').filter({ hasText: 'not written' })

    await cell(page, 'slow in Codex').focus()
    await page.keyboard.press('Shift+Space')
    await staged.waitFor()
    for (const agent of ['Claude Code', 'Claude Desktop', 'Cursor', 'Codex'])
      await expectState(page, `slow in ${agent}`, 'true')
    await page.keyboard.press('Shift+Space')
    for (const agent of ['Claude Code', 'Claude Desktop', 'Cursor', 'Codex'])
      await expectState(page, `slow in ${agent}`, 'false')
    await page.getByRole('button', { name: 'Discard' }).click()
    await staged.waitFor({ state: 'hidden' })

    const menu = async (item: string) => {
      await page.getByRole('button', { name: 'Codex menu' }).click()
      await page.getByRole('menuitem', { name: item, exact: true }).click()
    }
    await menu('work')
    await staged.waitFor()
    await expectState(page, 'noenv in Codex', 'true')
    await expectState(page, 'slow in Codex', 'true')
    await expectState(page, 'crash in Codex', 'false')
    await page.getByRole('button', { name: 'Discard' }).click()
    await staged.waitFor({ state: 'hidden' })
    await menu('Cursor')
    await staged.waitFor()
    await expectState(page, 'flood in Codex', 'true')
    await expectState(page, 'crash in Codex', 'false')
    await page.getByRole('button', { name: 'Write to 1 file' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Write to 1 file' }).click()
    await staged.waitFor({ state: 'hidden' })
    await expect.poll(() => readFileSync(path, 'utf8')).toContain('[mcp_servers.flood]')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })

    await menu('Remove everything of Toolroom…')
    await dialog.getByRole('button', { name: 'Write to 1 file' }).click()
    await expect.poll(() => readFileSync(path, 'utf8')).not.toContain('[mcp_servers.flood]')
    await dialog.waitFor({ state: 'hidden' })

    const head = page.getByRole('columnheader').filter({ hasText: 'Zed' })
    const word = head.getByRole('button', { name: 'unreadable, line 4 Show line' })
    await word.hover()
    await page.getByRole('tooltip').filter({ hasText: 'Cannot be read: line 4' }).waitFor()
    await word.focus()
    await page.keyboard.press('Enter')
    const why = page.getByRole('dialog', { name: 'The file of Zed cannot be used' })
    await why.locator('mark').waitFor()
    await expectAccessible(page, why)
    await page.keyboard.press('Escape')
    await why.waitFor({ state: 'hidden' })
    expect(complaints).toEqual([])
  })
})
