import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { executablePath, openBrowser, openPage } from './support/browser.ts'
import { openDashboard } from './support/dashboard.ts'

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
  test('check 27: with forced colours and with more contrast the states can be told apart', async () => {
    const dashboard = await openDashboard({ register: true })
    await dashboard.start('echo')
    await dashboard.ask('POST', '/servers/crash/start')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page)
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
