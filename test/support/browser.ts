import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { onTestFinished } from 'vitest'

/** `npm test` looks for a browser and installs one if it can. */
export const executablePath = [process.env.TOOLROOM_CHROMIUM ?? '', '/usr/bin/chromium'].find(existsSync)

/** A real Chromium without a window. It ends with this process at the latest. */
export function launchBrowser(): Promise<Browser> {
  const args = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
    '--disable-component-update',
    '--no-first-run',
  ]
  return chromium.launch({ ...(executablePath && { executablePath }), args })
}

/** A browser of its own; closed after the test. */
export async function openBrowser(): Promise<Browser> {
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  return browser
}
