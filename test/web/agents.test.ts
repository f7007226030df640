import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { HOME_SECRET } from '../support/dashboard-home.ts'
import { FULL } from '../support/full-or-short.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { executablePath, expectAccessible, expectToFit, openBrowser, openPage } from './support/browser.ts'
import { type Dashboard, openDashboard } from './support/dashboard.ts'

/** docs/checks.md: the checks of the grid. */

const cell = (page: Page, name: string) => page.getByRole('checkbox', { name, exact: true })
const checked = (page: Page, name: string) => cell(page, name).getAttribute('aria-checked')
const hashes = ({ files }: Dashboard) =>
  Object.fromEntries(
    [...files.keys()].map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
  )
const fileOf = ({ files }: Dashboard, ending: string): string => {
  const path = [...files.keys()].find((each) => each.endsWith(ending))
  if (path === undefined) throw new Error(`no file ${ending}`)
  return path
}
const CURSOR = join('.cursor', 'mcp.json')

/** Of the whole computer, which does other work during `npm test`. */
const SOON = FULL ? ' within 2 seconds' : ''

describe.runIf(executablePath)('Agents', () => {
  const imported = sharedByTests(async () => {
    const dashboard = await openDashboard()
    expect((await dashboard.ask('POST', '/agents/import', {})).status).toBe(200)
    return dashboard
  })

  test('checks 11 and 12: the grid has one Tab stop, arrows move, Space stages; the diff masks secrets, and only the named file is written', async () => {
    const dashboard = await imported()
    const path = fileOf(dashboard, 'config.toml')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/agents')
    const grid = page.getByRole('grid', { name: 'Servers by agents' })
    await cell(page, 'crash in Codex').waitFor()
    expect(await grid.locator('[tabindex="0"]').count()).toBe(1)
    const before = hashes(dashboard)

    await page.getByRole('textbox', { name: 'Filter servers' }).focus()
    for (let presses = 0; presses < 6; presses += 1) {
      await page.keyboard.press('Tab')
      if ((await grid.locator(':focus').count()) > 0) break
    }
    expect(await grid.locator(':focus').count()).toBe(1)
    await page.keyboard.press('Control+Home')
    const columns = await grid.getByRole('columnheader').allInnerTexts()
    const codex = columns.findIndex((text) => text.includes('Codex'))
    for (let step = 1; step < codex; step += 1) await page.keyboard.press('ArrowRight')
    const names = await grid.getByRole('rowheader').getByRole('link').allInnerTexts()
    for (let step = 0; step < names.indexOf('echo'); step += 1) await page.keyboard.press('ArrowDown')
    await expect.poll(() => page.locator(':focus').getAttribute('aria-label')).toBe('echo in Codex')
    await page.keyboard.press('Space')
    await expect.poll(() => checked(page, 'echo in Codex')).toBe('true')
    await page.getByRole('status').filter({ hasText: '1 change not written' }).waitFor()
    expect(await grid.locator('[tabindex="0"]').count()).toBe(1)

    await page.keyboard.press('Control+z')
    await expect.poll(() => checked(page, 'echo in Codex')).toBe('false')
    await page.keyboard.press('Space')
    await cell(page, 'crash in Codex').click()
    await page.getByRole('status').filter({ hasText: '2 changes not written' }).waitFor()
    expect(hashes(dashboard)).toEqual(before)

    await page.getByRole('button', { name: 'Show diff' }).click()
    const dialog = page.getByRole('dialog', { name: 'Write to 1 file' })
    await dialog.getByText('[mcp_servers.echo]').waitFor()
    await dialog.getByText('NOTES_TOKEN = "***"').waitFor()
    expect(await page.content()).not.toContain(HOME_SECRET)
    await expectAccessible(page, dialog)
    await dialog.getByRole('button', { name: 'Write to 1 file' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await page.getByText('Wrote to 1 file').waitFor()
    const after = hashes(dashboard)
    expect(Object.keys(after).filter((each) => after[each] !== before[each])).toEqual([path])
    const text = readFileSync(path, 'utf8')
    expect(text).toContain('# the model for small changes\nmodel = "o4-mini"\n')
    expect(text).toContain(HOME_SECRET)
    // An entry of the user's own is switched off, and stays.
    expect(text).toMatch(/\[mcp_servers\.crash\] # fails on purpose\n(?:.+\n)*enabled = false\n/)
    await expect.poll(() => checked(page, 'crash in Codex')).toBe('false')
    await expect.poll(() => checked(page, 'echo in Codex')).toBe('true')

    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => hashes(dashboard)).toEqual(before)
    expect(complaints).toEqual([])
  })

  test('checks 26 and 27: grid, agent and phone list are accessible, fit 320 pixels, and say why nothing can be changed without a token', async () => {
    const dashboard = await imported()
    await dashboard.ask('PUT', '/agents/cursor/servers', { server_ids: ['noisy'] })
    const path = fileOf(dashboard, CURSOR)
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.visit(page, '/agents')
    const zed = page.getByRole('checkbox', { name: /^noisy in Zed: Cannot be read: line 4, / })
    expect(await zed.getAttribute('aria-disabled')).toBe('true')
    await cell(page, 'noisy in Cursor').focus()
    await page.getByRole('tooltip').filter({ hasText: 'Read-only' }).waitFor()
    await page.keyboard.press('Space')
    expect(await cell(page, 'noisy in Cursor').getAttribute('aria-checked')).toBe('true')
    await expectAccessible(page)
    const fits = async () => {
      await page.setViewportSize({ width: 320, height: 640 })
      await expectToFit(page, 320)
      await expectAccessible(page)
    }
    await page.setViewportSize({ width: 320, height: 640 })
    await page.getByRole('switch', { name: /^noisy in / }).waitFor()
    await fits()

    await page.setViewportSize({ width: 1440, height: 900 })
    await dashboard.signIn(page, '/agents/cursor')
    const history = page.getByRole('region', { name: 'Writes by Toolroom' })
    await history.getByText('added noisy').waitFor()
    await page.getByRole('region', { name: 'Files' }).getByText('~/.cursor/mcp.json').waitFor()
    await page.getByRole('radio', { name: 'Raw' }).click()
    const entries = page.getByRole('region', { name: 'Entries' })
    await entries.getByRole('button', { name: '{ 1 key }' }).first().click()
    await entries.getByText('"NOTES_TOKEN"').waitFor()
    expect(await page.content()).not.toContain(HOME_SECRET)
    await expectAccessible(page)
    await fits()
    await history.getByRole('button', { name: 'Undo…' }).click()
    const dialog = page.getByRole('dialog', { name: /^Undo the write of / })
    await dialog.getByRole('button', { name: 'Write to 1 file' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await expect.poll(() => readFileSync(path, 'utf8')).toBe(dashboard.files.get(path))
    expect(complaints).toEqual([])
  })

  test('through the gateway a toggle writes no file, applies at once and never enters the bar; the tools of a cell open with Enter and with the mouse and can be switched; Ctrl Z takes it back; no column moves meanwhile', async () => {
    const dashboard = await imported()
    await dashboard.start('echo')
    await dashboard.start('noisy')
    await dashboard.ask('POST', '/servers/noisy/stop')
    expect(
      (await dashboard.ask('POST', '/agents/codex/connect', { take_over: true, servers: 'all' })).status,
    ).toBe(200)
    const before = hashes(dashboard)
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/agents')
    const chosen = async () => (await dashboard.ask('GET', '/agents/codex/tools')).body
    await expect.poll(() => checked(page, 'noisy in Codex'), { message: 'not 0 of its tools' }).toBe('true')
    await cell(page, 'slow in Codex').click()
    await page.getByText('Codex no longer sees slow').waitFor()
    await expect.poll(async () => (await chosen()).servers).not.toContain('slow')
    await expect.poll(() => checked(page, 'slow in Codex')).toBe('false')
    expect(await page.getByRole('button', { name: 'Discard' }).count()).toBe(0)
    await page.keyboard.press('Control+z')
    await expect.poll(async () => (await chosen()).servers).toBeNull()

    const heads = () => page.getByRole('columnheader').locator('b').allInnerTexts()
    const columns = await heads()
    const drawer = page.getByRole('dialog', { name: 'echo in Codex' })
    await cell(page, 'echo in Codex').focus()
    await page.keyboard.press('Enter')
    await drawer.waitFor()
    await page.keyboard.press('Escape')
    await drawer.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'echo in Codex' }).click() // the number of its tools, beside the check box
    // The service is slow, so the second switch moves before the first one is saved.
    let sent = 0
    await page.route('**/api/agents/codex/tools', async (route) => {
      if (route.request().method() !== 'PUT') return route.continue()
      await setTimeout(500)
      await route.continue()
      sent += 1
    })
    for (const name of ['stats', 'query', 'query']) await drawer.getByRole('switch', { name }).click()
    await drawer.getByText('11 of 12 tools are on.', { exact: false }).waitFor()
    await expect.poll(() => sent).toBe(3)
    await expect
      .poll(async () => (await chosen()).tools.echo)
      .toSatisfy((on: string[] = []) => on.length === 11 && !on.includes('stats'))
    await expectAccessible(page, drawer)
    await page.keyboard.press('Escape')
    const some = cell(page, 'echo in Codex: 11/12')
    await some.waitFor()
    await expect.poll(() => some.getAttribute('aria-checked')).toBe('mixed')
    expect(hashes(dashboard)).toEqual(before)

    await page.getByRole('button', { name: 'Codex menu' }).click()
    await page.getByRole('menuitem', { name: 'Save as preset…' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('work')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Preset work saved').waitFor()
    await page.getByRole('button', { name: 'Codex menu' }).click()
    await page.getByRole('menuitem', { name: 'Disconnect from the gateway…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Disconnect from the gateway: Codex' })
    await dialog.getByRole('button', { name: 'Write to 1 file' }).click()
    await dialog.waitFor({ state: 'hidden' })
    const path = fileOf(dashboard, 'config.toml')
    await expect.poll(() => readFileSync(path, 'utf8')).toBe(dashboard.files.get(path))
    await page.getByRole('columnheader').filter({ hasText: 'Codex' }).getByText('Direct: on Write').waitFor()
    expect(await heads(), 'the columns stay').toEqual(columns)
  })
  test('check 13: a file that changes between stage and write is not written, and both versions are shown', async () => {
    const dashboard = await imported()
    const path = fileOf(dashboard, CURSOR)
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/agents')
    await cell(page, 'noisy in Cursor').click()
    await page.getByRole('button', { name: 'Write to 1 file' }).click()
    const dialog = page.getByRole('dialog', { name: 'Write to 1 file' })
    await dialog.getByText('"noisy"').waitFor()
    const changed = readFileSync(path, 'utf8').replace('"flood"', '"torrent"')
    writeFileSync(path, changed)
    await dialog.getByRole('button', { name: 'Write to 1 file' }).click()
    await dialog.getByText('was changed by another program. Nothing was written.').waitFor()
    expect(readFileSync(path, 'utf8')).toBe(changed)
    await dialog.getByRole('heading', { name: 'What you looked at' }).waitFor()
    await dialog.getByRole('heading', { name: 'With the file as it is now' }).waitFor()
    await expect.poll(() => dialog.getByRole('figure').count()).toBe(2)
    await expectAccessible(page, dialog)
    await dialog.getByRole('button', { name: 'Use the file as it is now' }).click()
    await dialog.getByText('What you looked at').waitFor({ state: 'hidden' })
    await dialog.getByRole('button', { name: 'Write to 1 file' }).click()
    await dialog.waitFor({ state: 'hidden' })
    expect(readFileSync(path, 'utf8')).toMatch(/"torrent"[\s\S]*"noisy"/)
  })

  test(`check 14: an outside edit is shown as a difference${SOON} without a reload, and either version can be taken`, async () => {
    const dashboard = await imported()
    await dashboard.ask('PUT', '/agents/cursor/servers', { server_ids: ['noisy'] })
    const path = fileOf(dashboard, CURSOR)
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/agents')
    await expect.poll(() => checked(page, 'noisy in Cursor')).toBe('true')
    const edit = (argument: string) =>
      writeFileSync(path, readFileSync(path, 'utf8').replace(/(noisy\.mjs")[^\]]*/, `$1, "${argument}"`))
    edit('--theirs')
    const differs = cell(page, 'noisy in Cursor: differs')
    await differs.waitFor(FULL ? { timeout: 2000 } : {})
    await differs.focus()
    await page.keyboard.press('Space')
    const dialog = page.getByRole('dialog', { name: 'noisy in Cursor differs' })
    await dialog.getByText('It differs in: argument 2.').waitFor()
    expect(await dialog.getByRole('region', { name: 'In the file of Cursor' }).innerText()).toContain(
      '--theirs',
    )
    expect(await dialog.getByRole('region', { name: 'In Toolroom' }).innerText()).not.toContain('--theirs')
    await expectAccessible(page, dialog)
    await dialog.getByRole('button', { name: 'Use what the file says' }).click()
    await cell(page, 'noisy in Cursor').waitFor()
    await expect
      .poll(async () => (await dashboard.ask('GET', '/servers/noisy')).body.args)
      .toContain('--theirs')

    edit('--other')
    await differs.click()
    await dialog.getByRole('button', { name: 'Use what Toolroom has' }).click()
    await page.getByRole('status').filter({ hasText: '1 change not written' }).waitFor()
    await page.getByRole('button', { name: 'Write to 1 file' }).click()
    const write = page.getByRole('dialog', { name: 'Write to 1 file' })
    await write.getByRole('button', { name: 'Write to 1 file' }).click()
    await write.waitFor({ state: 'hidden' })
    expect(readFileSync(path, 'utf8')).toContain('--theirs')
    await cell(page, 'noisy in Cursor').waitFor()
  })
})
