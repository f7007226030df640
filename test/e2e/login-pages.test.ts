import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { openHttp } from '../fixtures/http/sites.ts'
import { openLoginServer } from '../support/login-server.ts'
import { post } from '../support/running-servers.ts'
import { openTestService } from '../support/test-service.ts'

const executablePath = [process.env.TOOLROOM_CHROMIUM ?? '', '/usr/bin/chromium'].find(existsSync)
const HTML = { 'content-type': 'text/html' }

test.runIf(executablePath)(
  'a browser follows the link of another site to the start page, and the button leads through an issuer that logs its users in elsewhere',
  { timeout: 120_000 },
  async () => {
    const service = await openTestService()
    const { url, next } = await openLoginServer()
    await post(service, '/api/http-servers', { name: 'linear', url })
    const { start_url } = (await post(service, '/api/http-servers/linear/login', {})).json()
    // Browsers refuse a redirect that follows a form, unless the policy of its page names the target.
    const elsewhere = await openHttp((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://localhost')
      response.writeHead(200, HTML).end(`<a href="${searchParams.get('back')}">Allow</a>`)
    })
    const chat = await openHttp(
      (_, response) => void response.writeHead(200, HTML).end(`<a href="${start_url}">Log in</a>`),
    )
    onTestFinished(() => Promise.all([elsewhere.close(), chat.close()]).then(() => {}))
    next.via = elsewhere.origin

    const browser = await chromium.launch({
      ...(executablePath && { executablePath }),
      args: ['--no-sandbox'],
    })
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.goto(chat.origin.replace('127.0.0.1', 'localhost'))
    await page.click('text=Log in')
    await page.waitForURL(start_url)
    expect(await page.textContent('h1')).toBe('Log in to linear')
    await page.click('button')
    await page.click('text=Allow')
    await page.waitForURL(/\/oauth\/done\?id=/)
    expect(await page.textContent('main')).toContain('2 tools are available')
    await page.reload()
    expect(await page.textContent('h1')).toContain('Logged in to linear')
    expect(complaints).toEqual([])
  },
)
