import { describe, expect, test } from 'vitest'
import { MAIN } from '../support/bridge.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { AUTHORISED } from '../support/test-service.ts'
import { openUntried, STATES, WORKS } from '../support/untried.ts'
import {
  executablePath,
  expectAccessibleInBoth,
  expectToFit,
  openBrowser,
  openPage,
} from './support/browser.ts'
import { follow, untilLive } from './support/dashboard.ts'

const WORDS: Readonly<Record<string, string>> = {
  idle: 'Idle',
  not_tried: 'Not tried',
  failed: 'Failed',
  crashed: 'Crashed',
}

describe.runIf(executablePath)('servers that have not worked since their definition last changed', () => {
  const shared = sharedByTests(() => openUntried({ webFolder: MAIN.replace(/main\.js$/, 'web') }))

  async function opened() {
    const { service } = await shared()
    const { page } = await openPage(await openBrowser())
    const login = await service.inject({ method: 'POST', url: '/api/login-codes', headers: AUTHORISED })
    await page.goto(`${service.address}/#c=${login.json().code}`)
    await untilLive(page)
    return { service, page }
  }

  test('Home, the rail, Servers, the palette and the tab title show only the one that has worked as working', async () => {
    const { page } = await opened()
    const heading = page.getByRole('heading', { level: 1 })
    await heading
      .filter({ hasText: '1 of 7 servers work. 3 were not tried yet. 3 things need you.' })
      .waitFor()
    const rows = page.getByRole('region', { name: 'Servers' }).getByRole('row')
    for (const [id, state] of Object.entries(STATES)) {
      const row = rows.filter({ has: page.getByRole('link', { name: id, exact: true }) })
      await row.getByText(WORDS[state] ?? '', { exact: true }).waitFor()
      expect([id, await row.locator('.ok').count()]).toEqual([id, 0])
    }
    const rail = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Servers' })
    expect(await rail.innerText()).toMatch(/Servers\s*3\s*7/)
    expect(await page.title()).toBe('(3) Home · Toolroom')
    await expectAccessibleInBoth(page)
    await page.setViewportSize({ width: 390, height: 800 })
    await expectToFit(page, 390)
    await page.setViewportSize({ width: 1280, height: 800 })

    await page.keyboard.press('Control+k')
    const palette = page.getByRole('dialog')
    for (const [id, state] of Object.entries(STATES)) {
      await palette.getByRole('textbox').fill(id)
      const found = palette.getByRole('button').filter({ hasText: WORDS[state] ?? '' })
      expect([id, await found.count()]).not.toEqual([id, 0])
    }
    await page.keyboard.press('Escape')

    await follow(page, '/servers')
    const table = page.getByRole('region', { name: 'Servers' })
    await table.getByText('Not tried').first().waitFor()
    expect(await table.getByText('Not tried', { exact: true }).count()).toBe(3)
    expect(await table.getByText('Idle', { exact: true }).count()).toBe(1)
  })

  test('Try all starts each once, and says how many work; then nothing is left to try', async () => {
    const { page, service } = await opened()
    await page.getByRole('button', { name: 'Try all' }).click()
    await page.getByText('3 of 7 servers work').first().waitFor({ timeout: 60_000 })
    await page
      .getByRole('heading', { level: 1 })
      .filter({ hasText: /^3 of 7 servers work\. 4 things need you\.$/ })
      .waitFor()
    expect(await page.getByRole('button', { name: 'Try all' }).count()).toBe(0)
    const servers = (await service.inject('/api/servers')).json().items
    for (const { id, status } of servers) expect([id, status]).toEqual([id, 'idle'])
    expect(servers.find(({ id }: { id: string }) => id === WORKS)).toMatchObject({ last_try: { ok: true } })
  })
})
