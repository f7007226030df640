import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { FULL, runs } from '../support/full-or-short.ts'
import { longLife } from '../support/long-life.ts'
import { executablePath, openBrowser, openPage } from './support/browser.ts'
import { type Dashboard, openDashboard, sharedDashboard, untilLive } from './support/dashboard.ts'
import { longestTaskMs, measure } from './support/measure.ts'

const LOADS = runs(1, 9)
/** Milliseconds of the whole computer, which does other work during `npm test`. */
const WITHIN = FULL ? ' within 1,000 ms' : ''
/** More than the nodes that the document may have. */
const LINES = runs(10_000, 50_000)
const LINES_READ = runs(1000, LINES)
const CALLS_PER_S = 100
const [WARM_UP_S, CALLING_S] = [runs(2, 20, 60), runs(3, 120, 3600)]

describe.runIf(executablePath)('the dashboard under load', () => {
  const shared = sharedDashboard({ register: true })

  test(`R30: Home is usable${WITHIN} after one script, one style sheet and one read of each kind of data`, async () => {
    const dashboard = await shared()
    await dashboard.start('echo')
    const took: number[] = []
    for (let load = 0; load < LOADS; load += 1) {
      const { page, urls } = await openPage(await openBrowser())
      const { busyMs } = await measure(page)
      const began = performance.now()
      await page.goto(dashboard.address)
      await page.getByRole('heading', { level: 1 }).filter({ hasText: 'servers work' }).waitFor()
      await page.getByRole('link', { name: 'echo', exact: true }).waitFor()
      took.push(performance.now() - began)
      if (load > 0) continue
      const named = (part: string) => urls.filter((url) => url.includes(part))
      figure('R30', 'main thread until Home is usable, ms', await busyMs(), { most: 1000 })
      figure('R30', 'scripts that Home loads', named('.js').length, { most: 2 })
      figure('R30', 'style sheets that Home loads', named('.css').length, { exactly: 1 })
      figure('R30', 'requests until Home is usable', urls.length, { most: 20 })
      const api = named('/api/').map((url) => new URL(url).pathname + new URL(url).search)
      expect(api.length, 'nothing is read twice').toBe(new Set(api).size)
    }
    const median = took.toSorted((a, b) => a - b)[Math.floor(LOADS / 2)] ?? Number.NaN
    if (FULL) figure('R30', 'Home is usable, ms', median, { most: 1000 })
  })

  test(`R31: ${LINES_READ} of ${LINES} log lines are scrolled without a long task, and only those in view are in the document`, async () => {
    const dashboard = await openDashboard({ prepare: (home) => longLife(home, LINES) })
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/logs?since=all&level=trace')
    const log = page.getByRole('log', { name: 'Log lines' })
    await log.locator('[data-id]').first().waitFor()
    await log.hover()
    const first = () => log.locator('[data-id]').first().innerText()
    const numberOf = async () => Number(/line (\d+) of a long life/.exec(await first())?.[1] ?? LINES)
    let most = 0
    const longest = await longestTaskMs(page, async () => {
      while ((await numberOf()) > LINES - LINES_READ) {
        await page.mouse.wheel(0, -5000)
        most = Math.max(most, await page.evaluate(() => document.querySelectorAll('*').length))
      }
      for (let step = 0; step < 20; step += 1) await page.mouse.wheel(0, 2000)
      await log.focus()
      await page.keyboard.press('End')
    })
    figure('R31', `longest task while ${LINES_READ} of ${LINES} lines are scrolled, ms`, longest, {
      most: 100,
    })
    figure('R31', `nodes while ${LINES_READ} of ${LINES} lines are scrolled`, most, { most: 5000 })
    expect(complaints).toEqual([])
  })

  test(`R33: a page left open for ${CALLING_S} s at ${CALLS_PER_S} calls a second does not grow, and shows what changed while it slept or the service restarted`, {
    timeout: 7_200_000,
  }, async () => {
    const dashboard = await shared()
    await dashboard.start('echo')
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/traffic')
    const { kept, busyMs, session } = await measure(page)
    await callFor(dashboard, WARM_UP_S)
    const [before, busy] = [await kept(), await busyMs()]
    const calls = await callFor(dashboard, CALLING_S)
    const perCall = ((await busyMs()) - busy) / calls
    const after = await kept()
    figure('R33', 'growth, MB', after.heapMb - before.heapMb, { most: 10 })
    figure('R33', 'more nodes', after.nodes - before.nodes, { most: 500 })
    figure('R33', 'more listeners', after.listeners - before.listeners, { most: 50 })
    figure('R33', 'main thread per call, ms', perCall, { most: 6 })

    await page.goto(dashboard.address)
    const shown = (name: string) => page.getByRole('link', { name, exact: true })
    await shown('slow').waitFor()
    await session.send('Page.setWebLifecycleState', { state: 'frozen' })
    await dashboard.ask('PATCH', '/servers/slow', { name: 'renamed while asleep' })
    await session.send('Page.setWebLifecycleState', { state: 'active' })
    await shown('renamed while asleep').waitFor()
    await page.context().setOffline(true)
    await dashboard.ask('PATCH', '/servers/slow', { name: 'renamed while offline' })
    await page.context().setOffline(false)
    await shown('renamed while offline').waitFor()

    const settled = await kept()
    await dashboard.end()
    await page.getByRole('alert').filter({ hasText: 'Toolroom does not answer.' }).waitFor()
    const again = await dashboard.startAgain()
    await again.ask('PATCH', '/servers/slow', { name: 'renamed after the restart' })
    await shown('renamed after the restart').waitFor()
    await untilLive(page)
    const end = await kept()
    figure('R33', 'more listeners after a restart', end.listeners - settled.listeners, { most: 50 })
  })
})

/** Calls a tool at the rate, or more slowly where the computer is busy. Returns the number of calls. */
async function callFor({ call }: Dashboard, seconds: number): Promise<number> {
  const lanes = 10
  const wanted = (seconds * CALLS_PER_S) / lanes
  const lane = async () => {
    for (let made = 0; made < wanted; made += 1) {
      const next = sleep((1000 * lanes) / CALLS_PER_S)
      expect((await call('echo', 'stats')).status).toBe(200)
      await next
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  return wanted * lanes
}
