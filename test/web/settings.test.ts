import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TOKEN } from '../support/house.ts'
import { executablePath, expectAccessible, openBrowser, openPage } from './support/browser.ts'
import { openDashboard } from './support/dashboard.ts'

const SECRET = 'ghp_Settings0123456789abcdefABCDEF0123'

describe.runIf(executablePath)('Settings', () => {
  test('every setting shows its key, its variable and its source; a change is written to config.json; one that a variable sets is off with the reason', async () => {
    const dashboard = await openDashboard({ register: true, env: { LOG_MAX_MB: '64' } })
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/settings')
    await page.getByRole('heading', { name: 'Retention' }).waitFor()
    const { body } = await dashboard.ask('GET', '/settings')
    for (const { key, env } of body.items) await page.getByText(`${key} · ${env}`, { exact: true }).waitFor()

    const space = page.getByRole('textbox', { name: 'Space for logs' })
    expect(await space.inputValue()).toBe('64')
    expect(await space.isDisabled()).toBe(true)
    await page.getByText('Set by the variable LOG_MAX_MB, which wins over this page.').waitFor()

    await page.getByRole('textbox', { name: 'Age of figures' }).fill('14')
    await page.keyboard.press('Enter')
    await page.getByText('Age of figures is saved').waitFor()
    const top = async () =>
      (await page.getByRole('textbox', { name: 'Age of figures' }).boundingBox())?.y ?? -1
    expect(await top(), 'the page stays where it was scrolled').toBeGreaterThan(0)
    expect(await top()).toBeLessThan(900)
    await page.getByRole('radio', { name: 'Disk, 7 days' }).check()
    await page.getByRole('switch', { name: 'Protect reads' }).press('Space')
    await expect
      .poll(() => JSON.parse(readFileSync(join(dashboard.data, 'config.json'), 'utf8')))
      .toMatchObject({ metrics_retention_days: 14, call_payloads: 'disk', protect_reads: true })
    await page.getByText('Restart needed').first().waitFor()
    await page.getByRole('textbox', { name: 'Age of figures' }).fill('many')
    await page.keyboard.press('Enter')
    await page.getByText('This did not work').waitFor()
    await expect.poll(() => page.getByRole('textbox', { name: 'Age of figures' }).inputValue()).toBe('14')
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([])
  })

  test('the token is hidden until it is shown, a rotation that a variable forbids is refused with the reason, and a named secret goes in and never comes out', async () => {
    const dashboard = await openDashboard({ register: true })
    await dashboard.ask('POST', '/keys', { agent_type: 'claude-code', name: 'Claude Code' })
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/settings?section=access')
    const token = page.getByRole('textbox', { name: 'Token', exact: true })
    await token.waitFor()
    expect(await page.content()).not.toContain(TOKEN)
    await page.getByRole('button', { name: 'Show the token' }).click()
    expect(await token.inputValue()).toBe(TOKEN)
    await page.getByRole('button', { name: 'Hide the token' }).click()
    expect(await token.inputValue()).not.toContain(TOKEN)

    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('GITHUB_TOKEN')
    await page.getByLabel('Value').fill(SECRET)
    await page.getByRole('button', { name: 'Save secret' }).click()
    await page.getByText('GITHUB_TOKEN is saved').waitFor()
    await page.getByRole('textbox', { name: 'Try the redaction' }).fill(`Authorization: Bearer ${SECRET}`)
    await page.getByText('1 secret hidden').waitFor()
    await page.getByRole('textbox', { name: 'Try the redaction' }).fill('')
    expect(await page.content()).not.toContain(SECRET)

    await page.getByRole('checkbox', { name: 'A package has an update' }).click()
    await expect
      .poll(async () => (await dashboard.ask('GET', '/notices/mutes')).body.kinds)
      .toEqual(['package_update'])
    await page.getByRole('button', { name: 'Take away' }).click()
    await page.getByText('The key of Claude Code is taken away').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('cell', { name: 'Claude Code' }).waitFor()
    expect((await dashboard.ask('GET', '/keys')).body.total).toBe(1)
    await expectAccessible(page)

    await page.getByRole('button', { name: 'Rotate…' }).click()
    await page.getByRole('dialog', { name: 'Replace the token?' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Replace the token' }).click()
    await page.getByText('AUTH_TOKEN').last().waitFor() // of this service, the variable wins
    await page.getByText('This did not work').waitFor()
    expect(await page.evaluate(() => sessionStorage.getItem('toolroom.token'))).toBe(TOKEN)
  })

  test('check 5: without the token Settings asks for permission; checks 26 and 27: no violation in light and dark, nothing sideways at 320 px; an export can be imported', async () => {
    const dashboard = await openDashboard({ register: true })
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.visit(page, '/settings')
    await page.getByText('This needs permission.').first().waitFor()
    await expectAccessible(page)
    await dashboard.signIn(page, '/settings?section=access')
    await page.getByRole('textbox', { name: 'Header name' }).waitFor()
    await page.setViewportSize({ width: 320, height: 640 })
    await expectAccessible(page)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320)
    await page.setViewportSize({ width: 1440, height: 900 })

    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export', exact: true }).last().click(),
    ])
    await dashboard.ask('DELETE', '/servers/echo')
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Choose a file…' }).click(),
    ])
    await chooser.setFiles(await file.path())
    const dialog = page.getByRole('dialog', { name: 'Import 9 servers?' })
    await dialog.getByText('echo: created').waitFor()
    expect((await dashboard.list()).some(({ id }) => id === 'echo')).toBe(false)
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Import' }).click()
    await page.getByText('1 server is imported').waitFor()
    expect((await dashboard.list()).some(({ id }) => id === 'echo')).toBe(true)
    expect(complaints).toEqual([])
  })
})
