import type { CDPSession, Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { FULL } from '../support/full-or-short.ts'
import { executablePath, openBrowser, openPage, setScheme } from './support/browser.ts'
import { layoutFaults, untilDrawn, watchDrawing } from './support/layout-faults.ts'
import { HOMES, type HomeKind, openLayoutHome } from './support/layout-home.ts'
import { openPlace, PLACES, type Place } from './support/places.ts'

interface View {
  readonly name: string
  readonly width: number
  readonly height: number
  readonly zoom: number
  readonly scheme: 'light' | 'dark'
}
const SIZES = [
  { name: '320 px', width: 320, height: 640, zoom: 1 },
  { name: '390 px', width: 390, height: 844, zoom: 1 },
  { name: '768 px', width: 768, height: 1024, zoom: 1 },
  { name: '1024 px', width: 1024, height: 768, zoom: 1 },
  { name: '1440 px', width: 1440, height: 900, zoom: 1 },
  { name: '1920 px', width: 1920, height: 1080, zoom: 1 },
  { name: '1280 px at 200 %', width: 640, height: 400, zoom: 2 },
  { name: '1280 px at 400 %', width: 320, height: 200, zoom: 4 },
] as const
const SCHEMES = ['light', 'dark'] as const

/**
 * `npm run goals` has every place in every home, size and scheme. `npm test` has a page in two of the four homes, in half of
 * the sizes each, and a dialog or menu in one home and size: each page occurs in every size, and each size in every home and
 * scheme.
 */
function chosen(kind: HomeKind): { place: Place; views: readonly View[] }[] {
  return PLACES.flatMap((place, index) => {
    const homes = place.homes ?? HOMES
    const at = homes.indexOf(kind)
    const isPage = place.within === undefined
    const isOpened = isPage && homes.length > 1 ? at % 2 === index % 2 : at === homes.length - 1
    if (at < 0 || (!FULL && !isOpened)) return []
    const fitting = SIZES.filter(
      ({ width }) => width >= (place.from ?? 0) && width <= (place.upTo ?? Number.POSITIVE_INFINITY),
    )
    const turn = index + (at >> 1)
    const isTurn = (size: (typeof SIZES)[number]) => (SIZES.indexOf(size) + turn) % 2 === 0
    const own = isPage ? fitting.filter(isTurn) : fitting.slice(turn % fitting.length).slice(0, 1)
    const sizes = FULL || place.upTo !== undefined ? fitting : own
    const views = SCHEMES.flatMap((scheme, half) =>
      sizes.filter((_, size) => FULL || (size + index) % 2 === half).map((size) => ({ scheme, ...size })),
    )
    return [{ place, views }]
  })
}

async function resize(page: Page, session: CDPSession, { width, height, zoom, scheme }: View): Promise<void> {
  const metrics = { width, height, deviceScaleFactor: zoom, mobile: false }
  await session.send('Emulation.setDeviceMetricsOverride', metrics)
  const { colorScheme } = await page.evaluate(() => getComputedStyle(document.documentElement))
  if (colorScheme !== scheme) await setScheme(page, scheme)
  await untilDrawn(page)
}

const ROWS = {
  none: 'no row',
  one: 'one row',
  many: '500 rows',
  long: '500 rows and very long names',
} as const

describe.runIf(executablePath)('every page, dialog and menu', () => {
  test.each(HOMES.map((kind) => ({ kind, rows: ROWS[kind] })))(
    'check 27: with $rows, no text overlaps another or is cut, no control is covered or out of reach, columns align, and only named areas scroll',
    async ({ kind }) => {
      const home = await openLayoutHome(kind)
      const { page } = await openPage(await openBrowser(), { reducedMotion: 'reduce' })
      await watchDrawing(page)
      // Without servers, Home would lead to the first run, which is a place of its own.
      await page.addInitScript(() => localStorage.setItem('toolroom.first-run-over', '1'))
      const session = await page.context().newCDPSession(page)
      const faults: string[] = []
      for (const { place, views } of chosen(kind)) {
        await openPlace(page, home, place, 1440)
        if (await page.evaluate(() => document.getAnimations().length > 0)) faults.push(`${place.name} moves`)
        for (const view of views) {
          await resize(page, session, view)
          // A menu closes when another layout takes the place of what it belongs to.
          if (place.within !== undefined && !(await page.locator(place.within).first().isVisible())) {
            await session.send('Emulation.clearDeviceMetricsOverride')
            await openPlace(page, home, place, view.width)
            await resize(page, session, view)
          }
          const found = await layoutFaults(page, place.within)
          faults.push(...found.map((fault) => `${place.name}, ${view.name}, ${view.scheme}: ${fault}`))
        }
        await session.send('Emulation.clearDeviceMetricsOverride')
      }
      expect(faults).toEqual([])
    },
  )
})
