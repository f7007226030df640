import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { FULL } from '../support/full-or-short.ts'
import {
  executablePath,
  expectAccessible,
  expectToFit,
  openBrowser,
  openPage,
  settled,
} from './support/browser.ts'
import { sharedDashboard } from './support/dashboard.ts'
import { longestTaskMs, measure, p95 } from './support/measure.ts'

const LINES_PER_S = 5000
const [FLOOD_S, WATCHED_S] = FULL ? [20, 20] : [5, 3]

interface Stored {
  readonly id: number
  readonly message: string
  readonly repeat: number
  readonly server_id: string | null
}

/** Saves what the page shows, by its button, and returns the lines of the file. */
async function download(page: Page): Promise<Stored[]> {
  await page.getByRole('button', { name: 'Download what I see' }).click()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'NDJSON' }).click(),
  ])
  return readFileSync(await file.path(), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** docs/checks.md: the checks of Logs. */
describe.runIf(executablePath)('Logs', () => {
  const shared = sharedDashboard({ register: true })

  test('check 20: a filter survives a reload, and the download holds exactly the matching lines', async () => {
    const dashboard = await shared()
    await dashboard.start('noisy')
    await dashboard.start('echo')
    await dashboard.ask('POST', '/servers/crash/start')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/logs')
    const log = page.getByRole('log', { name: 'Log lines' })
    await log.getByText('server added').first().waitFor()

    await page.keyboard.press('Space') // a filter applies while the list is paused, too
    await page.getByText('paused by you').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('added')
    await page.getByRole('button', { name: 'Servers all 9' }).click()
    await page.getByRole('checkbox', { name: 'echo' }).click()
    await page.getByRole('checkbox', { name: 'noisy' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('combobox', { name: 'Since' }).click()
    await page.getByRole('option', { name: 'ever' }).click()
    await page.getByText('2 matches').waitFor()
    const address = page.url()
    expect(new URL(address).search).toBe('?q=added&servers=echo%2Cnoisy&since=all')
    let before = ''
    await expect.poll(async () => (before = await log.innerText())).toContain('server added: noisy')
    await page.reload()
    await page.getByText('2 matches').waitFor()
    expect(page.url()).toBe(address)
    await expect.poll(() => log.innerText()).toBe(before)
    const saved = await download(page)
    const { body } = await dashboard.ask(
      'GET',
      '/logs?search=added&server_id=echo&server_id=noisy&level=info&order=asc',
    )
    expect(saved).toEqual(body.items)
    expect(saved.map(({ server_id }) => server_id).toSorted()).toEqual(['echo', 'noisy'])
    expect(complaints).toEqual([])

    await page.getByRole('radio', { name: 'Mark' }).check()
    await log.locator('mark').first().waitFor()
    expect((await download(page)).length).toBeGreaterThan(2)
  })

  test('scrolling up pauses and says why, new lines are counted, End resumes, and a line has its neighbours and a link', async () => {
    const dashboard = await shared()
    await dashboard.start('echo')
    for (let index = 0; index < 40; index += 1) await dashboard.call('echo', 'stats')
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/logs?level=trace')
    const log = page.getByRole('log', { name: 'Log lines' })
    await log.locator('[data-id]').nth(20).waitFor()
    await log.hover()
    await page.mouse.wheel(0, -300)
    await page.getByText('paused, you scrolled up').waitFor()
    const before = await settled(() => log.innerText())
    for (let index = 0; index < 5; index += 1) await dashboard.call('echo', 'fail')
    const newer = page.getByRole('button', { name: /new lines?/ })
    await newer.waitFor()
    expect(await log.innerText()).toBe(before)
    await log.focus()
    await page.keyboard.press('End')
    await newer.waitFor({ state: 'hidden' })
    await page.keyboard.press('Space')
    await page.getByText('paused by you').waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()

    await log.focus()
    for (const key of ['k', 'k', 'j', 'Enter']) await page.keyboard.press(key)
    const around = page.getByRole('dialog', { name: '20 lines before and after' })
    await around.locator('[data-selected]').waitFor()
    expect(await around.locator('[data-id]').count()).toBeGreaterThan(20)
    expect(page.url()).toMatch(/[?&]line=\d+/)
    await expectAccessible(page, around)
    await page.reload()
    await around.locator('[data-selected]').waitFor()
    await page.keyboard.press('Escape')
    await around.waitFor({ state: 'hidden' })
    expect(page.url()).not.toContain('line=')
  })

  test('clearing all logs names the number of lines and asks for a word; checks 26 and 27: no violation, nothing sideways at 320 px', async () => {
    const dashboard = await shared()
    await dashboard.start('noisy')
    await dashboard.ask('POST', '/servers/crash/start')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.visit(page, '/logs')
    const log = page.getByRole('log', { name: 'Log lines' })
    await log.locator('[data-tone="err"]').first().waitFor()
    expect(await page.getByRole('button', { name: 'Clear…' }).getAttribute('aria-disabled')).toBe('true')
    await dashboard.signIn(page, '/logs?q=server&matches=mark')
    await log.locator('mark').first().waitFor()
    await expectAccessible(page)
    await page.setViewportSize({ width: 320, height: 640 })
    await expectAccessible(page)
    await expectToFit(page, 320)
    await page.setViewportSize({ width: 1440, height: 900 })

    await page.getByRole('button', { name: 'Clear…' }).click()
    const dialog = page.getByRole('dialog', { name: /^Clear \d+ lines\?$/ })
    await dialog.getByText('Deletes every line of all servers').waitFor()
    await expectAccessible(page, dialog)
    const clear = dialog.getByRole('button', { name: /^Clear \d+ lines$/ })
    await dialog.getByLabel('Type clear to confirm').press('Enter')
    expect((await dashboard.ask('GET', '/logs?search=crash&limit=1')).body.items).toHaveLength(1)
    await dialog.getByLabel('Type clear to confirm').fill('clear')
    await clear.click()
    await dialog.waitFor({ state: 'hidden' })
    await page.getByText(/lines were cleared/).waitFor()
    const { body } = await dashboard.ask('GET', '/logs?search=server%20added&source=service')
    expect(body.items).toEqual([])
    expect(complaints).toEqual([])
  })

  test(`check 19: ${FLOOD_S} s of 5,000 lines/s leave ${FULL ? 'input quick, ' : ''}no long task and a small document, what left the view is counted, and the file accounts for every line`, async () => {
    const dashboard = await shared()
    const { args = [] } = dashboard.stdio.find(({ name }) => name === 'flood') ?? {}
    const shorter = args.map((arg) => (arg.startsWith('--seconds=') ? `--seconds=${FLOOD_S}` : arg))
    expect((await dashboard.ask('PATCH', '/servers/flood', { args: shorter })).status).toBe(200)
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/logs?servers=flood&level=trace')
    await page.evaluate(MEASURE_INPUT)
    await page.getByRole('textbox', { name: 'Search text' }).waitFor()
    await dashboard.start('flood')
    const log = page.getByRole('log', { name: 'Log lines' })
    await log
      .getByText(/flood \d+ /)
      .first()
      .waitFor()
    await page.getByRole('radio', { name: 'Mark' }).check()
    await page.getByText(/left the view$/).waitFor()
    await page.keyboard.press('/')
    const { busyMs } = await measure(page)
    let [most, rounds, share] = [0, 0, Number.NaN]
    // A key waits for the task that runs. Its length is measured in CPU time, which other processes do not change.
    const longest = await longestTaskMs(page, async () => {
      const [busy, began] = [await busyMs(), performance.now()]
      for (; performance.now() < began + 1000 * WATCHED_S || rounds < 4; rounds += 1) {
        for (const key of 'flood') await page.keyboard.press(key, { delay: 40 })
        await page.keyboard.press('Control+a')
        most = Math.max(most, await page.evaluate(() => document.querySelectorAll('*').length))
      }
      share = ((await busyMs()) - busy) / (performance.now() - began)
    })
    figure('R31', 'longest task in a flood of 5,000 lines/s, ms', longest, { most: 100 })
    figure('R31', 'share of the main thread in a flood', share, { most: 0.6 })
    const delay = await delayOf(page)
    if (FULL) figure('R31', 'p95 of a key in a flood, ms', delay, { most: 100 })
    expect(most).toBeLessThan(5000)

    const sent = FLOOD_S * LINES_PER_S
    await expect
      .poll(async () => (await dashboard.call('flood', 'sent')).body.content?.[0].text, { timeout: 60_000 })
      .toBe(`${sent} of ${sent}`)
    const shown = page.getByText(/^stored /)
    await expect
      .poll(
        async () => {
          const figures = [...(await shown.innerText()).matchAll(/ ([\d\u202f]+)/g)]
          return figures.reduce((sum, [, figure = '']) => sum + Number(figure.replaceAll('\u202f', '')), 0)
        },
        { timeout: 30_000 },
      )
      .toBeGreaterThanOrEqual(sent)
    const saved = (await download(page)).filter(({ message }) => !message.startsWith('server '))
    const dropped = saved.map(({ message }) => Number(/^(\d+) lines were dropped/.exec(message)?.[1] ?? 0))
    const written = saved.filter(({ message }) => message.startsWith('[info] flood '))
    const stored = written.reduce((sum, { repeat }) => sum + repeat, 0)
    expect(stored + dropped.reduce((sum, lines) => sum + lines, 0)).toBe(sent)
    expect(complaints).toEqual([])
  })
})

/** From the key to the frame after the one that shows it, for every key. */
const MEASURE_INPUT = `
  window.inputDelays = []
  document.addEventListener('keydown', ({ timeStamp }) =>
    requestAnimationFrame(() => setTimeout(() => window.inputDelays.push(performance.now() - timeStamp))), true)
`

/** The 95th percentile of all keys. */
async function delayOf(page: Page): Promise<number> {
  const delays = await page.evaluate<number[]>('window.inputDelays.splice(0)')
  expect(delays.length).toBeGreaterThan(15)
  return p95(delays)
}
