import type { Page } from 'playwright-core'
import { FULL } from '../../support/full-or-short.ts'

const LEAST_STOPS = 15
const MOST_STOPS = 300
/** `npm test` looks at the first ones of each page. */
const STOPS_SEEN = FULL ? MOST_STOPS : 20

/** Presses Tab from the top of the page to its end. Returns what had the focus without a ring of 2 px in its colour. */
export async function stopsWithoutRing(page: Page): Promise<string[]> {
  const without: string[] = []
  await page.locator('a[href="#content"]').focus()
  for (let stop = 0; stop < MOST_STOPS; stop += 1) {
    const { isEnd, hasRing, html } = await page.evaluate(focusedNow)
    if (isEnd && stop > LEAST_STOPS) return without
    if (!hasRing) without.push(html)
    if (stop === STOPS_SEEN) {
      await page.locator('a[href="#content"]').focus() // the last stop may be a text field
      return without
    }
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not come to the end of the page after ${MOST_STOPS} stops`)
}

/** Runs in the page. */
function focusedNow(): { isEnd: boolean; hasRing: boolean; html: string } {
  const focused = document.activeElement
  const isEnd = focused === null || focused === document.body || focused.matches('a[href="#content"]')
  const info = getComputedStyle(document.documentElement).getPropertyValue('--tr-info').trim()
  const rgb = [1, 3, 5].map((at) => Number.parseInt(info.slice(at, at + 2), 16))
  const hasRing = (element: Element | null | undefined) => {
    if (!element) return false
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(element)
    return outlineStyle === 'solid' && outlineWidth === '2px' && outlineColor === `rgb(${rgb.join(', ')})`
  }
  // The label of a radio button draws its ring. So does the cell of a grid, and a field that has several parts.
  const around = [
    focused,
    focused?.nextElementSibling,
    focused?.parentElement,
    focused?.parentElement?.parentElement,
  ]
  return { isEnd, hasRing: around.some(hasRing), html: focused?.outerHTML.slice(0, 200) ?? '' }
}
