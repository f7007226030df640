import type { Page } from 'playwright-core'
import { follow, untilLive } from './dashboard.ts'
import { untilDrawn } from './layout-faults.ts'
import { type HomeKind, type LayoutHome, PRESET } from './layout-home.ts'

/** What is measured: a page, or a dialog or menu on top of one. */
export interface Place {
  readonly name: string
  readonly path: (home: LayoutHome) => string
  /** Brings the page into the state. */
  readonly show: (page: Page, home: LayoutHome) => Promise<unknown>
  /** What came on top and is measured alone. */
  readonly within?: string
  /** Only with these rows; by default in every home. */
  readonly homes?: readonly HomeKind[]
  /** It is opened at this width, and stays open in others. */
  readonly opensAt?: number
  /** The page is loaded anew: what was done before would be seen. */
  readonly isFresh?: boolean
  /** It exists only from this width on, or up to it. */
  readonly from?: number
  readonly upTo?: number
}

const DIALOG = '[role=dialog][aria-modal=true], .mantine-Modal-content, .mantine-Drawer-content'
const MENU = '[role=menu], .mantine-Popover-dropdown[role=dialog]'
const FILLED = ['many', 'long'] as const
const ROWS = ['one', ...FILLED] as const

const at = (path: string) => () => path
const title = (name: string | RegExp) => (page: Page) =>
  page.getByRole('heading', { level: 1, name }).waitFor()
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).first()
const dialog = (page: Page) => page.locator(DIALOG).first().waitFor()
const menu = (page: Page) => page.locator(MENU).first().waitFor()
const quiet = untilDrawn

/** Presses a button, then waits for the dialog. */
const opened = (name: string | RegExp) => async (page: Page) => {
  await button(page, name).click()
  await dialog(page)
}
const openedMenu = (name: string | RegExp) => async (page: Page) => {
  await button(page, name).click()
  await menu(page)
}
const tab = (name: string, whose: 'running' | 'failing' = 'running'): Place => ({
  name: `server, ${name}${whose === 'failing' ? ', failing' : ''}`,
  path: (home) => `/servers/${home[whose]}?tab=${name}`,
  show: async (page) => {
    await page.getByRole('tab', { selected: true }).waitFor()
    await quiet(page)
  },
  homes: ROWS,
})
const SNIPPET = JSON.stringify({
  mcpServers: {
    notes: {
      command: 'node',
      args: ['/srv/a-folder-of-programs/with-a-long-path/to-the/notes-server.mjs'],
      env: { API_KEY: 'sk-abcdefghijklmnopqrstuvwxyz0123456789' },
    },
  },
})

export const PLACES: readonly Place[] = [
  { name: 'home', path: at('/'), show: quiet },
  { name: 'servers', path: at('/servers'), show: title('Servers') },
  ...['overview', 'tools', 'traffic', 'logs', 'config', 'agents'].map((name) => tab(name)),
  ...['overview', 'config'].map((name) => ({ ...tab(name, 'failing'), homes: FILLED })),
  {
    name: 'server, figures as a table',
    path: ({ running }) => `/servers/${running}?table=1`,
    show: quiet,
    homes: ROWS,
  },
  { name: 'agents', path: at('/agents'), show: title('Agents') },
  { name: 'agents, files', path: at('/agents?view=files'), show: title('Agents'), homes: FILLED },
  { name: 'agent', path: at('/agents/cursor'), show: title(/./), homes: ROWS },
  { name: 'playground', path: at('/playground'), show: title('Playground') },
  {
    name: 'playground, result',
    path: ({ running, tool }) => `/playground?server=${running}&tool=${tool}`,
    show: async (page) => {
      await page.getByRole('textbox', { name: 'text', exact: true }).fill('a '.repeat(300))
      await page.keyboard.press('Control+Enter')
      await page
        .getByRole('region', { name: 'Result', exact: true })
        .getByText(/ms|jsonrpc/)
        .first()
        .waitFor()
    },
    homes: ROWS,
  },
  { name: 'traffic', path: at('/traffic'), show: title('Traffic') },
  {
    name: 'traffic, a call',
    path: at('/traffic'),
    show: async (page) => {
      await page.locator('[data-call]').last().click()
      await page.getByText('Arguments').first().waitFor()
    },
    homes: ROWS,
  },
  { name: 'logs', path: at('/logs?level=trace'), show: title('Logs') },
  {
    name: 'logs, wrapped',
    path: at('/logs?level=trace&wrap=1&q=error&matches=mark'),
    show: title('Logs'),
    homes: FILLED,
  },
  { name: 'packages', path: at('/packages'), show: title('Packages') },
  {
    name: 'packages, installed',
    path: at('/packages?tab=installed'),
    show: title('Packages'),
    homes: ['none'],
  },
  { name: 'settings', path: at('/settings'), show: title('Settings') },
  {
    name: 'packages, found',
    path: at('/packages?q=tool'),
    show: (page) =>
      page
        .getByRole('button', { name: /^Install/ })
        .first()
        .waitFor(),
    homes: FILLED,
  },
  { name: 'welcome', path: at('/welcome'), show: title(/./) },
  {
    name: 'welcome, choose',
    path: at('/welcome?step=2'),
    show: (page) =>
      page
        .getByRole('checkbox', { name: /^Import / })
        .first()
        .waitFor(),
    homes: ROWS,
  },
  {
    name: 'welcome, tried',
    path: at('/welcome?step=2'),
    show: async (page) => {
      await page
        .getByRole('checkbox', { name: /^Import / })
        .first()
        .waitFor()
      await page.getByLabel('Try starting each server now').check()
      await page
        .getByText(/^(Waiting|Starting)$/)
        .first()
        .waitFor({ state: 'detached' })
    },
    homes: ROWS,
  },
  { name: 'welcome, connect', path: at('/welcome?step=3&mode=gateway'), show: title(/./), homes: ROWS },
  {
    name: 'welcome, changes',
    path: at('/welcome?step=4&mode=gateway&connect=cursor'),
    show: (page) => page.getByRole('figure').first().waitFor(),
    homes: ROWS,
  },
  {
    name: 'welcome, done',
    path: at('/welcome?step=5&mode=gateway&wrote=claude-code,cursor'),
    show: async (page) => {
      await page.getByText('When Toolroom is not running').waitFor()
    },
    homes: FILLED,
  },
  {
    name: 'agent, changed by another program',
    path: at('/agents/cursor'),
    show: (page) => button(page, 'See the difference').waitFor(),
    homes: FILLED,
  },
  {
    name: 'not found',
    path: at('/nothing-is-here'),
    show: (page) => page.getByText('This page does not exist.').waitFor(),
    homes: ['many'],
  },
  { name: 'add server', path: at('/servers'), show: opened('Add server'), within: DIALOG, homes: ['none'] },
  {
    name: 'add server, understood',
    path: at('/servers'),
    show: async (page) => {
      await opened('Add server')(page)
      await page.locator(DIALOG).getByRole('textbox').first().fill(SNIPPET)
      await page.getByText('Understood as').waitFor()
    },
    within: DIALOG,
    homes: FILLED,
  },
  {
    name: 'leave',
    path: ({ running }) => `/servers/${running}?tab=config`,
    show: async (page) => {
      await page.getByRole('textbox', { name: 'Command' }).fill('another')
      await page.getByRole('link', { name: 'Logs', exact: true }).first().click()
      await dialog(page)
    },
    within: DIALOG,
    homes: ['one'],
  },
  {
    name: 'set a secret',
    path: ({ secretless }) => `/servers/${secretless}`,
    show: opened(/^Set the secret/),
    within: DIALOG,
    homes: FILLED,
  },
  {
    name: 'another isolation on trial',
    path: ({ running }) => `/servers/${running}?tab=config&trial=1`,
    show: dialog,
    within: DIALOG,
    homes: FILLED,
  },
  {
    name: 'save a call',
    path: ({ running, tool }) => `/playground?server=${running}&tool=${tool}`,
    show: opened(/^Save/),
    within: DIALOG,
    homes: ['long'],
  },
  {
    name: 'copy as',
    path: ({ running, tool }) => `/playground?server=${running}&tool=${tool}`,
    show: openedMenu(/^Copy as/),
    within: MENU,
    homes: ['long'],
  },
  {
    name: 'install with options',
    path: at('/packages?q=tool'),
    show: async (page) => {
      await button(page, /^Install and add/).click()
      await page.getByRole('menuitem').last().click()
      await dialog(page)
    },
    within: DIALOG,
    homes: FILLED,
  },
  {
    name: 'difference of an agent',
    path: at('/agents/cursor?drift=1'),
    show: async (page) => {
      await dialog(page)
      await page.locator(DIALOG).getByRole('figure').first().waitFor()
    },
    within: DIALOG,
    homes: FILLED,
  },
  {
    name: 'apply a preset',
    path: at('/agents'),
    show: async (page) => {
      await button(page, 'Claude Code menu').click()
      await page.getByRole('menuitem', { name: PRESET }).click()
      await dialog(page)
      await page.locator(DIALOG).getByRole('table').waitFor()
    },
    within: DIALOG,
    homes: FILLED,
  },
  {
    name: 'save a preset',
    path: at('/agents'),
    show: async (page) => {
      await button(page, 'Claude Code menu').click()
      await page.getByRole('menuitem', { name: /preset…$/ }).click()
      await dialog(page)
    },
    within: DIALOG,
    homes: ['long'],
  },
  {
    name: 'keys',
    path: at('/agents'),
    show: async (page) => {
      await page.keyboard.press('?')
      await dialog(page)
    },
    within: DIALOG,
    homes: ['long'],
  },
  {
    name: 'palette',
    path: at('/servers'),
    show: async (page) => {
      await page.keyboard.press('Control+k')
      await page.getByPlaceholder('Search or run…').fill('re')
      await page.getByText('Run', { exact: true }).waitFor()
    },
    within: '.mantine-Spotlight-content',
    homes: ROWS,
  },
  {
    name: 'notices',
    path: at('/settings'),
    show: async (page) => {
      await page
        .getByRole('button', { name: /notice/i })
        .first()
        .click()
      await menu(page)
    },
    within: MENU,
  },
  {
    name: 'more pages',
    path: at('/'),
    show: openedMenu('More'),
    within: MENU,
    homes: ['none'],
    opensAt: 390,
    upTo: 600,
  },
  {
    name: 'menu of a server',
    path: at('/servers'),
    show: async (page) => {
      await page
        .getByRole('button', { name: /^More|^Actions/ })
        .first()
        .click()
      await menu(page)
    },
    within: MENU,
    homes: ROWS,
  },
  {
    name: 'servers, selected',
    path: at('/servers'),
    show: async (page) => {
      for (const n of [0, 1])
        await page
          .getByRole('checkbox', { name: /^Select (?!all)/ })
          .nth(n)
          .check()
    },
    homes: FILLED,
  },
  {
    name: 'enable in',
    path: at('/servers'),
    show: async (page) => {
      await page
        .getByRole('checkbox', { name: /^Select (?!all)/ })
        .first()
        .check()
      await opened('Enable in…')(page)
    },
    within: DIALOG,
    homes: FILLED,
  },
  {
    name: 'menu of an agent',
    path: at('/agents'),
    show: openedMenu(/menu$/),
    within: MENU,
    homes: FILLED,
    from: 701,
  },
  {
    name: 'connect an agent',
    path: at('/agents'),
    show: async (page) => {
      await button(page, /^Cursor menu$/).click()
      await page.getByRole('menuitem', { name: /Connect through/ }).click()
      await page.locator(DIALOG).getByRole('figure').first().waitFor()
    },
    within: DIALOG,
    homes: FILLED,
  },
  { name: 'add an agent', path: at('/agents'), show: opened('Add agent…'), within: DIALOG, homes: ['many'] },
  {
    name: 'tools of an agent',
    path: at('/agents'),
    show: async (page) => {
      await page
        .getByRole('grid')
        .getByRole('checkbox', { name: /^raw.* in / })
        .first()
        .focus()
      await page.keyboard.press('Enter')
      await dialog(page)
    },
    within: DIALOG,
    homes: FILLED,
  },
  {
    name: 'clear logs',
    path: at('/logs?level=trace'),
    show: opened('Clear…'),
    within: DIALOG,
    homes: ['many'],
  },
  {
    name: 'around a line',
    path: at('/logs?level=trace'),
    show: async (page) => {
      await page.locator('[data-id] button').first().click()
      await dialog(page)
      await page.locator(DIALOG).locator('[data-id]').first().waitFor()
    },
    within: DIALOG,
    homes: FILLED,
  },
  {
    name: 'servers of the log',
    path: at('/logs'),
    show: async (page) => {
      await page.getByRole('search').getByRole('button').first().click()
      await menu(page)
    },
    within: MENU,
    homes: FILLED,
    from: 701,
  },
  {
    name: 'new key',
    path: at('/settings?section=gateway'),
    show: opened('New key…'),
    within: DIALOG,
    homes: ['many'],
  },
  {
    name: 'export',
    path: at('/settings?section=export'),
    show: opened('Export with secrets…'),
    within: DIALOG,
    homes: ['many'],
  },
  // These leave something behind, so they are loaded anew and stand last.
  {
    name: 'agents, staged',
    path: at('/agents?view=files'),
    isFresh: true,
    show: async (page) => {
      const off = page.getByRole('grid').locator('[role=checkbox][aria-checked=false]:not([aria-disabled])')
      for (let cell = 0; cell < 3; cell += 1) await off.nth(20).click()
    },
    homes: FILLED,
  },
  {
    name: 'write',
    path: at('/agents?view=files'),
    isFresh: true,
    show: async (page) => {
      await page
        .getByRole('grid')
        .locator('[role=checkbox][aria-checked=false]:not([aria-disabled])')
        .nth(20)
        .click()
      await opened('Show diff')(page)
      await page.getByRole('figure').first().waitFor()
    },
    within: DIALOG,
    homes: FILLED,
  },
  {
    name: 'a toast',
    path: at('/agents'),
    isFresh: true,
    show: async (page) => {
      await button(page, 'Scan again')
        .or(page.getByRole('button', { name: /Scan/ }))
        .first()
        .click()
      await page.getByRole('alert').first().waitFor()
    },
    homes: ['many'],
  },
  {
    name: 'the sample server',
    path: at('/'),
    isFresh: true,
    show: async (page) => {
      await button(page, 'Add a sample server').click()
      await button(page, 'Remove the sample server').waitFor()
    },
    homes: ['none'],
  },
  {
    name: 'read-only',
    path: at('/'),
    isFresh: true,
    show: async (page) => {
      await page.evaluate(() => sessionStorage.removeItem('toolroom.token'))
      await page.reload()
      await page.getByRole('region', { name: 'Read-only.' }).waitFor()
    },
    homes: ['long'],
  },
  {
    name: 'paste a token',
    path: at('/'),
    show: opened('Paste token'),
    within: DIALOG,
    homes: ['long'],
  },
]

/** Opens the place, without a load if the page is already one of this home. What was open before is closed. */
export async function openPlace(page: Page, home: LayoutHome, place: Place, width: number): Promise<void> {
  await page.setViewportSize({ width: place.opensAt ?? width, height: 900 })
  if (place.isFresh || !page.url().startsWith(home.address)) {
    await page.goto(`${home.address}${place.path(home)}#c=${await home.loginCode()}`)
  } else {
    await page.keyboard.press('Escape')
    await leaveIt(page)
    await follow(page, '/nothing-is-here')
    await page.getByText('This page does not exist.').waitFor()
    await follow(page, place.path(home))
  }
  if (!place.path(home).startsWith('/welcome')) await untilLive(page)
  await untilDrawn(page)
  await place.show(page, home)
  await untilDrawn(page)
}

/** What was typed in the place before is lost. */
async function leaveIt(page: Page): Promise<void> {
  await untilDrawn(page)
  const leave = button(page, 'Leave and discard')
  if (await leave.isVisible()) await leave.click()
}
