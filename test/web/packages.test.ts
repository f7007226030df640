import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../support/folder.ts'
import { npmEnv } from '../support/registry/npm-env.ts'
import { openRegistry, toolPackage } from '../support/registry/registry.ts'
import { executablePath, expectAccessible, expectToFit, openBrowser, openPage } from './support/browser.ts'
import { openDashboard } from './support/dashboard.ts'

async function open(...given: Parameters<typeof openRegistry>) {
  const registry = await openRegistry(...given)
  onTestFinished(() => registry.close())
  const dashboard = await openDashboard({ env: npmEnv(ownFolder(), registry.url) })
  return { registry, dashboard }
}

const choose = async (page: Page, item: string) => {
  await page.getByRole('button', { name: 'Install and add' }).click()
  await page.getByRole('menuitem', { name: item }).click()
}
const job = (page: Page, name: string) =>
  page.getByRole('region', { name: 'Jobs' }).getByRole('article', { name })

/** docs/checks.md: the checks of Packages. */
describe.runIf(executablePath)('Packages', () => {
  test('check 24: a reload and a second tab show the same job in the same phase, one npm runs, and Cancel leaves no folder', async () => {
    const { dashboard, registry } = await open([toolPackage('mcp-tool', '1.0.0')], {
      'mcp-tool': 'silent_tarball',
    })
    const browser = await openBrowser()
    const { page, complaints } = await openPage(browser)
    await dashboard.signIn(page, '/packages?q=mcp-tool')
    await choose(page, 'Install and add')
    const running = job(page, 'Installing mcp-tool')
    await running.getByText('npm installs, without scripts').waitFor()
    await expect.poll(() => downloads(registry), { timeout: 60_000 }).toBe(1)
    const phase = running.getByRole('img', { name: 'Installing mcp-tool: installing' })
    await phase.waitFor()
    await page.reload()
    await phase.waitFor()
    await page.getByText('Installing', { exact: true }).waitFor()
    const second = await openPage(browser)
    await dashboard.signIn(second.page, '/packages')
    await job(second.page, 'Installing mcp-tool').waitFor()
    await second.page.getByRole('img', { name: 'Installing mcp-tool: installing' }).first().waitFor()
    expect(downloads(registry)).toBe(1)
    await expectAccessible(page)

    await running.getByRole('button', { name: 'Cancel' }).click()
    await job(second.page, 'Cancelled mcp-tool').waitFor()
    await job(page, 'Cancelled mcp-tool').waitFor()
    expect(downloads(registry)).toBe(1)
    const folder = join(dashboard.data, 'packages')
    const left = existsSync(folder) ? readdirSync(folder, { recursive: true }).map(String) : []
    expect(left.filter((path) => path.includes('mcp-tool') || path.includes('package.json'))).toEqual([])
    expect(complaints).toEqual([])
  })

  test('check 25: a registry without search says so, one search is sent when typing pauses, an exact name installs, unknown facts show ?, and a server that npx starts changes only with a click', async () => {
    const { dashboard } = await open([toolPackage('mcp-tool', '1.0.0')], {}, { search: 'off' })
    const byNpx = { name: 'by-npx', command: 'npx', args: ['-y', 'mcp-tool'] }
    expect((await dashboard.ask('POST', '/servers', byNpx)).status).toBe(201)
    const { page } = await openPage(await openBrowser())
    let searches = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/api/packages/search')) searches += 1
    })
    await dashboard.signIn(page, '/packages')
    await page.getByRole('textbox', { name: 'Search npm, or type an exact name' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('browser automation')
    await page.getByText('This registry does not offer search.').waitFor()
    await page.getByText('Type an exact package name.').waitFor()
    expect(searches).toBe(1)
    await page.keyboard.press('Control+a')
    await page.keyboard.type('mcp-tool')
    const result = page.getByRole('listitem').filter({ hasText: 'mcp-tool' }).first()
    await result.getByText(/downloads.* unknown$/).waitFor()
    const unknown = page.locator('[data-state="unknown"]')
    expect(await unknown.first().getByRole('img', { name: 'unknown' }).count()).toBe(1)
    expect(await page.locator('[data-state="look"]').filter({ hasText: 'unknown' }).count()).toBe(0)
    await choose(page, 'Install and add')
    await job(page, 'Installed mcp-tool')
      .getByRole('button', { name: 'Open tool' })
      .waitFor({ timeout: 120_000 })
    expect(searches, 'the progress of an installation searches nothing').toBe(2)
    await page.getByRole('radio', { name: 'Installed 1' }).check()
    const installed = page.getByRole('region', { name: 'Installed' })
    await installed.getByRole('link', { name: 'tool', exact: true }).waitFor()
    await installed.getByText('by-npx downloads this package with npx at each start.').waitFor()
    expect((await dashboard.ask('GET', '/servers/by-npx')).body).toMatchObject(byNpx)
    await expectAccessible(page)
    await installed.getByRole('button', { name: 'Run the installed one' }).click()
    await page.getByText('by-npx runs the installed package now').waitFor()
    await installed.getByRole('button', { name: 'Run the installed one' }).waitFor({ state: 'detached' })
    expect((await dashboard.ask('GET', '/servers/by-npx')).body).toMatchObject({ package: 'mcp-tool' })
  })

  test('an update shows the tools before it replaces, can be rolled back, and uninstalling a used package asks for a word; checks 26 and 27', async () => {
    const { dashboard, registry } = await open([toolPackage('mcp-tool', '1.0.0')])
    const installed = await dashboard.ask('POST', '/packages/install-npm', {
      name: 'mcp-tool',
      create_server: true,
    })
    expect(installed.status, JSON.stringify(installed.body)).toBe(201)
    registry.publish(toolPackage('mcp-tool', '2.0.0', { tools: ['echo', 'search'] }))
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.visit(page, '/packages?q=mcp')
    await page.getByRole('region', { name: 'Jobs' }).getByText('This needs permission.').waitFor()
    await dashboard.signIn(page, '/packages?tab=updates')
    await page.getByRole('button', { name: 'Ask the registry now' }).click()
    await page.getByText('2.0.0 is out').waitFor()
    await page.getByRole('button', { name: 'Update', exact: true }).click()
    const update = job(page, 'Update mcp-tool')
    await update.getByText('On trial').waitFor({ timeout: 120_000 })
    await update.getByText('What would change:').waitFor()
    await expectAccessible(page, update)
    await update.getByRole('button', { name: 'Switch to 2.0.0' }).click()
    await job(page, 'Updated mcp-tool').waitFor({ timeout: 60_000 })
    await page.getByRole('radio', { name: 'Installed 1' }).check()
    await page.getByRole('button', { name: 'Roll back to 1.0.0' }).click()
    await page.getByText('Rolled back mcp-tool to 1.0.0').waitFor()

    await page.getByRole('button', { name: 'Uninstall' }).click()
    const dialog = page.getByRole('dialog', { name: 'Uninstall mcp-tool?' })
    await dialog.getByText('tool runs from it and will be removed.').waitFor()
    await expectAccessible(page, dialog)
    await dialog.getByLabel('Type uninstall to confirm').press('Enter')
    expect((await dashboard.ask('GET', '/packages')).body.total).toBe(1)
    await dialog.getByLabel('Type uninstall to confirm').fill('uninstall')
    await dialog.getByRole('button', { name: 'Uninstall and remove the server' }).click()
    await page.getByText('Nothing is installed').waitFor()
    expect(await dashboard.list()).toEqual([])

    await page.getByRole('radio', { name: 'Find' }).check()
    await page.getByRole('textbox', { name: 'Search npm, or type an exact name' }).fill('mcp')
    await page.getByText('Facts, not a score.').waitFor()
    await page.setViewportSize({ width: 320, height: 640 })
    await expectAccessible(page)
    await expectToFit(page, 320)
    await page.getByRole('button', { name: 'Install and add' }).click()
    await page.getByRole('menuitem', { name: 'Install with options…' }).click()
    await expectAccessible(page, page.getByRole('dialog', { name: 'Install mcp-tool' }))
    expect(complaints).toEqual([])
  })
})

/** How often npm asked for the file of the package. Each npm asks once. */
const downloads = ({ requests }: { readonly requests: readonly { readonly path: string }[] }): number =>
  requests.filter(({ path }) => path.endsWith('.tgz')).length
