import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { openBrowser as openOwnBrowser } from '../support/browser.ts'
import { executablePath, expectAccessible, openBrowser, openPage } from './support/browser.ts'
import { sharedDashboard } from './support/dashboard.ts'

const regions = (page: Page) => ({
  polite: page.locator('[aria-live="polite"]'),
  assertive: page.locator('[aria-live="assertive"]'),
})
const crash = (text: string) => ({
  command: process.execPath,
  args: ['-e', `console.error(${JSON.stringify(text)}); process.exit(1)`],
  restart: { policy: 'on_failure', max_delay_s: 1 },
})

declare global {
  interface Window {
    shown: { title: string; body: string; tag: string }[]
  }
}

/** Records what is shown; the notifications themselves are real. */
function recordNotifications(page: Page): Promise<unknown> {
  return page.addInitScript(() => {
    window.shown = []
    const Real = window.Notification
    window.Notification = class extends Real {
      constructor(title: string, options: NotificationOptions = {}) {
        super(title, options)
        window.shown.push({ title, body: options.body ?? '', tag: options.tag ?? '' })
      }
    }
  })
}

describe.runIf(executablePath)('notices and the palette', () => {
  const shared = sharedDashboard({ register: true })

  test('a crash is announced at once and other notices politely; a notification is shown only after a click allowed it, once per server and event; a muted server is quiet', async () => {
    const dashboard = await shared()
    const browser = await openOwnBrowser(true) // the other one has no notifications
    const { page, complaints } = await openPage(browser)
    await page.context().grantPermissions(['notifications'])
    await recordNotifications(page)
    await dashboard.signIn(page, '/settings?section=notifications')
    const { polite, assertive } = regions(page)
    await page.getByRole('button', { name: 'Notify me' }).waitFor()
    await dashboard.add({ name: 'first', ...crash('Error: the first fell over') })
    await dashboard.ask('POST', '/servers/first/start?wait_s=0')
    await expect.poll(() => assertive.innerText()).toContain('first')
    expect(await polite.innerText()).not.toContain('first')
    expect(await page.evaluate(() => window.shown), 'they were not asked for').toEqual([])

    await page.getByRole('button', { name: /notices?$/ }).click()
    const bell = page.getByRole('dialog').or(page.getByLabel('Needs you'))
    await page.getByText('Let this browser notify you').waitFor()
    await expectAccessible(page, bell.first())
    await bell.first().getByRole('button', { name: 'Notify me' }).click()
    await page.getByText('This browser now notifies you').waitFor()
    await page.getByText('Let this browser notify you').waitFor({ state: 'hidden' })
    await dashboard.add({ name: 'second', ...crash('Error: the second fell over') })
    await dashboard.ask('POST', '/servers/second/start?wait_s=0')
    // The first one crashes again meanwhile, which is news, too.
    const shownOf = () =>
      page.evaluate(() => window.shown.filter(({ tag }) => tag === 'server_crashed second'))
    await expect.poll(shownOf).toMatchObject([{ title: expect.stringContaining('second') }])
    const restarts = async () => (await dashboard.ask('GET', '/servers/second')).body.restart_count
    await expect.poll(restarts, { timeout: 30_000 }).toBeGreaterThan(1)
    expect(await shownOf()).toHaveLength(1)

    await page.getByRole('button', { name: 'Mute second' }).click()
    await page.getByText('second is muted.').waitFor()
    await page.getByRole('button', { name: 'Mute second' }).waitFor({ state: 'hidden' })
    expect((await dashboard.ask('GET', '/notices/mutes')).body.servers).toEqual(['second'])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Stop notifying me' }).click()
    await page.getByRole('button', { name: 'Notify me' }).waitFor()
    expect(complaints).toEqual([])

    const other = await openPage(browser)
    await dashboard.signIn(other.page, '/settings?section=notifications')
    await other.page.getByRole('button', { name: 'Notify me' }).or(other.page.getByText(DENIED)).waitFor()
    const button = other.page.getByRole('button', { name: 'Notify me' })
    if (await button.isVisible()) await button.click() // without a window, Chromium answers no
    await other.page.getByText(DENIED).waitFor()
    await expectAccessible(other.page, other.page.getByRole('main'))
    for (const id of ['first', 'second']) await dashboard.ask('DELETE', `/servers/${id}`)
  })

  test('the button of the notices is named after the number that it shows, also when some were seen', async () => {
    const dashboard = await shared()
    for (const name of ['third', 'fourth']) {
      const once = { ...crash('Error: it fell over'), restart: { policy: 'never' } } // a second crash is news again
      await dashboard.add({ name, ...once })
      await dashboard.ask('POST', `/servers/${name}/start?wait_s=0`)
    }
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page)
    const open = async (): Promise<{ id: number; server_id: string | null }[]> =>
      (await dashboard.ask('GET', '/notices')).body.items
    await expect
      .poll(async () => (await open()).map(({ server_id }) => server_id))
      .toEqual(expect.arrayContaining(['third', 'fourth']))
    const bell = page.getByRole('button', { name: /notices$/ })
    await expect.poll(() => bell.getAttribute('aria-label')).toMatch(/^\d+ notices$/)
    const seen = (await open()).find(({ server_id }) => server_id === 'third')
    await dashboard.ask('POST', `/notices/${seen?.id}/seen`)
    await expect.poll(() => bell.getAttribute('aria-label')).toMatch(/^\d+ new of \d+ notices$/)
    await expectAccessible(page, bell)
    for (const id of ['third', 'fourth']) await dashboard.ask('DELETE', `/servers/${id}`)
    expect(complaints).toEqual([])
  })

  test('the palette finds the tools of all servers, and what was used last comes first', async () => {
    const dashboard = await shared()
    await dashboard.start('echo')
    const { body } = await dashboard.ask('GET', '/servers/echo/tools')
    const tool: string = body.items[3].name
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page)
    await page.keyboard.press('Control+k')
    const search = page.getByPlaceholder('Search or run…')
    await search.fill(`call ${tool}`)
    await page.getByRole('button', { name: `Call ${tool}` }).waitFor()
    await expectAccessible(page, page.getByRole('dialog'))
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.pathname === '/playground' && url.searchParams.get('tool') === tool)
    await search.waitFor({ state: 'hidden' })

    await page.keyboard.press('Control+k')
    await search.fill('packages')
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Packages/ })
      .waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/packages')
    await search.waitFor({ state: 'hidden' })
    await page.keyboard.press('Control+k')
    await search.waitFor()
    const places = page.getByRole('button').filter({ has: page.locator('kbd') })
    await expect.poll(() => places.allInnerTexts().then((all) => all.join(' '))).toMatch(/Packages.*Home/s)
    await page.getByRole('button', { name: `Call ${tool}` }).waitFor({ state: 'hidden' }) // reads no tools yet
    expect(complaints).toEqual([])
  })
})

const DENIED = 'The browser does not allow notifications from this address.'
