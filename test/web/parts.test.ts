import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { buildWeb } from '../../scripts/build-web.mjs'
import { CHARTS, POINTS, valueAt } from '../../web/src/pages/parts/live-values.ts'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { FULL } from '../support/full-or-short.ts'
import { atEnd, sharedByTests } from '../support/lifetime.ts'
import { openService } from '../support/service-process.ts'
import { TOKEN } from '../support/token.ts'
import {
  executablePath,
  expectAccessibleInBoth,
  openBrowser,
  openPage,
  type Watched,
} from './support/browser.ts'
import { follow, untilLive } from './support/dashboard.ts'
import { longestTaskMs, measure } from './support/measure.ts'

describe.runIf(executablePath)('the page /parts', () => {
  const built = sharedByTests(async () => {
    const home = ownFolder()
    mkdirSync(join(home, '.cursor'))
    writeFileSync(
      join(home, '.cursor', 'mcp.json'),
      '{\n  "mcpServers": {\n    "a": { "command": "b" }\n  }\n}\n',
    )
    return openService({ home, main: await programWithParts() })
  })

  test('every part in every state has no accessibility violation, in light and in dark (check 26), and no inline style or script is refused', async () => {
    const { page, complaints } = await openParts(await built())
    await expectAccessibleInBoth(page)

    await page.getByRole('region', { name: 'Toasts' }).getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('region', { name: 'Toasts' }).getByRole('button', { name: 'Failure' }).click()
    await page.getByText('Removed fetch from Cursor').waitFor()
    await expectAccessibleInBoth(page, page.locator('.mantine-Notifications-notification'))
    await page.getByRole('button', { name: 'Clear…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Clear 18 204 lines of all servers?' })
    const clear = dialog.getByRole('button', { name: 'Clear', exact: true })
    expect(await clear.getAttribute('aria-disabled')).toBe('true')
    await expectAccessibleInBoth(page, dialog)
    await page.keyboard.press('Escape')
    for (const [open, title] of [
      ['Enable in…', 'Enable github in agents'],
      ['Connect Cursor…', 'Connect Cursor'],
    ] as const) {
      await page.getByRole('button', { name: open }).click()
      const server = page.getByRole('dialog', { name: title })
      await server.waitFor()
      await expectAccessibleInBoth(page, server)
      await server.getByRole('button', { name: 'Cancel' }).click()
    }
    expect(complaints).toEqual([])
  })

  test(`check 21, R31: ${CHARTS} live charts with ${POINTS} points are drawn every second without a long task and without growing, and the table lists the same values`, async () => {
    const { page, complaints } = await openParts(await built())
    const live = page.getByRole('region', { name: 'Live charts' })
    await live.getByRole('button', { name: 'Start' }).click()
    await expect.poll(() => live.getByRole('img').count()).toBe(CHARTS)
    const { kept, busyMs } = await measure(page)
    await sleep(WARM_UP_MS)
    const [before, busy] = [await kept(), await busyMs()]
    // A task is measured in CPU time, so that no other process makes it longer.
    const longest = await longestTaskMs(page, () => sleep(WATCHED_MS))
    const after = await kept()
    const shownFor = WATCHED_MS / 1000
    figure('R31', 'longest task with 12 live charts, ms', longest, { most: 100 })
    figure('R31', 'main thread per second of 12 live charts, ms', ((await busyMs()) - busy) / shownFor, {
      most: 250,
    })
    figure('R31', 'growth with 12 live charts, MB', after.heapMb - before.heapMb, { most: 10 })
    expect(after.nodes - before.nodes).toBeLessThan(100)
    expect(after.listeners - before.listeners).toBeLessThan(20)

    await live.getByRole('button', { name: 'Stop and view as table' }).click()
    const rows = await live
      .locator('tbody tr')
      .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)))
    expect(rows).toHaveLength(POINTS)
    const now = Math.floor(Date.now() / 1000)
    const isOf = (second: number) =>
      rows.every((row, index) =>
        row.slice(1).every((text, chart) => text === String(valueAt(chart, 0, second - POINTS + 1 + index))),
      )
    expect(Array.from({ length: 120 }, (_, ago) => now - ago).filter(isOf)).toHaveLength(1)
    expect(complaints).toEqual([])
  })
})

const DIST = fileURLToPath(new URL('../../dist', import.meta.url))
const CACHE = fileURLToPath(new URL('../../node_modules/.cache', import.meta.url))
/** The page is in none of them. */
const LEFT_OUT = /^(?:web|docs|.*\.map)$/

/** The built program with a dashboard that has the page, where it finds its packages. */
async function programWithParts(): Promise<string> {
  mkdirSync(CACHE, { recursive: true })
  const folder = mkdtempSync(join(CACHE, 'parts-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(DIST, folder, { recursive: true, filter: (file) => !LEFT_OUT.test(basename(file)) })
  await buildWeb(join(folder, 'web'), 'parts')
  return join(folder, 'main.js')
}

const [WARM_UP_MS, WATCHED_MS] = FULL ? [5000, 60_000] : [1000, 3000]

async function openParts({ address }: { readonly address: string }): Promise<Watched> {
  const watched = await openPage(await openBrowser())
  const { page } = watched
  await page.addInitScript((token) => sessionStorage.setItem('toolroom.token', token), TOKEN)
  await page.goto(`${address}/settings`)
  await untilLive(page)
  await follow(page, '/parts')
  await page.getByRole('heading', { name: 'Parts', level: 1 }).waitFor()
  await page.locator('canvas').first().waitFor()
  return watched
}
