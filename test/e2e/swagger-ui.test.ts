import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { executablePath, openBrowser } from '../support/browser.ts'
import { covers } from '../support/covers.ts'
import { openTestService, TOKEN } from '../support/test-service.ts'

/** All requests and errors of a page. */
function watch(page: Page) {
  const seen = { urls: [] as string[], complaints: [] as string[] }
  page.on('request', (request) => seen.urls.push(request.url()))
  page.on('console', (message) => message.type() === 'error' && seen.complaints.push(message.text()))
  page.on('pageerror', (error) => seen.complaints.push(error.message))
  return seen
}

/** The page draws every operation at once, which takes half a minute on a busy computer. */
const PATIENCE_MS = 180_000

test.runIf(executablePath)(
  'a server can be added from /docs with the Authorize button, and no request leaves the origin',
  async () => {
    covers('docs-swagger-ui', 'auth-1-token-in-header', 'auth-4-valid-proceeds')
    const service = await openTestService()
    const page = await (await openBrowser()).newPage()
    page.setDefaultTimeout(PATIENCE_MS)
    const seen = watch(page)
    await page.goto(`${service.address}/docs/`)
    await page.getByRole('button', { name: 'Authorize' }).click()
    const form = page.locator('.auth-container form').first() // the others are for the gateway
    await form.locator('input').fill(TOKEN)
    await form.locator('button.authorize').click()
    await form.locator('button.btn-done').click()

    const operation = page.locator('#operations-STDIO_servers-post_servers')
    await operation.locator('.opblock-summary-control').click()
    await operation.locator('textarea').fill('{"name": "From the page", "command": "npx"}')
    const answered = page.waitForResponse((response) => response.request().method() === 'POST')
    await operation.getByRole('button', { name: 'Execute' }).click()
    expect((await answered).status()).toBe(201)

    expect((await service.inject('/api/servers/from-the-page')).statusCode).toBe(200)
    expect(
      seen.urls.filter((url) => !url.startsWith(`${service.address}/`) && !url.startsWith('data:')),
    ).toEqual([])
    expect(seen.complaints).toEqual([])
    if (process.env.TOOLROOM_SCREENSHOTS)
      await page.screenshot({ path: `${process.env.TOOLROOM_SCREENSHOTS}/docs.png` })
  },
  PATIENCE_MS,
)
