import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openService } from '../support/service-process.ts'
import { TOKEN } from '../support/token.ts'
import { executablePath, expectAccessible, expectToFit, openBrowser, openPage } from './support/browser.ts'
import { openDashboard, sharedDashboard } from './support/dashboard.ts'

const SECRET = 'ghp_Settings0123456789abcdefABCDEF0123'
const PASSPHRASE = 'correct horse battery staple'

describe.runIf(executablePath)('Settings', () => {
  const shared = sharedDashboard({ register: true, env: { LOG_MAX_MB: '64' } })

  test('every setting shows its key, its variable and its source; a change is written to config.json; one that a variable sets is off with the reason', async () => {
    const dashboard = await shared()
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/settings')
    await page.getByRole('heading', { name: 'Retention' }).waitFor()
    const { body } = await dashboard.ask('GET', '/settings')
    for (const { key, env } of body.items) await page.getByText(`${key} · ${env}`, { exact: true }).waitFor()

    const space = page.getByRole('textbox', { name: 'Size limit of logs' })
    await expect.poll(() => space.inputValue()).toBe('64')
    expect(await space.isDisabled()).toBe(true)
    await page.getByText('Set by the variable LOG_MAX_MB, which takes precedence.').waitFor()

    await page.getByRole('textbox', { name: 'Keep metrics for' }).fill('14')
    await page.keyboard.press('Enter')
    await page.getByText('Keep metrics for is saved').waitFor()
    const top = async () =>
      (await page.getByRole('textbox', { name: 'Keep metrics for' }).boundingBox())?.y ?? -1
    expect(await top(), 'the page stays where it was scrolled').toBeGreaterThan(0)
    expect(await top()).toBeLessThan(900)
    await page.getByRole('radio', { name: 'Disk, 7 days' }).check()
    await page.getByRole('switch', { name: 'Protect reads' }).press('Space')
    await expect
      .poll(() => JSON.parse(readFileSync(join(dashboard.data, 'config.json'), 'utf8')))
      .toMatchObject({ metrics_retention_days: 14, call_payloads: 'disk', protect_reads: true })
    await page.getByText('Restart needed').first().waitFor()
    await page.getByRole('textbox', { name: 'Keep metrics for' }).fill('many')
    await page.keyboard.press('Enter')
    await page.getByText('This did not work').waitFor()
    await expect.poll(() => page.getByRole('textbox', { name: 'Keep metrics for' }).inputValue()).toBe('14')
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([])
  })

  test('the token is hidden until it is shown, a rotation that a variable forbids is refused with the reason, and a named secret goes in and never comes out', async () => {
    const dashboard = await shared()
    await dashboard.ask('POST', '/keys', { agent_type: 'claude-code', name: 'Claude Code' })
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/settings?section=access')
    const token = page.getByRole('textbox', { name: 'Token', exact: true })
    await token.waitFor()
    expect(await page.content()).not.toContain(TOKEN)
    await page.getByRole('button', { name: 'Show the token' }).click()
    await expect.poll(() => token.inputValue()).toBe(TOKEN)
    await page.getByRole('button', { name: 'Hide the token' }).click()
    await expect.poll(() => token.inputValue()).not.toContain(TOKEN)

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
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByText(/^The key key_\w+ of Claude Code is revoked$/).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('cell', { name: 'Claude Code' }).waitFor()
    expect((await dashboard.ask('GET', '/keys')).body.total).toBe(1)
    await expectAccessible(page)

    await page.getByRole('button', { name: 'Rotate…' }).click()
    await expectAccessible(page, page.getByRole('dialog', { name: 'Replace the token?' }))
    await page.getByRole('button', { name: 'Replace the token' }).click()
    await page.getByText('AUTH_TOKEN').last().waitFor() // of this service, the variable wins
    await page.getByText('This did not work').waitFor()
    expect(await page.evaluate(() => sessionStorage.getItem('toolroom.token'))).toBe(TOKEN)
  })

  test('check 5: without the token Settings asks for permission; checks 26 and 27: no violation, nothing sideways at 320 px; an export can be imported', async () => {
    const dashboard = await shared()
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.visit(page, '/settings')
    await page.getByText('This needs permission.').first().waitFor()
    await expectAccessible(page)
    await dashboard.signIn(page, '/settings?section=access')
    await page.getByRole('textbox', { name: 'Header name' }).waitFor()
    await page.setViewportSize({ width: 320, height: 640 })
    await expectAccessible(page)
    await expectToFit(page, 320)
    await page.setViewportSize({ width: 1440, height: 900 })

    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export', exact: true }).last().click(),
    ])
    await dashboard.ask('DELETE', '/servers/echo')
    await chooseFile(page, await file.path())
    const dialog = page.getByRole('dialog', { name: 'Import 9 servers?' })
    await dialog.getByText('echo: new').waitFor()
    expect((await dashboard.list()).some(({ id }) => id === 'echo')).toBe(false)
    await expectAccessible(page, dialog)
    await dialog.getByRole('button', { name: 'Import' }).click()
    await page.getByText('1 server is imported').waitFor()
    expect((await dashboard.list()).some(({ id }) => id === 'echo')).toBe(true)
    expect(complaints).toEqual([])
  })

  test('a gateway key is shown once and opens the gateway; an export with secrets can be imported with its passphrase only', async () => {
    const dashboard = await openDashboard()
    await dashboard.add({ name: 'notes', command: 'node', args: ['x.mjs'], env: { NOTES_TOKEN: SECRET } })
    const { page, complaints } = await openPage(await openBrowser())
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    await dashboard.signIn(page, '/settings?section=gateway')

    await page.getByRole('button', { name: 'New key…' }).click()
    const dialog = page.getByRole('dialog', { name: 'New gateway key' })
    await dialog.getByRole('combobox', { name: 'Agent' }).fill('Cursor')
    await page.getByRole('option', { name: 'Cursor', exact: true }).click()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Cursor at work')
    await page.keyboard.press('Enter')
    const key = await dialog.getByRole('textbox', { name: 'Key' }).inputValue()
    await dialog.getByRole('button', { name: 'Copy: Key' }).click()
    await expect.poll(copied).toBe(key)
    const initialize = await fetch(`${dashboard.address}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      }),
    })
    expect(initialize.status).toBe(200)
    await initialize.text()
    await expectAccessible(page, dialog)
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('cell', { name: 'Cursor at work' }).waitFor()
    expect(await page.content()).not.toContain(key)

    await page.getByRole('button', { name: 'Export with secrets…' }).click()
    const sealing = page.getByRole('dialog', { name: 'Export with secrets' })
    await sealing.getByLabel('Passphrase', { exact: true }).fill('too short')
    await page.keyboard.press('Enter')
    await sealing.getByText('needs 12 to 256 characters').waitFor()
    await sealing.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE)
    await page.keyboard.press('Enter')
    await sealing.getByText('The two passphrases differ').waitFor()
    await expectAccessible(page, sealing)
    await sealing.getByLabel('The passphrase again').fill(PASSPHRASE)
    const [file] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
    const path = await file.path()
    expect(readFileSync(path, 'utf8')).not.toContain(SECRET)
    await dashboard.ask('DELETE', '/servers/notes')

    await chooseFile(page, path)
    const locked = page.getByRole('dialog', { name: 'This file has secrets' })
    await locked.getByLabel('Passphrase').fill('not the passphrase')
    await page.keyboard.press('Enter')
    await locked.getByText('does not open the secrets of this file').waitFor()
    await expectAccessible(page, locked)
    await locked.getByLabel('Passphrase').fill(PASSPHRASE)
    await page.keyboard.press('Enter')
    const plan = page.getByRole('dialog', { name: 'Import 1 server?' })
    await plan.getByText('notes: new').waitFor()
    await plan.getByRole('button', { name: 'Import' }).click()
    await page.getByText('1 server is imported').waitFor()
    const revealed = await dashboard.ask('POST', '/servers/notes/reveal', {
      field: 'env',
      name: 'NOTES_TOKEN',
    })
    expect(revealed.body.value).toBe(SECRET)
    expect(complaints.filter((text) => !text.includes('422'))).toEqual([])

    await page.getByRole('button', { name: 'Copy address' }).click()
    await expect.poll(copied).toBe(`${dashboard.address}/api/metrics/prometheus`)
    await page.getByRole('button', { name: 'Copy', exact: true }).last().click()
    await expect.poll(copied).toContain('metrics_retention_days')
    for (const secret of [SECRET, TOKEN, key, PASSPHRASE]) expect(await copied()).not.toContain(secret)
  })

  test('WCAG 2.1.4: keys with one letter can be switched off; a generated token is rotated and this tab keeps working', async () => {
    const service = await openService({ env: { AUTH_TOKEN: 'replace-me-with-64-random-hex-characters' } })
    const stored = () => readFileSync(join(service.data, 'token'), 'utf8').trim()
    const before = stored()
    const { page } = await openPage(await openBrowser())
    await page.goto(`${service.address}/settings`)
    await pasteToken(page, before)
    await page.getByRole('button', { name: 'Rotate…' }).click()
    await page.getByRole('button', { name: 'Replace the token' }).click()
    await page.getByText('This tab has the new one.').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect(stored()).not.toBe(before)
    expect(await page.evaluate(() => sessionStorage.getItem('toolroom.token'))).toBe(stored())
    const box = page.getByRole('checkbox', { name: 'A package has an update' })
    let reads = 0
    let release = () => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await page.route('**/api/notices/mutes', async (route) => {
      if (route.request().method() === 'PUT') await held
      else reads += 1
      await route.continue()
    })
    await box.check()
    reads = 0
    // After a reconnect everything is read again, but not over a change that is not answered yet.
    const read = page.waitForResponse((response) => response.url().endsWith('/api/settings'))
    await page.evaluate(() => dispatchEvent(new Event('online')))
    await read
    expect(reads).toBe(0)
    expect(await box.isChecked()).toBe(true)
    const saved = page.waitForResponse((response) => response.request().method() === 'PUT')
    release()
    await saved // a reload would cancel the request
    await page.reload()
    await expect.poll(() => box.isChecked()).toBe(true)

    await page.getByRole('switch', { name: 'Single-key shortcuts' }).press('Space')
    await page.getByRole('heading', { name: 'Settings' }).click()
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').waitFor() // which came after the letters
    expect(new URL(page.url()).pathname).toBe('/settings')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.getByRole('switch', { name: 'Single-key shortcuts' }).press('Space')
    await page.getByRole('heading', { name: 'Settings' }).click()
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await page.waitForURL('**/servers')
  })

  test('a service that is not on loopback says in red that others can reach it', async () => {
    const service = await openService({ env: { HOST: '0.0.0.0' } })
    const { page } = await openPage(await openBrowser())
    await page.goto(`${service.address.replace('0.0.0.0', '127.0.0.1')}/settings?section=access`)
    await pasteToken(page, TOKEN)
    await page.getByText('Anyone on your network can reach this service.').waitFor()
    await page.getByText('Use a strong one, and a TLS proxy.').waitFor()
    await expectAccessible(page, page.getByRole('main'))
  })
})

async function chooseFile(page: Page, path: string): Promise<void> {
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    page.getByRole('button', { name: 'Choose a file…' }).click(),
  ])
  await chooser.setFiles(path)
}

async function pasteToken(page: Page, token: string): Promise<void> {
  await page.getByRole('button', { name: 'paste your token' }).click()
  await page.getByRole('textbox', { name: 'Token' }).fill(token)
  await page.keyboard.press('Enter')
}
