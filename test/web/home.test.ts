import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { HOME_SECRET } from '../support/dashboard-home.ts'
import { TOKEN } from '../support/token.ts'
import { executablePath, expectAccessible, expectToFit, openBrowser, openPage } from './support/browser.ts'
import { programAt, sharedDashboard, untilLive } from './support/dashboard.ts'

/** docs/checks.md: the checks of Home. */
describe.runIf(executablePath)('Home', () => {
  const shared = sharedDashboard({ register: true })

  test('check 5: without a token all public reads are shown, changing controls say why they are off, and nothing else complains', async () => {
    const dashboard = await shared()
    await dashboard.ask('POST', '/servers/crash/start')
    await dashboard.until((servers) => servers.some(({ status }) => status === 'backoff'))
    const { page, urls, complaints } = await openPage(await openBrowser())
    await dashboard.visit(page)

    const bar = page.getByRole('region', { name: 'Read-only.' })
    await bar.getByText(`To make changes, run ${programAt(dashboard.home)} open in a terminal`).waitFor()
    await page.getByRole('heading', { level: 1 }).filter({ hasText: 'of 9 servers work.' }).waitFor()
    const servers = page.getByRole('region', { name: 'Servers' })
    expect(await servers.getByRole('link').allInnerTexts()).toEqual(
      expect.arrayContaining(['crash', 'echo', 'flood', 'h200', 'h401', 'mutate', 'noenv', 'noisy', 'slow']),
    )
    await page.getByRole('region', { name: 'Recent' }).getByText('This needs permission.').waitFor()

    const restart = page.getByRole('region', { name: 'Needs you' }).getByRole('button', { name: 'Restart' })
    expect(await restart.getAttribute('aria-disabled')).toBe('true')
    await restart.focus()
    await page.getByRole('tooltip').filter({ hasText: 'Read-only' }).waitFor()
    const sent: string[] = []
    page.on('request', (request) => sent.push(request.method()))
    await restart.press('Enter')
    expect(sent.filter((method) => method !== 'GET')).toEqual([])

    expect(await page.locator('.mantine-Notifications-notification').count()).toBe(0)
    expect(complaints).toEqual([])
    const { host } = new URL(dashboard.address)
    expect(urls.filter((url) => new URL(url).host !== host)).toEqual([])
    expect(await page.content()).not.toContain(HOME_SECRET)
  })

  test('check 6: a one-time code becomes the token, is gone from the address, works once, and the token is in sessionStorage only', async () => {
    const dashboard = await shared()
    const browser = await openBrowser()
    const code = await dashboard.loginCode()
    const { page, urls } = await openPage(browser)
    await page.goto(`${dashboard.address}/?window=24h#c=${code}`)
    await untilLive(page)
    expect(page.url()).toBe(`${dashboard.address}/?window=24h`)
    await expect.poll(() => page.evaluate(() => sessionStorage.getItem('toolroom.token'))).toBe(TOKEN)
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage }) + document.cookie)
    expect(kept).not.toContain(TOKEN)
    expect(await page.context().cookies()).toEqual([])
    expect(urls.filter((url) => url.includes(TOKEN) || url.includes(code))).toEqual([])
    await page.reload()
    await untilLive(page)
    expect(await page.getByRole('region', { name: 'Read-only.' }).count()).toBe(0)

    const second = await openPage(browser)
    await second.page.goto(`${dashboard.address}/#c=${code}`)
    await second.page.getByText('This link was used already, or Toolroom was started again since.').waitFor()
    expect(await second.page.evaluate(() => sessionStorage.getItem('toolroom.token'))).toBeNull()
    const { body } = await dashboard.ask('GET', '/logs?limit=1000')
    expect(JSON.stringify(body)).not.toContain(TOKEN)
    expect(JSON.stringify(body)).not.toContain(code)
  })

  test('check 26: Home and the dialogs of the frame have no accessibility violation', async () => {
    const dashboard = await shared()
    await dashboard.start('echo')
    for (const tool of ['stats', 'stats', 'fail']) await dashboard.call('echo', tool)
    await dashboard.ask('POST', '/servers/crash/start')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page)
    await page.getByRole('region', { name: 'Needs you' }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByPlaceholder('Search or run…').waitFor()
    await expectAccessible(page, page.getByRole('dialog'))
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await expectAccessible(page, page.getByRole('dialog', { name: 'Keys' }))
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /notices?$/ }).click()
    await page.getByText('Mark as seen').first().waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.setViewportSize({ width: 320, height: 640 })
    await expectAccessible(page)
    await expectToFit(page, 320)
    expect(complaints).toEqual([])
  })

  test('a restart of the service is survived: the banner counts down, the last data stays, and what changed meanwhile is shown', async () => {
    const dashboard = await shared()
    const { page } = await openPage(await openBrowser())
    await page.clock.install()
    await dashboard.signIn(page)
    await page.getByRole('link', { name: 'echo', exact: true }).waitFor()
    await dashboard.end()
    const banner = page.getByRole('alert').filter({ hasText: 'Toolroom does not answer.' })
    await banner.getByText(/What you see is from \d\d:\d\d:\d\d\./).waitFor()
    expect(await page.getByRole('link', { name: 'echo', exact: true }).count()).toBe(1)
    const now = await page.evaluate(() => Date.now())
    await page.clock.pauseAt(now + 60_000) // from here on the countdown stands still, and only the button connects

    const again = await dashboard.startAgain()
    await again.ask('PATCH', '/servers/echo', { name: 'renamed meanwhile' })
    await banner.getByRole('button', { name: 'Try now' }).click()
    await page.clock.resume()
    await page.getByRole('link', { name: 'renamed meanwhile' }).waitFor()
    await untilLive(page)
  })
})

test('the first load is small: JavaScript at most 260 KiB, styles 40 KiB and fonts 60 KiB, compressed', async () => {
  const { gzipSync } = await import('node:zlib')
  const web = join(import.meta.dirname, '../../dist/web')
  const index = readFileSync(join(web, 'index.html'), 'utf8')
  const named = [...index.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, file = '']) => file)
  const styles = named.filter((file) => file.endsWith('.css')).map((file) => readFileSync(join(web, file)))
  const fonts = styles.flatMap((css) => [...css.toString().matchAll(/url\(\/?(assets\/[^)"']+\.woff2)\)/g)])
  const kib = (files: readonly Buffer[]) =>
    files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0) / 1024
  const read = (ending: string) =>
    named.filter((file) => file.endsWith(ending)).map((file) => readFileSync(join(web, file)))
  expect(kib(read('.js'))).toBeLessThanOrEqual(260)
  expect(kib(read('.js'))).toBeGreaterThan(50)
  expect(kib(styles)).toBeLessThanOrEqual(40)
  const fontBytes = fonts.reduce((sum, [, file = '']) => sum + readFileSync(join(web, file)).length, 0)
  expect(fonts).toHaveLength(2)
  expect(fontBytes / 1024).toBeLessThanOrEqual(60)
})
