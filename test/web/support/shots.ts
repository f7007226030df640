import type { Page } from 'playwright-core'
import { untilLive } from './dashboard.ts'
import type { Workshop } from './workshop.ts'

interface Shot {
  readonly name: string
  readonly path: string
  /** Brings the page into the state of the picture. */
  readonly show: (page: Page, workshop: Workshop) => Promise<unknown>
}

const cell = (page: Page, name: string) => page.getByRole('checkbox', { name, exact: true })
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

/** Two changes of a file. They stay when the page is loaded again. */
async function staged(page: Page): Promise<void> {
  await cell(page, 'github in Cursor').waitFor()
  if (!(await button(page, 'Show diff').isVisible()))
    for (const server of ['github', 'fetch']) await cell(page, `${server} in Cursor`).click()
  await page.getByRole('status').filter({ hasText: '2 changes not written' }).waitFor()
}

/** The pictures, in the order in which they are taken. */
export const SHOTS: readonly Shot[] = [
  {
    name: 'home',
    path: '/',
    show: async (page) => {
      await untilLive(page)
      await page.getByRole('link', { name: 'playwright', exact: true }).waitFor()
      await page.getByRole('region', { name: 'Recent' }).getByRole('listitem').first().waitFor()
    },
  },
  {
    name: 'server',
    path: '/servers/postgres',
    show: async (page) => {
      await page.getByText('Why it is down').waitFor()
      await page.locator('canvas').first().waitFor()
    },
  },
  {
    name: 'tools-changed',
    path: '/servers/linear?tab=tools',
    show: (page) => page.getByText('delete_issue').first().waitFor(),
  },
  {
    name: 'agents',
    path: '/agents',
    show: async (page) => {
      await staged(page)
    },
  },
  {
    name: 'agents-diff',
    path: '/agents',
    show: async (page) => {
      await staged(page)
      await button(page, 'Show diff').click()
      await page.getByRole('dialog').getByRole('figure').waitFor()
    },
  },
  {
    name: 'playground',
    path: '/playground?server=github&tool=create_issue',
    show: async (page) => {
      for (const [name, text] of Object.entries({
        owner: 'acme',
        repo: 'web',
        title: 'Login fails after token refresh',
      }))
        await page.getByRole('textbox', { name, exact: true }).fill(text)
      await page.keyboard.press('Control+Enter')
      await page.getByRole('region', { name: 'Result', exact: true }).getByText('1482').first().waitFor()
    },
  },
  {
    name: 'traffic',
    path: '/traffic',
    show: async (page) => {
      await page.locator('[data-call]').filter({ hasText: 'query' }).last().click()
      await page.getByText('Arguments').waitFor()
    },
  },
  {
    name: 'logs',
    path: '/logs?q=connect&matches=mark',
    show: (page) => page.getByRole('log').getByText('ECONNREFUSED').first().waitFor(),
  },
  {
    name: 'packages',
    path: '/packages?q=browser',
    show: async (page, { did, registry }) => {
      await did('POST', '/packages/install-npm', { name: '@playwright/mcp' })
      await did('POST', '/packages/install-npm', {
        name: '@modelcontextprotocol/server-memory',
        create_server: true,
      })
      registry.publishUpdate()
      await page.goto(`${new URL(page.url()).origin}/packages?tab=updates`)
      await button(page, 'Ask the registry now').click()
      await button(page, 'Update').click()
      await page.getByText('On trial').waitFor()
      await page.getByRole('radio', { name: 'Find' }).check()
      await page.getByRole('textbox', { name: 'Search npm, or type an exact name' }).fill('browser')
      const pilot = page.getByRole('listitem').filter({ hasText: 'browser-pilot-mcp' }).first()
      await pilot.getByRole('button', { name: 'Install and add' }).click()
      await page.getByRole('menuitem', { name: 'Install and add' }).click()
      await page.getByRole('article', { name: 'Installing browser-pilot-mcp' }).waitFor()
      const toast = page.getByRole('alert').filter({ hasText: 'available' })
      await toast.getByRole('button').click()
      await toast.waitFor({ state: 'detached' })
      await page.mouse.move(0, 0)
    },
  },
  {
    name: 'palette',
    path: '/servers',
    show: async (page) => {
      await page.getByRole('link', { name: 'github', exact: true }).waitFor()
      await page.keyboard.press('Control+k')
      await page.getByPlaceholder('Search or run…').fill('restart g')
      await page.getByText('Restart github').waitFor()
    },
  },
]
