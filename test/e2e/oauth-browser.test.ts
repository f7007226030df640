import type { Browser, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { executablePath, openBrowser } from '../support/browser.ts'
import { openLogins } from '../support/logins.ts'
import { movableClock } from '../support/movable-clock.ts'

const ELEVEN_MINUTES_MS = 660_000

/** A page, with everything that the browser complained about: blocked forms, scripts or styles. */
async function openPage(browser: Browser) {
  const page = await (await browser.newContext()).newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    const isIcon = message.location().url.endsWith('/favicon.ico')
    if (message.type() === 'error' && !isIcon) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(error.message))
  return { page, complaints }
}

const press = async (page: Page, button: 'Allow' | 'Deny') => {
  await page.getByRole('button', { name: button }).click()
  await page.waitForURL(/\/oauth\/done/)
  return page.locator('body').innerText()
}

test.runIf(executablePath)(
  'in Chromium: the start page, login, reload, two tabs, denial and a late callback, without a blocked form or script',
  async () => {
    const clock = movableClock()
    const { authorization, service, user, id } = await openLogins()
    const browser = await openBrowser()
    const { page, complaints } = await openPage(browser)
    const callbacks: string[] = []
    page.on(
      'request',
      (request) => request.url().includes('/oauth/callback') && callbacks.push(request.url()),
    )
    const logOut = () => user.must(204, 'DELETE', `/http-servers/${id}/login`)

    // A call says where to log in. The page names the server, the issuer and the scopes; its button begins.
    const { body } = await user.call(id)
    expect(body).toMatchObject({ code: 'login_needed' })
    await page.goto(body.start_url)
    const offered = await page.locator('body').innerText()
    for (const word of ['remote', new URL(authorization.issuer).host, 'mcp:read'])
      expect(offered).toContain(word)
    expect(authorization.registered).toEqual([]) // opening a link does not begin a login
    await page.getByRole('button').click()
    await page.waitForURL(/\/interaction\//)
    expect(await press(page, 'Allow')).toContain(`toolroom login confirm ${id}`)
    expect(page.url()).not.toMatch(/code=|state=/)
    expect((await user.call(id)).body).toMatchObject({ code: 'login_needed' })
    await user.must(200, 'POST', `/http-servers/${id}/login/confirm`, { accept: true })
    expect((await user.call(id)).status).toBe(200)

    // Reload, of the page and of the callback: nothing is used twice.
    await page.reload()
    expect(await page.locator('body').innerText()).toContain('Confirm the login')
    await page.goto(callbacks[0] ?? expect.unreachable())
    expect(await page.locator('body').innerText()).toContain('Confirm the login')
    expect((await user.call(id)).status).toBe(200)
    expect(authorization.requests('/token')).toBe(1)

    // Two tabs of one login.
    await logOut()
    const { authorization_url } = await user.begin(id)
    const tabs = [await openPage(browser), await openPage(browser)]
    for (const { page: tab } of tabs) await tab.goto(authorization_url)
    const texts: string[] = []
    for (const { page: tab } of tabs) texts.push(await press(tab, 'Allow'))
    expect(texts.map((text) => text.includes('2 tools'))).toEqual([true, true])
    expect(authorization.requests('/token')).toBe(2)
    expect((await user.call(id)).status).toBe(200)

    // Denial.
    await logOut()
    const denied = await openPage(browser)
    await denied.page.goto((await user.begin(id)).authorization_url)
    expect(await press(denied.page, 'Deny')).toMatch(/denied|refused/i)
    expect(await user.auth(id)).toMatchObject({ state: 'refused', error: { code: 'access_denied' } })

    // A callback that arrives too late.
    const late = await openPage(browser)
    await late.page.goto((await user.begin(id)).authorization_url)
    const before = authorization.requests('/token')
    clock.jump(ELEVEN_MINUTES_MS)
    expect(await press(late.page, 'Allow')).not.toContain('2 tools')
    expect(authorization.requests('/token')).toBe(before)

    const all = [complaints, ...[...tabs, denied, late].map((each) => each.complaints)].flat()
    expect(all).toEqual([])
    expect(service.warnings).toEqual([])
  },
  120_000,
)
