import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { TOKEN } from '../support/token.ts'
import { executablePath, expectAccessible, openBrowser, openPage } from './support/browser.ts'
import { openDashboard, sharedDashboard, untilLive } from './support/dashboard.ts'
import { stopsWithoutRing } from './support/focus.ts'

const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '')
const path = (page: Page) => new URL(page.url()).pathname

/** The key after `g`, and the title of the page that it leads to. */
const PAGES = {
  s: ['/servers', 'Servers'],
  a: ['/agents', 'Agents'],
  p: ['/playground', 'Playground'],
  t: ['/traffic', 'Traffic'],
  l: ['/logs', 'Logs'],
  k: ['/packages', 'Packages'],
  ',': ['/settings', 'Settings'],
  h: ['/', /servers work/],
} as const

describe.runIf(executablePath)('the frame of every page', () => {
  const shared = sharedDashboard({ register: true })

  test('check 28: the keyboard alone reaches the content, every page, its filter, the palette and a restart; every stop of Tab has a ring of 2 px; letters do nothing while a text is typed', async () => {
    const dashboard = await shared()
    await dashboard.start('echo')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page)
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe('Skip to content')
    await page.keyboard.press('Enter')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content')

    for (const [key, [at, title]] of Object.entries(PAGES)) {
      await page.keyboard.press('g')
      await page.keyboard.press(key)
      await expect.poll(() => path(page)).toBe(at)
      await page.getByRole('heading', { level: 1, name: title }).waitFor()
      expect(await stopsWithoutRing(page), at).toEqual([])
    }
    await page.keyboard.press('/') // Home has no field to filter
    const search = page.getByPlaceholder('Search or run…')
    await search.waitFor()
    await page.keyboard.press('Escape')
    await search.waitFor({ state: 'hidden' })
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await page.getByRole('heading', { level: 1, name: 'Servers' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('g a ech')
    const field = page.locator('main [data-filter]')
    await expect.poll(() => field.inputValue()).toBe('g a ech') // letters are text here
    await field.fill('')
    await page.keyboard.press('Tab')
    await page.keyboard.press('g')
    await page.keyboard.press('h')
    await expect.poll(() => path(page)).toBe('/')

    await page.keyboard.press('Control+k')
    await search.waitFor()
    await page.keyboard.type('g s restart echo') // letters are text here
    expect(path(page)).toBe('/')
    await search.fill('restart echo')
    await page.getByRole('button', { name: 'Restart echo' }).waitFor()
    const before = (await dashboard.ask('GET', '/servers/echo')).body
    await page.keyboard.press('Enter')
    await expect.poll(async () => (await dashboard.ask('GET', '/servers/echo')).body.pid).not.toBe(before.pid)
    await search.waitFor({ state: 'hidden' })

    await page.keyboard.press('?')
    const keys = page.getByRole('dialog', { name: 'Keys' })
    await keys.getByText('Search and run').waitFor()
    await keys.getByLabel('Turn off single-key shortcuts').press('Space')
    await page.keyboard.press('Escape')
    await keys.waitFor({ state: 'hidden' })
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await page.keyboard.press('Control+k')
    await search.waitFor()
    expect(path(page)).toBe('/')
    expect(complaints).toEqual([])
  })

  test('a pasted token is kept only if the service accepts it; a token that it no longer accepts is forgotten', async () => {
    const dashboard = await shared()
    const { page } = await openPage(await openBrowser())
    await dashboard.visit(page)
    await page
      .getByRole('region', { name: 'Read-only.' })
      .getByRole('button', { name: 'Paste your token' })
      .click()
    const dialog = page.getByRole('dialog', { name: 'Paste your token' })
    await expectAccessible(page, dialog)
    await dialog.getByLabel('Token').fill('wrong')
    await page.keyboard.press('Enter')
    await dialog.getByText('Invalid authentication token').waitFor()
    await dialog.getByLabel('Token').fill(TOKEN)
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Read-only.' }).waitFor({ state: 'hidden' })
    expect(await page.evaluate(() => sessionStorage.getItem('toolroom.token'))).toBe(TOKEN)

    await page.evaluate(() => sessionStorage.setItem('toolroom.token', 'replaced'))
    await page.reload()
    await page.getByRole('region', { name: 'Read-only.' }).waitFor()
    await untilLive(page)
    expect(await page.evaluate(() => sessionStorage.getItem('toolroom.token'))).toBeNull()
  })

  test('with PROTECT_READS and no token, the page says that it needs permission, and shows everything after a login', async () => {
    const dashboard = await openDashboard({ register: true, env: { PROTECT_READS: 'true' } })
    const { page } = await openPage(await openBrowser())
    await page.goto(dashboard.address)
    await page.getByRole('main').getByText('This needs permission.').waitFor()
    await page.getByRole('status').filter({ hasText: 'needs permission' }).waitFor()
    await expectAccessible(page)
    await dashboard.signIn(page, '/?window=5m')
    await page.getByRole('link', { name: 'echo', exact: true }).waitFor()
  })

  test('the palette finds every page, view, agent and setting, and what can be done besides starting and stopping servers', async () => {
    const dashboard = await shared()
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/settings')
    const settings = await page
      .locator('main')
      .getByText(/^[a-z_]+ · [A-Z_]+$/)
      .count()
    await page.keyboard.press('Control+k')
    const search = page.getByPlaceholder('Search or run…')
    const found = (name: string) => page.getByRole('button', { name, exact: true }).first().waitFor()
    for (const name of [
      'Home',
      'Playground',
      'Installed packages',
      'Cursor',
      'Claude Desktop',
      'Keep metrics for',
    ]) {
      await search.fill(name)
      await page.locator('[data-action]').filter({ hasText: name }).first().waitFor()
    }
    await search.fill('setting')
    await expect
      .poll(() => page.locator('[data-action]').filter({ hasText: 'Setting' }).count())
      .toBeGreaterThan(settings / 2)
    await search.fill('light or dark')
    await found('Light or dark')
    await search.fill('add an agent')
    await page.locator('[data-action]').first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Add an agent' }).waitFor()
    expect(path(page)).toBe('/agents')
  })

  test('the full form of a text that ends with an ellipsis is shown under the pointer, and while its link has the focus, also when it had to be scrolled to', async () => {
    const dashboard = await shared()
    const name = 'The server with the longest name that anybody could think of'
    await dashboard.ask('PATCH', '/servers/noenv', { name })
    const { page } = await openPage(await openBrowser(), { viewport: { width: 1280, height: 500 } })
    await dashboard.signIn(page, '/servers')
    const link = page.getByRole('link', { name, exact: true })
    const full = page.locator('p').filter({ hasText: name })
    await link.hover()
    await full.waitFor()
    await page.mouse.move(0, 0)
    await full.waitFor({ state: 'hidden' })
    await page.getByRole('checkbox', { name: `Select ${name}` }).focus()
    await page.locator('main').evaluate((main) => main.scrollTo(0, 0))
    await page.keyboard.press('Tab')
    expect(await focused(page)).toBe(name)
    await full.waitFor()
    await page.keyboard.press('Escape')
    await full.waitFor({ state: 'hidden' })
    await dashboard.ask('PATCH', '/servers/noenv', { name: 'noenv' })
  })

  test('a page is read while its live stream connects, and what changed before the stream was open is shown', async () => {
    const dashboard = await shared()
    const browser = await openBrowser()
    const { page: other } = await openPage(browser)
    await dashboard.visit(other) // while a client is connected, events are kept
    const { page, urls } = await openPage(browser)
    let open = () => {}
    const opened = new Promise<void>((resolve) => (open = resolve))
    await page.routeWebSocket('**/api/ws/metrics', async (socket) => {
      await opened
      socket.connectToServer()
    })
    await page.goto(dashboard.address)
    await page.getByRole('link', { name: 'flood', exact: true }).waitFor()
    await dashboard.ask('PATCH', '/servers/flood', { name: 'renamed before' })
    await other.getByRole('link', { name: 'renamed before', exact: true }).waitFor()
    expect(await page.getByRole('link', { name: 'flood', exact: true }).count()).toBe(1)
    open()
    await page.getByRole('link', { name: 'renamed before', exact: true }).waitFor()
    await untilLive(page)
    await dashboard.ask('PATCH', '/servers/flood', { name: 'flood' })
    await page.getByRole('link', { name: 'flood', exact: true }).waitFor()
    expect(
      urls.filter((url) => url.endsWith('/api/packages')),
      'only what changed is read again',
    ).toHaveLength(1)
  })

  test('one change is shown in every tab at once, without a reload', async () => {
    const dashboard = await shared()
    const browser = await openBrowser()
    const [first, second] = [await openPage(browser), await openPage(browser)]
    for (const { page } of [first, second]) await dashboard.signIn(page)
    await dashboard.ask('PATCH', '/servers/slow', { name: 'called otherwise' })
    for (const { page } of [first, second])
      await page.getByRole('link', { name: 'called otherwise' }).waitFor()
    await dashboard.ask('DELETE', '/servers/slow')
    for (const { page } of [first, second]) {
      await page.getByRole('link', { name: 'called otherwise' }).waitFor({ state: 'detached' })
      await untilLive(page)
    }
  })
})
