import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isDeepStrictEqual } from 'node:util'
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import { launchBrowser } from '../../support/browser.ts'
import { FULL } from '../../support/full-or-short.ts'

export { executablePath } from '../../support/browser.ts'

let shared: Promise<Browser> | undefined

/** The browser of this process. Tests share it, because its start is slow; each page has a context of its own. */
export async function openBrowser(): Promise<Browser> {
  const open = await shared
  if (open?.isConnected()) return open
  shared = launchBrowser()
  return shared
}

export interface Watched {
  readonly page: Page
  /** Every URL that was requested. */
  readonly urls: string[]
  /** Errors of the console and exceptions. */
  readonly complaints: string[]
}

/** A page in a context of its own: nothing is shared with other pages. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Watched> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options })
  onTestFinished(() => context.close())
  context.setDefaultTimeout(60_000) // as every wait of a test
  const page = await context.newPage()
  const urls: string[] = []
  const complaints: string[] = []
  onTestFinished(async ({ task }) => {
    if (task.result?.state !== 'fail') return
    const shown = await page.innerText('body').catch((error: Error) => error.message)
    console.error('The page showed:', shown, ...complaints)
  })
  page.on('request', (request) => urls.push(request.url()))
  page.on('websocket', (socket) => urls.push(socket.url()))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  return { page, urls, complaints }
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const ALL_RULES = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }
const COLOUR_RULES = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }
const SLOW_RULES = [...COLOUR_RULES.values, 'target-size']
const NO_SLOW_RULES = Object.fromEntries(SLOW_RULES.map((rule) => [rule, { enabled: false }]))
interface Violation {
  readonly id: string
  readonly nodes: readonly {
    readonly target: readonly string[]
    readonly html: string
    readonly failureSummary?: string
  }[]
}

/** The accessibility violations of `within`; an empty list is what every page has to reach. */
async function violationsOn(within: Locator, runOnly: object, rules = {}): Promise<string[]> {
  const page = within.page()
  // The policy of the page forbids eval and inline scripts; the protocol of the browser does not.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE)
  const how = { runOnly, rules, resultTypes: ['violations'], preload: false } // no style sheet comes from elsewhere
  const found = await within.evaluateAll(async (include, options) => {
    const { axe } = window as unknown as { axe: { run(on: object, how: object): Promise<unknown> } }
    return (await axe.run({ include }, options)) as { violations: Violation[] } // fails without an element
  }, how)
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, html, failureSummary = '' }) =>
        `${id}: ${target.join(' ')} ${html.slice(0, 500)} ${failureSummary.split('\n')[1] ?? ''}`,
    ),
  )
}

/**
 * `within` is what came on top of a page that was checked before, such as a dialog. `npm run goals` checks everything in both
 * schemes. `npm test` leaves out colours and the sizes of targets, which take most of the time: the page with every part in
 * every state has them.
 */
export async function expectAccessible(page: Page, within = page.locator(':root')): Promise<void> {
  if (FULL) return expectAccessibleInBoth(page, within)
  await within.first().waitFor()
  expect(await violationsOn(within, ALL_RULES, NO_SLOW_RULES)).toEqual([])
}

/** The schemes differ in colours only, so the other rules are checked once. */
export async function expectAccessibleInBoth(page: Page, within = page.locator(':root')): Promise<void> {
  await within.first().waitFor()
  const first = await schemeOf(page)
  const second = first === 'dark' ? 'light' : 'dark'
  await setScheme(page, first)
  expect(await violationsOn(within, ALL_RULES), first).toEqual([])
  await setScheme(page, second)
  expect(await violationsOn(within, COLOUR_RULES), second).toEqual([])
}

const schemeOf = (page: Page) =>
  page.evaluate(() => (document.documentElement.dataset.mantineColorScheme === 'dark' ? 'dark' : 'light'))

/** It does not scroll sideways. A page that draws itself anew for a width does so after the frame that has the width. */
export async function expectToFit(page: Page, width: number, what = `at ${width} px`): Promise<void> {
  await expect
    .poll(() => page.evaluate(() => document.documentElement.scrollWidth), { message: what })
    .toBeLessThanOrEqual(width)
}

/** What `read` returns when it no longer changes, for example because a scrolled list has come to rest. */
export async function settled<T>(read: () => Promise<T>): Promise<T> {
  let last = await read()
  const isSame = async () => {
    const before = last
    last = await read()
    return isDeepStrictEqual(before, last)
  }
  await expect.poll(isSame, { interval: 100 }).toBe(true)
  return last
}

/** As if the user had chosen it. */
export async function setScheme(page: Page, scheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
  await page.waitForFunction(
    (wanted) => document.documentElement.dataset.mantineColorScheme === wanted,
    scheme,
  )
}
