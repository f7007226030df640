import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { executablePath, expectAccessible, expectToFit, openBrowser, openPage } from './support/browser.ts'
import { openDashboard, sharedDashboard, untilLive } from './support/dashboard.ts'

const unread = (page: Page) => page.title().then((title) => /^\((\d+)\)/.exec(title)?.[1] ?? '0')

/** The broken file of the home is a notice, too. */
const ZED_MUTED = { kinds: ['agent_file_unreadable'], servers: [] }

describe.runIf(executablePath)('the detail of a server', () => {
  const shared = sharedDashboard({ register: true })

  test('check 10: a command that is not found lists the folders, offers the path of the login shell, and one click repairs it', async () => {
    const dashboard = await openDashboard({ env: { SHELL: '/bin/sh', TERM: 'xterm' } }) // started in a terminal
    const { home } = dashboard
    const tools = join(home, 'my tools')
    mkdirSync(tools)
    const [echo] = dashboard.stdio
    const script = `#!/bin/sh\nexec '${process.execPath}' '${echo?.args[0]}'\n`
    writeFileSync(join(tools, 'notes-server'), script)
    chmodSync(join(tools, 'notes-server'), 0o755)
    writeFileSync(join(home, '.profile'), `echo welcome\nexport PATH="$PATH:${tools}"\n`)
    await dashboard.add({ name: 'notes', command: 'notes-server' })
    await dashboard.ask('POST', '/servers/notes/start')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers/notes')
    const why = page.getByRole('region', { name: 'Why it is down' })
    await why
      .getByText(/'notes-server' was not found in any of these folders: .*\/usr\/bin/)
      .first()
      .waitFor()
    await why.getByText(`Your login shell finds it at ${join(tools, 'notes-server')}`).waitFor()
    await expectAccessible(page, why)
    await why.getByRole('button', { name: 'Use this path' }).click()
    await page.getByText('Running', { exact: true }).waitFor()
    await why.waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  test('the card of a crashed server says what refused the connection, what was checked, when it is tried again, and how to reproduce it', async () => {
    const dashboard = await openDashboard()
    const script = `console.error('Error: connect ECONNREFUSED 127.0.0.1:9'); process.exit(1)`
    const secret = 'postgres://me:s3cret-of-the-test@127.0.0.1:9/db'
    await dashboard.add({
      name: 'postgres',
      command: process.execPath,
      args: ['-e', script],
      env: { DATABASE_URL: secret },
    })
    await dashboard.ask('POST', '/servers/postgres/start?wait_s=20')
    const { page, complaints } = await openPage(await openBrowser())
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await dashboard.signIn(page, '/servers/postgres')
    const why = page.getByRole('region', { name: 'Why it is down' })
    await why.getByText('Error: connect ECONNREFUSED 127.0.0.1:9', { exact: true }).waitFor()
    await why.getByText('command found').waitFor()
    await why.getByText('DATABASE_URL is set').waitFor()
    await why.getByText(/^Nothing listens on 127\.0\.0\.1:9\./).waitFor()
    await why.getByText(/^If that fails: (after [\d s,.]+, )?then every 5 m/).waitFor()
    await expectAccessible(page, why)
    await why.getByRole('button', { name: 'Copy' }).click()
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    await expect.poll(copied).toMatch(/^cd ~ && DATABASE_URL=\*\*\* \S+ -e /)
    expect(await page.content()).not.toContain('s3cret-of-the-test')
    expect(complaints).toEqual([])
  })

  test('check 22: changed tools raise the bell and show a word diff, which survives a reload; seen closes it', async () => {
    const dashboard = await shared()
    await dashboard.ask('PUT', '/notices/mutes', ZED_MUTED)
    await dashboard.start('mutate')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers/mutate?tab=tools')
    await page.getByRole('link', { name: 'send_report' }).waitFor()
    expect(await unread(page)).toBe('0')
    await page.getByRole('button', { name: 'Restart' }).click()
    const changed = page.getByRole('region', { name: 'Tools changed' })
    await changed.getByText('1 new, 1 changed').waitFor()
    await expect.poll(() => unread(page)).toBe('1')
    await page.reload()
    await untilLive(page)
    await changed.locator('del', { hasText: 'you' }).waitFor()
    await changed.locator('ins', { hasText: 'every address' }).waitFor()
    await expectAccessible(page, changed)
    await changed.getByRole('button', { name: 'Seen' }).click()
    await expect.poll(() => unread(page)).toBe('0')
    expect(complaints).toEqual([])
  })

  test('check 8: a missing variable is named, its button opens a dialog, which keeps the value as a secret and starts the server', async () => {
    const dashboard = await shared()
    await dashboard.ask('POST', '/servers/noenv/start?wait_s=20')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers/noenv')
    const why = page.getByRole('region', { name: 'Why it is down' })
    await why.getByText('Error: the environment variable TOKEN is required', { exact: true }).waitFor()
    await page.getByText(/exit code 1 at/).waitFor()
    await why.getByRole('button', { name: 'Set TOKEN' }).click()
    const dialog = page.getByRole('dialog', { name: 'Set TOKEN' })
    const field = dialog.getByRole('textbox', { name: 'Value' })
    await expect.poll(() => field.evaluate((element) => element === document.activeElement)).toBe(true)
    await page.keyboard.type('a-token-of-the-test')
    expect(await dialog.getByRole('checkbox', { name: 'Keep it as a secret' }).isChecked()).toBe(true)
    await expectAccessible(page, dialog)
    await page.keyboard.press('Enter')
    await page.getByText('Stored TOKEN').waitFor()
    await page.getByText('noenv runs, with 1 tool').waitFor()
    await page.getByText('Running', { exact: true }).waitFor()
    await dialog.waitFor({ state: 'detached' })
    const { body } = await dashboard.ask('GET', '/servers/noenv')
    expect(body.env).toEqual({ TOKEN: `$\{secret:TOKEN}` })
    await expect.poll(() => page.content()).not.toContain('a-token-of-the-test')
    expect(complaints).toEqual([])
  })

  test('check 22: with HOLD_CHANGED_TOOLS a changed tool is held until it is approved on its page', async () => {
    const dashboard = await openDashboard({ register: true, env: { HOLD_CHANGED_TOOLS: 'true' } })
    await dashboard.ask('PUT', '/notices/mutes', ZED_MUTED)
    await dashboard.start('mutate')
    await dashboard.ask('POST', '/servers/mutate/restart')
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers/mutate?tab=tools')
    const held = page.getByRole('region', { name: '2 tools are held until you approve them' })
    await held.locator('ins', { hasText: 'every address' }).waitFor()
    const state = async () =>
      (await dashboard.ask('GET', '/servers/mutate/tools')).body.items.map(
        (tool: { state: string }) => tool.state,
      )
    expect(await state()).toEqual(['held', 'held'])
    await held.getByRole('button', { name: 'Keep held' }).click()
    await expect.poll(() => unread(page)).toBe('0')
    expect(await state()).toEqual(['held', 'held'])
    await held.getByRole('button', { name: 'Approve all' }).click()
    await held.waitFor({ state: 'detached' })
    await expect.poll(state).toEqual(['ok', 'ok'])
  })

  test('the keys 1 to 6 show the six tabs, and tools can be switched off one after the other', async () => {
    const dashboard = await shared()
    await dashboard.start('echo')
    await dashboard.call('echo', 'stats')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers/echo')
    const tabs = ['Overview', 'Tools', 'Traffic', 'Logs', 'Config', 'Agents']
    for (const [index, name] of tabs.entries()) {
      await page.keyboard.press(String(index + 1))
      await page.getByRole('tab', { name, selected: true }).waitFor()
    }
    await page.keyboard.press('3')
    await page.getByRole('table', { name: 'Traffic' }).getByText('stats').waitFor()
    await page.keyboard.press('2')
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'delete_note' }) })
    await row.getByText('destructive').waitFor()
    // The service is slow, so the second switch moves before the first one is saved.
    await page.route('**/api/servers/echo', async (route) => {
      if (route.request().method() === 'PATCH') await setTimeout(500)
      await route.continue()
    })
    await row.getByRole('switch').press('Space')
    await page.getByRole('switch', { name: 'append' }).press('Space')
    await page.getByText('10 of 12 on').waitFor()
    await expect
      .poll(async () => (await dashboard.ask('GET', '/servers/echo')).body.tools)
      .toMatchObject({ delete_note: { enabled: false }, append: { enabled: false } })
    expect(complaints).toEqual([])
  })

  test('the form and the JSON edit the same definition; a secret is shown only on request, and masked again after 30 s', async () => {
    const secret = 'a-secret-that-is-stored'
    const dashboard = await shared()
    const [echo] = dashboard.stdio
    await dashboard.add({ ...echo, name: 'notes', env: { NOTES_TOKEN: secret } })
    const { page, complaints } = await openPage(await openBrowser())
    await page.clock.install()
    await dashboard.signIn(page, '/servers/notes?tab=config')
    const json = page.getByRole('textbox', { name: 'Definition as JSON' })
    const value = page.getByRole('textbox', { name: 'Value of NOTES_TOKEN' })
    await value.waitFor()
    expect(await value.inputValue()).toBe('***')
    expect(await json.inputValue()).not.toContain(secret)
    await page.getByRole('button', { name: 'Show NOTES_TOKEN for 30 s' }).click()
    await expect.poll(() => value.inputValue()).toBe(secret)
    await page.clock.fastForward(31_000)
    await expect.poll(() => value.inputValue()).toBe('***')

    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('My notes')
    await expect.poll(async () => JSON.parse(await json.inputValue()).name).toBe('My notes')
    const changed = { ...JSON.parse(await json.inputValue()), tags: ['work'] }
    await json.fill('{ "name": ')
    await page.getByText(/The JSON cannot be read/).waitFor()
    await json.fill(JSON.stringify(changed))
    await expect.poll(() => page.getByRole('textbox', { name: /^Tags/ }).inputValue()).toBe('work')
    await page.getByText('2 changes not saved').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved My notes').waitFor()
    expect((await dashboard.ask('GET', '/servers/notes')).body).toMatchObject({
      name: 'My notes',
      tags: ['work'],
      env: { NOTES_TOKEN: '***' },
    })
    const revealed = await dashboard.ask('POST', '/servers/notes/reveal', {
      field: 'env',
      name: 'NOTES_TOKEN',
    })
    expect(revealed.body.value).toBe(secret)
    expect(complaints).toEqual([])
  })

  test('checks 26 and 27: no tab has an accessibility violation, and none scrolls sideways at 320 px', async () => {
    const dashboard = await shared()
    await dashboard.start('echo')
    for (const tool of ['stats', 'fail']) await dashboard.call('echo', tool)
    await dashboard.ask('POST', '/servers/crash/start?wait_s=20')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers/echo')
    const fits = async (name: string) => {
      await page.setViewportSize({ width: 320, height: 640 })
      await expectToFit(page, 320, name)
      await page.setViewportSize({ width: 1440, height: 900 })
    }
    for (const [index, name] of ['Overview', 'Tools', 'Traffic', 'Logs', 'Config', 'Agents'].entries()) {
      await page.keyboard.press(String(index + 1))
      await page.getByRole('tab', { name, selected: true }).waitFor()
      await expectAccessible(page, index === 0 ? undefined : page.getByRole('tabpanel'))
      await fits(name)
    }
    await page.goto(`${dashboard.address}/servers/crash?table=1`)
    await page.getByRole('region', { name: 'Why it is down' }).getByText('Attempts').waitFor()
    await expectAccessible(page)
    await fits('why')
    await page.goto(`${dashboard.address}/servers/none`)
    await page.getByText('There is no server with this id').waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })
})
