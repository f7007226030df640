import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { FULL } from './full-or-short.ts'

/** `npm test` looks for a browser and installs one if it can. */
export const executablePath = [process.env.TOOLROOM_CHROMIUM ?? '', '/usr/bin/chromium'].find(existsSync)
/** The same engine without windows and their toolbars. `npm run goals` uses the program that people have. */
const quickPath = FULL
  ? executablePath
  : ([process.env.TOOLROOM_HEADLESS_CHROMIUM ?? '', '/usr/bin/chromium-headless-shell'].find(existsSync) ??
    executablePath)

/**
 * What Playwright switches off, because our list replaces its own: requests to the outside and what disturbs tests. And the
 * popups of the address bar: pages of Chromium itself, which it would load and run twice for every context.
 */
const OFF = [
  ...['AimEnabled', 'NetworkTimeServiceQuerying', 'OptimizationHints', 'PreconnectToSearch', 'MediaRouter'],
  ...[
    'AvoidCorsURLLoaderRestartOnRedirect',
    'AvoidUnnecessaryBeforeUnloadCheckSync',
    'DestroyProfileOnBrowserClose',
  ],
  ...[
    'HttpsFirstBalancedModeAutoEnable',
    'HttpsUpgrades',
    'LensOverlay',
    'PaintHolding',
    'ThirdPartyStoragePartitioning',
  ],
  ...['WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup', 'WebUIOmniboxPopup'],
]

/** A real Chromium. It ends with this process at the latest. */
export function launchBrowser(path = quickPath): Promise<Browser> {
  const args = [
    `--disable-features=${OFF.join(',')}`,
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--no-first-run',
  ]
  return chromium.launch({ ...(path && { executablePath: path }), args })
}

/** A browser of its own, closed after the test. With `all`, it is the program that people have. */
export async function openBrowser(all = false): Promise<Browser> {
  const browser = await launchBrowser(all ? executablePath : quickPath)
  onTestFinished(() => browser.close())
  return browser
}
