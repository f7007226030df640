import type { Request } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openHttp } from '../fixtures/http/sites.ts'
import { executablePath, openBrowser, openPage, settled } from './support/browser.ts'
import { follow, sharedDashboard } from './support/dashboard.ts'

const CANARIES = {
  env: 'canary-env-Zq8x0123456789',
  arg: 'canary-arg-Zq8x0123456789',
  header: 'canary-header-Zq8x0123456789',
  query: 'canary-query-Zq8x0123456789',
  named: 'canary-named-Zq8x0123456789',
}

describe.runIf(executablePath)('who can read and act', () => {
  const shared = sharedDashboard()

  test.each(['127.0.0.1', 'localhost'])(
    'a page of another origin at %s can neither frame the dashboard, nor read, nor act, nor follow the stream, also while the user is signed in',
    async (host) => {
      const dashboard = await shared()
      const site = await openHttp(
        (_, response) => void response.setHeader('content-type', 'text/html').end('<h1>Elsewhere</h1>'),
      )
      onTestFinished(() => site.close())
      const { page } = await openPage(await openBrowser())
      await dashboard.signIn(page, '/servers')
      const other = await page.context().newPage()
      await other.goto(`http://${host}:${site.port}/`)
      const found = await other.evaluate(async (address) => {
        const outcome = (request: Promise<Response>) =>
          request.then(
            async (reply) => (reply.type === 'opaque' ? 'opaque' : `read ${(await reply.text()).length}`),
            () => 'refused',
          )
        const body = JSON.stringify({ name: 'planted', command: 'node' })
        const reads = {
          page: await outcome(fetch(address)),
          servers: await outcome(fetch(`${address}/api/servers`)),
          withCookies: await outcome(fetch(`${address}/api/servers`, { credentials: 'include' })),
          json: await outcome(
            fetch(`${address}/api/servers`, {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body,
            }),
          ),
        }
        await fetch(`${address}/api/servers`, { method: 'POST', mode: 'no-cors', body }).catch(() => {})
        const socket = new WebSocket(`${address.replace('http', 'ws')}/api/ws/metrics`)
        const stream = await new Promise<string>((resolve) => {
          socket.onmessage = () => resolve('message')
          socket.onerror = () => resolve('refused')
        })
        const opened = window.open(address)
        const script = document.createElement('script')
        script.src = `${address}/api/servers`
        const asScript = await new Promise<string>((resolve) => {
          script.onload = () => resolve('loaded')
          script.onerror = () => resolve('refused')
          document.body.append(script)
        })
        const isReachable = () => {
          try {
            return Boolean(opened?.document)
          } catch {
            return false
          }
        }
        while (isReachable()) await new Promise((resolve) => setTimeout(resolve, 20)) // the empty page before it loads
        return { ...reads, stream, asScript }
      }, dashboard.address)
      expect(found).toMatchObject({
        page: 'refused',
        servers: 'refused',
        withCookies: 'refused',
        json: 'refused',
        stream: 'refused',
        asScript: 'refused',
      })

      await other.evaluate((address) => {
        const frame = document.createElement('iframe')
        frame.src = address
        const form = document.createElement('form')
        form.action = `${address}/api/shutdown`
        form.method = 'post'
        form.target = 'into'
        const into = document.createElement('iframe')
        into.name = 'into'
        document.body.append(frame, into, form)
        form.submit()
      }, dashboard.address)
      await expect
        .poll(() => other.frames().filter((frame) => frame.url().startsWith('chrome-error:')).length)
        .toBe(2)
      expect((await dashboard.list()).map(({ name }) => name)).toEqual([])
      expect((await dashboard.ask('GET', '/health')).status).toBe(200)
    },
  )

  test('no page shows a stored secret before it is revealed', async () => {
    const dashboard = await shared()
    await dashboard.ask('PUT', '/secrets/NAMED', { value: CANARIES.named })
    const added = await dashboard.add({
      name: 'secretive',
      command: process.execPath,
      args: ['-e', `console.error(process.env.API_TOKEN); process.exit(1)`, `--token=${CANARIES.arg}`],
      env: { API_TOKEN: CANARIES.env, OTHER: `\${secret:NAMED}` },
    })
    const remote = {
      url: `http://127.0.0.1:9/mcp?key=${CANARIES.query}`,
      headers: { 'X-Key': CANARIES.header },
    }
    expect((await dashboard.ask('POST', '/http-servers', { name: 'remote', ...remote })).status).toBe(201)
    await dashboard.ask('POST', `/servers/${added.id}/start?wait_s=20`)
    const { page } = await openPage(await openBrowser())
    const pending = new Set<Request>()
    page.on('request', (request) => pending.add(request))
    page.on('requestfinished', (request) => pending.delete(request))
    page.on('requestfailed', (request) => pending.delete(request))
    const tabs = ['overview', 'tools', 'traffic', 'logs', 'config', 'agents']
    const paths = [
      ...['/', '/servers', '/agents', '/playground', '/traffic', '/logs', '/packages', '/settings'],
      ...['secretive', 'remote'].flatMap((id) => tabs.map((tab) => `/servers/${id}?tab=${tab}`)),
      '/agents/claude-code',
      '/welcome',
    ]
    for (const path of paths) {
      if (path === '/') await dashboard.signIn(page)
      else await follow(page, path)
      await page.getByRole('heading').first().waitFor()
      await expect.poll(() => pending.size, { message: path }).toBe(0)
      await settled(() => page.content())
      const content = `${await page.content()} ${await page.evaluate(() => JSON.stringify({ ...localStorage }))}`
      const typed = await page.evaluate(() =>
        [...document.querySelectorAll('input, textarea')].map((field) => (field as HTMLInputElement).value),
      )
      for (const canary of Object.values(CANARIES))
        expect(`${content} ${typed.join(' ')}`.includes(canary), `${canary} on ${path}`).toBe(false)
    }
  })
})
