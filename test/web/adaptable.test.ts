import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { FULL } from '../support/full-or-short.ts'
import { executablePath, openBrowser, openPage } from './support/browser.ts'
import { follow, openDashboard } from './support/dashboard.ts'

/** Every page, each in a state that has content. */
const PAGES = [
  '/',
  '/servers',
  '/servers/crash',
  '/servers/echo?tab=tools',
  '/servers/echo?tab=config',
  '/agents',
  '/agents/cursor',
  '/playground?server=echo&tool=create_note',
  '/traffic',
  '/logs',
  '/packages',
  '/settings',
  '/welcome',
]
const WIDEST = 1280
/** The narrowest of every range between two breakpoints of the style sheets, where space is short, and some between. */
const WIDTHS = FULL ? [320, 390, 480, 601, 701, 800, 901, 1000, 1101, 1181, WIDEST] : [320, 601, 901, WIDEST]

/** How far the page can be scrolled sideways, and what causes it. */
const sideways = (page: Page) =>
  page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    const main = document.querySelector('main')
    const over = Math.max(scrollWidth - clientWidth, (main?.scrollWidth ?? 0) - (main?.clientWidth ?? 0))
    if (over <= 0) return null
    const wide = [...document.querySelectorAll('main *')].find(
      (element) => element.getBoundingClientRect().right > clientWidth + 1,
    )
    return `${over} px: ${wide?.outerHTML.slice(0, 120)}`
  })

/** Glyphs and words of the states, with the colours that the browser draws them in. */
const states = (page: Page) =>
  page.locator('main table svg[viewBox="0 0 12 12"]').evaluateAll((glyphs) =>
    glyphs.map((glyph) => {
      const { color } = getComputedStyle(glyph)
      const row = glyph.closest('tr')
      return { shape: glyph.innerHTML, color, background: row ? getComputedStyle(row).backgroundColor : '' }
    }),
  )

describe.runIf(executablePath)('the dashboard adapts', () => {
  test('check 27: no page scrolls sideways at any width from 320 to 1280, nor at 400 % zoom; nothing moves under reduced motion; with forced colours and with more contrast the states can be told apart', async () => {
    const dashboard = await openDashboard({ register: true })
    await dashboard.start('echo')
    await dashboard.ask('POST', '/servers/crash/start')
    const { page, complaints } = await openPage(await openBrowser(), { reducedMotion: 'reduce' })
    await dashboard.signIn(page)
    const moving: string[] = []
    for (const path of PAGES) {
      await follow(page, path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 })
        await expect.poll(() => sideways(page), { message: `${path} at ${width}` }).toBeNull()
      }
      // 1280 × 800 at 400 % leaves 320 × 200.
      await page.setViewportSize({ width: 320, height: 200 })
      await expect.poll(() => sideways(page), { message: `${path} at 400 %` }).toBeNull()
      const animated = await page.evaluate(() => document.getAnimations().length)
      if (animated > 0) moving.push(path)
    }
    expect(moving).toEqual([])

    await page.setViewportSize({ width: WIDEST, height: 800 })
    await page.goto(dashboard.address)
    await page.getByRole('link', { name: 'crash', exact: true }).waitFor()
    for (const look of [{ forcedColors: 'active' }, { forcedColors: 'none', contrast: 'more' }] as const) {
      await page.emulateMedia(look)
      const found = await states(page)
      expect(new Set(found.map(({ shape }) => shape)).size, JSON.stringify(look)).toBeGreaterThan(2)
      for (const { color, background } of found) expect(color).not.toBe(background)
    }
    const [muted, text] = await page.evaluate(() =>
      ['muted', 'text'].map((name) =>
        getComputedStyle(document.documentElement).getPropertyValue(`--tr-${name}`),
      ),
    )
    expect(muted).toBe(text)
    expect(complaints).toEqual([])
  })
})
