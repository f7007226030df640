import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'

/** `npm test` looks for a browser and installs one if it can. */
export const executablePath = [process.env.TOOLROOM_CHROMIUM ?? '', '/usr/bin/chromium'].find(existsSync)

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
]

/** A browser that is closed after the test. */
export async function openBrowser(): Promise<Browser> {
  const browser = await chromium.launch({ ...(executablePath && { executablePath }), args: ARGS })
  onTestFinished(() => browser.close())
  return browser
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
  const page = await context.newPage()
  const urls: string[] = []
  const complaints: string[] = []
  page.on('request', (request) => urls.push(request.url()))
  page.on('websocket', (socket) => urls.push(socket.url()))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  return { page, urls, complaints }
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[]
}

/** The accessibility violations of what is on screen; an empty list is what every page has to reach. */
async function violationsOn(page: Page): Promise<string[]> {
  const found = await page.evaluate(
    async ({ source, tags }) => {
      // The policy of the page forbids eval and inline scripts; the protocol of the browser does not.
      if (!('axe' in window)) new Function(source)()
      const { axe } = window as unknown as { axe: { run(on: Document, how: object): Promise<unknown> } }
      return (await axe.run(document, {
        runOnly: { type: 'tag', values: tags },
        resultTypes: ['violations'],
      })) as {
        violations: Violation[]
      }
    },
    { source: AXE, tags: RULES },
  )
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary = '' }) =>
        `${id}: ${target.join(' ')} ${failureSummary.split('\n')[1] ?? ''}`,
    ),
  )
}

/** In both schemes. The page has to be as it shall be checked. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const scheme of ['light', 'dark'] as const) {
    await setScheme(page, scheme)
    expect(await violationsOn(page), scheme).toEqual([])
  }
}

/** As if the user had chosen it. */
async function setScheme(page: Page, scheme: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
  await page.waitForFunction(
    (wanted) => document.documentElement.dataset.mantineColorScheme === wanted,
    scheme,
  )
}
