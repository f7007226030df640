import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { ownFolder } from '../support/folder.ts'
import { FULL } from '../support/full-or-short.ts'
import { executablePath, openBrowser, openPage, setScheme } from './support/browser.ts'
import { SHOTS } from './support/shots.ts'
import { openWorkshop } from './support/workshop.ts'

/** `npm run screenshots` sets the folder of the pictures. `npm run goals` takes one, into a temporary folder. */
const folder = process.env.TOOLROOM_SCREENSHOTS
const only = process.env.TOOLROOM_SCREENSHOTS_ONLY?.split(',')
const VIEW = { width: 1280, height: 800 }
const QUALITY = 52
const MOST_BYTES = 1_500_000

const shots = SHOTS.filter(({ name }) =>
  only ? only.includes(name) : folder !== undefined || name === 'agents',
)

const PLACES = [tmpdir(), fileURLToPath(new URL('../..', import.meta.url))]

/** In light and in dark, as small files. */
async function take(page: Page, name: string, into: string): Promise<number> {
  const session = await page.context().newCDPSession(page)
  let bytes = 0
  for (const scheme of ['light', 'dark'] as const) {
    await setScheme(page, scheme)
    await page.evaluate(() => document.fonts.ready)
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
    const path = join(into, `${name}-${scheme}.webp`)
    writeFileSync(path, Buffer.from(data, 'base64'))
    bytes += statSync(path).size
  }
  return bytes
}

describe.runIf(executablePath && (FULL || folder !== undefined))('the pictures of the dashboard', () => {
  test(`${shots.length} of ${SHOTS.length} pictures are taken, in light and in dark, and show no path of this computer`, async () => {
    const into = folder ?? ownFolder()
    mkdirSync(into, { recursive: true })
    const workshop = await openWorkshop(folder === undefined ? { minutes: 1 } : { minutes: 60, port: '8665' })
    const { page, complaints } = await openPage(await openBrowser(), {
      viewport: VIEW,
      deviceScaleFactor: folder === undefined ? 1 : 1.5,
      reducedMotion: 'reduce',
      timezoneId: 'UTC',
    })
    const { code } = await workshop.did('POST', '/login-codes')
    await page.goto(`${workshop.address}/settings#c=${code}`)
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor()
    const shown: string[] = []
    let bytes = 0
    await workshop.addServers()
    for (const { name, path, show } of shots) {
      await page.goto(`${workshop.address}${path}`)
      await show(page, workshop)
      bytes += await take(page, name, into)
      const lines = (await page.locator('body').innerText()).split('\n')
      shown.push(...lines.filter((line) => PLACES.some((place) => line.includes(place))))
    }
    expect(shown, 'lines with a path of this computer').toEqual([])
    expect(complaints).toEqual([])
    expect(bytes).toBeLessThan(MOST_BYTES)
    const first = readFileSync(join(into, `${shots[0]?.name}-light.webp`))
    expect(first.subarray(8, 12).toString()).toBe('WEBP')
  })
})
