import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { FULL } from '../support/full-or-short.ts'
import { executablePath, openBrowser, openPage } from './support/browser.ts'
import { type Dashboard, follow, openDashboard } from './support/dashboard.ts'
import { measure, p95 } from './support/measure.ts'

const SERVERS = FULL ? 500 : 200
const RUNNING = ['server-0', 'server-1', 'server-2']
const PER_AGENT = 12

interface Agent {
  readonly agent_type: string
  readonly scopes: readonly { readonly scope: string; readonly path: string; readonly parse_error: unknown }[]
}

/** Many servers, of which three run, and a file with entries for every agent of the catalogue. */
async function openLarge(): Promise<{ dashboard: Dashboard; agents: number }> {
  const dashboard = await openDashboard()
  const [echo] = dashboard.stdio
  const ids = Array.from({ length: SERVERS }, (_, index) => `server-${index}`)
  const mcpServers = Object.fromEntries(
    ids.map((id) => [id, { command: echo?.command, args: [...(echo?.args ?? []), `--as=${id}`] }]),
  )
  expect((await dashboard.ask('POST', '/servers/import', { mcpServers })).status).toBe(200)
  for (const id of RUNNING) await dashboard.start(id)
  const all = (await dashboard.ask('GET', '/agents')).body.items as Agent[]
  const withFile = all.filter(({ scopes }) =>
    scopes.some(({ scope, parse_error }) => scope === 'user' && parse_error === null),
  )
  for (const [index, { agent_type, scopes }] of withFile.entries()) {
    for (const { path } of scopes.filter(({ scope }) => scope === 'user'))
      mkdirSync(dirname(path), { recursive: true })
    const server_ids = ids.slice((index * PER_AGENT) % SERVERS).slice(0, PER_AGENT)
    const { status, body } = await dashboard.ask('PUT', `/agents/${agent_type}/servers`, { server_ids })
    expect(status, JSON.stringify(body)).toBe(200)
  }
  return { dashboard, agents: withFile.length }
}

const PAGES: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  '/': (page) => page.getByRole('link', { name: 'server-0', exact: true }).waitFor(),
  '/servers': (page) => page.getByRole('link', { name: 'server-0', exact: true }).waitFor(),
  '/servers/server-0': (page) => page.getByRole('tab', { name: 'Overview', selected: true }).waitFor(),
  '/agents': (page) =>
    page
      .getByRole('checkbox', { name: /^server-0 in / })
      .first()
      .waitFor(),
  '/agents/cursor': (page) => page.getByRole('region', { name: 'Entries' }).waitFor(),
  '/playground': (page) => page.getByRole('region', { name: 'Tools' }).waitFor(),
  '/traffic': (page) => page.getByRole('heading', { name: 'Traffic', level: 1 }).waitFor(),
  '/logs': (page) => page.getByRole('log', { name: 'Log lines' }).locator('[data-id]').first().waitFor(),
  '/packages': (page) => page.getByRole('textbox', { name: /^Search npm/ }).waitFor(),
  '/settings': (page) => page.getByRole('heading', { name: 'Retention' }).waitFor(),
}

/** Those with lists of servers and agents; `npm run goals` opens all of them. */
const OPENED = FULL ? Object.keys(PAGES) : ['/', '/servers', '/agents', '/agents/cursor', '/playground']

const SHOWN = `${OPENED.length} of ${Object.keys(PAGES).length} pages`
const ANSWERED = FULL
  ? 'every key and click is answered within 100 ms'
  : 'a key or click changes and asks for little, whatever time it takes'

const nodesOn = (page: Page) => page.evaluate(() => document.querySelectorAll('*').length)

describe.runIf(executablePath)(`${SERVERS} servers and every agent of the catalogue`, () => {
  test(`R32: ${SHOWN} open with a small document and few requests, and ${ANSWERED}`, async () => {
    const { dashboard, agents } = await openLarge()
    expect(agents).toBeGreaterThanOrEqual(30)
    const { page, urls, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page)
    await page.addInitScript(countChanges)
    const { costMs } = await measure(page)
    const costs = new Map<string, Cost[]>()
    const timed = async (name: string, act: () => Promise<unknown>) => {
      await page.evaluate(() => {
        window.changes = 0
      })
      const before = urls.length
      const ms = await costMs(act)
      const cost = { ms, changes: await page.evaluate(() => window.changes), requests: urls.length - before }
      costs.set(name, [...(costs.get(name) ?? []), cost])
    }
    const press = (name: string, key: string) => timed(name, () => page.keyboard.press(key))
    const type = async (name: string, text: string) => {
      for (const key of text) await press(name, key)
    }

    let [mostNodes, mostRequests] = [0, 0]
    for (const path of OPENED) {
      urls.length = 0
      await page.goto(`${dashboard.address}${path}`)
      await PAGES[path]?.(page)
      await page.waitForLoadState('networkidle')
      const requests = urls.filter((url) => url.includes('/api/')).length
      const nodes = await nodesOn(page)
      console.log(`R32: ${path}: ${nodes} nodes, ${requests} requests of the API`)
      mostNodes = Math.max(mostNodes, nodes)
      mostRequests = Math.max(mostRequests, requests)
    }
    figure('R32', 'nodes of the largest page', mostNodes, { most: 5000 })
    figure('R32', 'requests of the API for a page', mostRequests, { most: 20 })

    await follow(page, '/servers')
    await PAGES['/servers']?.(page)
    await page.keyboard.press('/')
    await type('filter servers', 'server-12')
    await expect.poll(() => page.locator('tbody tr').count()).toBe(11)
    await timed('open a row', () => page.getByRole('link', { name: 'server-12', exact: true }).click())
    await page.getByRole('tab', { name: 'Overview', selected: true }).waitFor()
    for (const key of ['5', '2', '4', '1']) await press('switch tabs', key)

    await page.keyboard.press('Control+k')
    await page.getByPlaceholder('Search or run…').waitFor()
    await type('palette', FULL ? 'restart server-321' : 'r 121')
    await page.keyboard.press('Escape')

    await follow(page, '/agents')
    await PAGES['/agents']?.(page)
    const grid = page.getByRole('grid')
    await grid.getByRole('checkbox').first().focus()
    for (let row = 0; row < (FULL ? agents : 5); row += 1) await press('move in the grid', 'ArrowDown')
    for (const key of ['PageDown', 'PageDown', 'Control+End', 'Control+Home', 'ArrowRight'])
      await press('move in the grid', key)
    expect(await grid.locator(':focus').count()).toBe(1)
    await page.keyboard.press('Control+End')
    await expect
      .poll(() => page.locator(':focus').getAttribute('aria-label'))
      .toMatch(new RegExp(`^server-(?:${SERVERS - 1}|99) in `))
    await press('toggle a cell', 'Space')
    await page.getByRole('status').filter({ hasText: '1 change not written' }).waitFor()
    await press('toggle a cell', 'Space')
    await press('toggle a cell', 'Space')
    await press('undo', 'Control+z')
    expect(await grid.locator('[tabindex="0"]').count()).toBe(1)
    expect(await nodesOn(page)).toBeLessThan(5000)
    await page.keyboard.press('/')
    await type('filter the grid', 'server-4')

    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${dashboard.address}/agents`)
    await page.getByRole('switch', { name: /^server-0 in / }).waitFor()
    figure('R32', 'nodes of the list of servers on a phone', await nodesOn(page), { most: 2000 })
    await page.setViewportSize({ width: 1440, height: 900 })

    await follow(page, '/playground')
    await PAGES['/playground']?.(page)
    await timed('open the list of servers', () => page.getByRole('combobox').first().click())
    await page.keyboard.press('Escape')
    await follow(page, '/logs')
    await PAGES['/logs']?.(page)
    await timed('choose servers of the log', () =>
      page.getByRole('button', { name: `Servers all ${SERVERS}` }).click(),
    )
    await page.keyboard.press('Escape')
    await follow(page, '/traffic')
    await PAGES['/traffic']?.(page)
    await page.keyboard.press('/')
    await type('filter calls', FULL ? 'server:server-1' : 'server-1')

    const most = (each: readonly Cost[], what: keyof Cost) => Math.max(...each.map((cost) => cost[what]))
    for (const [name, each] of costs)
      console.log(
        `R32: ${name}: at most ${most(each, 'ms').toFixed(0)} ms, ${most(each, 'changes')} changes, ${most(each, 'requests')} requests`,
      )
    const all = [...costs.values()].flat()
    // What a key costs must not grow with the number of servers. Other processes change its time, but not its work.
    figure('R32', 'changes of the document after a key or click', most(all, 'changes'), { most: 3000 })
    figure('R32', 'requests after a key or click', most(all, 'requests'), { most: 12 })
    if (FULL)
      figure('R32', 'p95 of a key or click, ms of the main thread', p95(all.map(({ ms }) => ms)), {
        most: 100,
      })
    expect(complaints).toEqual([])
  })
})

interface Cost {
  /** CPU time of the main thread. */
  readonly ms: number
  /** Nodes that were added or removed, and attributes and texts that were changed. */
  readonly changes: number
  readonly requests: number
}

declare global {
  interface Window {
    changes: number
  }
}

/** Runs in the page. */
function countChanges(): void {
  window.changes = 0
  const inside = (nodes: NodeList) =>
    [...nodes].reduce(
      (sum, node) => sum + 1 + (node instanceof Element ? node.querySelectorAll('*').length : 0),
      0,
    )
  const count = ({ addedNodes, removedNodes }: MutationRecord) =>
    inside(addedNodes) + inside(removedNodes) || 1
  new MutationObserver((records) => {
    window.changes += records.reduce((sum, record) => sum + count(record), 0)
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true })
}
