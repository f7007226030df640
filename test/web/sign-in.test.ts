import { describe, expect, test } from 'vitest'
import { openRemote } from '../support/logins.ts'
import { executablePath, expectAccessible, openBrowser, openPage } from './support/browser.ts'
import { openDashboard } from './support/dashboard.ts'

describe.runIf(executablePath)('Sign in', () => {
  test('a server that answers 401 needs a sign-in; the button opens the page of the issuer; a denial is said; after the callback the row is connected without a reload', async () => {
    const { authorization, server } = await openRemote()
    const dashboard = await openDashboard()
    const added = await dashboard.ask('POST', '/http-servers', { name: 'remote', url: server.url })
    expect(added.status).toBe(201)
    await dashboard.ask('POST', '/http-servers/remote/test')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers')
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'remote', exact: true }) })
    await row.getByText('Needs sign-in').waitFor()
    await expectAccessible(page, page.getByRole('main'))

    const decide = async (button: 'Allow' | 'Deny') => {
      const [tab] = await Promise.all([
        page.context().waitForEvent('page'),
        page
          .getByRole('button', { name: /^Sign in/ })
          .first()
          .click(),
      ])
      await tab.getByRole('button', { name: button }).click()
      await tab.waitForURL(/\/oauth\/done/)
      const said = await tab.locator('body').innerText()
      await tab.close()
      return said
    }
    expect(await decide('Deny')).toMatch(/denied|refused/i)
    await page.getByText('Not signed in').first().waitFor()
    expect(await row.getByText('Connected').count()).toBe(0)

    expect(await decide('Allow')).toContain('2 tools')
    await row.getByText('Connected').waitFor()
    await expect.poll(() => page.getByRole('button', { name: /^Sign in/ }).count()).toBe(0)
    expect(authorization.requests('/token')).toBe(1)
    expect(complaints).toEqual([])
  })
})
