import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { executablePath, expectAccessible, expectToFit, openBrowser, openPage } from './support/browser.ts'
import { type Dashboard, openDashboard, sharedDashboard, untilLive } from './support/dashboard.ts'

const rowOf = (page: Page, name: string) =>
  page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
const shownNames = (page: Page) => page.locator('tbody tr td:nth-child(2) a').allInnerTexts()
const unread = (page: Page) => page.title().then((title) => /^\((\d+)\)/.exec(title)?.[1] ?? '0')

/** The broken file of the home is a notice, too. */
const ZED_MUTED = { kinds: ['agent_file_unreadable'], servers: [] }

/** Ends the process of a server, as another program would, and waits until the service has noticed. */
async function kill(dashboard: Dashboard, id: string): Promise<void> {
  const { pid } = (await dashboard.ask('GET', `/servers/${id}`)).body
  process.kill(pid, 'SIGKILL')
  await dashboard.until((servers) => servers.some((server) => server.id === id && server.pid !== pid))
}

describe.runIf(executablePath)('Servers', () => {
  const shared = sharedDashboard({ register: true })

  test('the filter knows states, kinds, tags, tools and agents, is in the address, and survives a reload', async () => {
    const dashboard = await shared()
    await dashboard.ask('PATCH', '/servers/slow', { tags: ['work'] })
    await dashboard.start('echo')
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers')
    await rowOf(page, 'echo').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('http')
    await expect.poll(() => shownNames(page)).toEqual(['h200', 'h401'])
    const filter = page.getByRole('textbox', { name: 'Filter servers' })
    for (const [text, names] of Object.entries({
      'tag:work': ['slow'],
      'tool:rename': ['echo'],
      'running stdio': ['echo'],
      'agent:cursor': ['echo', 'flood'],
    })) {
      await filter.fill(text)
      await expect.poll(() => shownNames(page), { message: text }).toEqual(names)
    }
    await page.reload()
    await untilLive(page)
    await expect.poll(() => shownNames(page)).toEqual(['echo', 'flood'])
    await filter.fill('nothing has this')
    await page.getByText('No server matches.').waitFor()
    await page.getByRole('button', { name: 'Clear the filter' }).click()
    await page.getByRole('radio', { name: 'Remote 2' }).click()
    await expect.poll(() => shownNames(page)).toEqual(['h200', 'h401'])
  })

  test('check 23: a killed server is one notice and a number in the title, recovery closes it, and ten crashes are one notice', async () => {
    const dashboard = await shared()
    await dashboard.ask('PUT', '/notices/mutes', ZED_MUTED)
    await dashboard.start('echo')
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers')
    expect(await unread(page)).toBe('0')
    await kill(dashboard, 'echo')
    await expect.poll(() => unread(page)).toBe('1')
    for (let crash = 2; crash <= 10; crash++) {
      await dashboard.start('echo')
      await kill(dashboard, 'echo')
    }
    await page.getByRole('button', { name: '1 notice' }).click()
    await page.getByText('and 9 more').waitFor()
    await page.keyboard.press('Escape')
    await dashboard.start('echo')
    await rowOf(page, 'echo').getByText('Running').waitFor()
    await expect.poll(() => unread(page)).toBe('0')
  })

  test('checks 7 and 9: a crash shows its line of stderr and its exit code without a click; text on stdout is one warning about a server that runs', async () => {
    const dashboard = await shared()
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers')
    await page.getByRole('button', { name: 'Start crash', exact: true }).click()
    await page.getByText('Error: the index is broken', { exact: true }).waitFor()
    await rowOf(page, 'crash').getByText('exit 1', { exact: true }).waitFor()
    expect(await page.content()).not.toContain('-32000')

    await page.getByRole('button', { name: 'Start noisy', exact: true }).click()
    await rowOf(page, 'noisy')
      .getByText(/Running \d+ s/)
      .waitFor()
    const warning = page.getByRole('row').filter({ hasText: 'stdout' })
    await warning.getByText(/wrote \d+ lines to stdout that are not MCP messages/).waitFor()
    expect(await warning.count()).toBe(1)
    expect(complaints).toEqual([])
  })

  test('enabling in an agent shows the diff first, and writes only the file that was chosen', async () => {
    const dashboard = await shared()
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers')
    await page.getByRole('button', { name: 'More for slow' }).click()
    await page.getByRole('menuitem', { name: 'Enable in…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Enable slow in agents' })
    await dialog.getByRole('checkbox', { name: 'Cursor' }).click()
    await dialog
      .getByRole('figure', { name: /mcp\.json/ })
      .getByText('"slow"')
      .waitFor()
    await expectAccessible(page, dialog)
    await dialog.getByRole('button', { name: 'Write to 1 file' }).click()
    await page.getByText('Enabled in Cursor').waitFor()
    const { body } = await dashboard.ask('GET', '/servers/slow')
    expect(body.used_by_agents).toContain('cursor')
  })

  test('checks 26 and 27: Servers has no accessibility violation, and no sideways scroll at 320 px', async () => {
    const dashboard = await shared()
    await dashboard.start('mutate')
    await dashboard.ask('POST', '/servers/mutate/restart')
    await dashboard.ask('POST', '/servers/crash/start?wait_s=0')
    await dashboard.ask('POST', '/http-servers/h401/test')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers')
    await rowOf(page, 'mutate').getByText('Tools changed').waitFor()
    await page.getByRole('checkbox', { name: 'Select slow' }).click()
    await page.getByText('Error: the index is broken', { exact: true }).waitFor()
    await expectAccessible(page)
    for (const width of [1024, 320]) {
      await page.setViewportSize({ width, height: 640 })
      await page.getByRole('listitem').filter({ hasText: 'mutate' }).getByText('Tools changed').waitFor()
      await expectAccessible(page)
      await expectToFit(page, width)
    }
    expect(complaints).toEqual([])
  })

  test('several servers are stopped together; a removal can be undone for 10 s, and is sent when they are over', async () => {
    const dashboard = await shared()
    await dashboard.start('echo')
    await dashboard.start('slow')
    const { page } = await openPage(await openBrowser())
    await page.clock.install()
    await dashboard.signIn(page, '/servers')
    for (const name of ['echo', 'slow']) await page.getByRole('checkbox', { name: `Select ${name}` }).click()
    const bar = page.getByRole('toolbar', { name: '2 selected' })
    await bar.getByRole('button', { name: 'Stop' }).click()
    await dashboard.until(
      (servers) =>
        servers.filter(({ id, status }) => ['echo', 'slow'].includes(id) && status === 'stopped').length ===
        2,
    )
    await bar.getByRole('button', { name: 'Remove' }).click()
    await rowOf(page, 'echo').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo' }).click()
    await rowOf(page, 'echo').waitFor()
    expect(await dashboard.list()).toHaveLength(7)

    await page.getByRole('button', { name: 'More for flood' }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await rowOf(page, 'flood').waitFor({ state: 'detached' })
    expect(await dashboard.list()).toHaveLength(7)
    await page.mouse.move(0, 0) // the time of a message stands still while the pointer is on it
    await page.clock.fastForward(11_000)
    await expect.poll(async () => (await dashboard.list()).length).toBe(6)
  })

  test('one box understands a command, a URL, an npm name, snippets and links, and adds, starts and checks', async () => {
    const dashboard = await openDashboard({ env: { npm_config_registry: 'http://127.0.0.1:9/' } })
    const [echo] = dashboard.stdio
    const noenv = dashboard.stdio.find(({ name }) => name === 'noenv')
    const [h200] = dashboard.http
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers')
    await page.getByText('No servers yet').waitFor()
    await page.keyboard.press('n')
    const dialog = page.getByRole('dialog', { name: 'Add a server' })
    const box = dialog.getByRole('textbox', { name: 'What to add' })
    const understood = dialog.getByRole('region', { name: 'Understood as' })
    const config = { command: 'npx', args: ['-y', 'notes-mcp'] }
    const encoded = Buffer.from(JSON.stringify(config)).toString('base64')
    for (const [text, meaning] of [
      ['@acme/notes', 'local server'],
      ['https://mcp.example.com/mcp', 'remote server'],
      [JSON.stringify({ mcpServers: { notes: config } }), 'notes'],
      ['[mcp_servers.papers]\ncommand = "npx"\nargs = ["-y", "papers-mcp"]\n', 'papers'],
      [`cursor://anysphere.cursor-deeplink/mcp/install?name=linked&config=${encoded}`, 'linked'],
      [`vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: 'coded', ...config }))}`, 'coded'],
    ] as const) {
      await box.fill(text)
      await understood.getByText(meaning).first().waitFor()
    }
    await box.fill(`${echo?.command} ${echo?.args.join(' ')}`)
    await understood.getByText(`The program is ${process.execPath}`).waitFor()
    await expectAccessible(page, dialog)
    await dialog.getByRole('textbox', { name: 'Name' }).fill('my notes')
    await dialog.getByRole('button', { name: 'Add variable' }).click()
    await dialog.getByLabel('Name of variable 1').fill('NOTES_TOKEN')
    await dialog.getByLabel('Value of variable 1').fill('s3cret-of-the-notes')
    await understood.getByText('my notes').waitFor()
    await dialog.getByRole('button', { name: 'Add, start and check' }).click()
    await page.getByText('my notes works, with 12 tools').waitFor()
    await rowOf(page, 'my notes').getByText('Running').waitFor()
    const [added] = await dashboard.list()
    expect(added).toMatchObject({ id: 'my-notes', status: 'running', env: { NOTES_TOKEN: '***' } })
    expect(await page.content()).not.toContain('s3cret-of-the-notes')

    await page.keyboard.press('n')
    const keyed = { command: noenv?.command, args: noenv?.args, env: { TOKEN: '<YOUR_TOKEN>' } }
    await box.fill(JSON.stringify({ mcpServers: { keyed } }))
    const open = dialog.getByRole('region', { name: 'To fill in' })
    await open.getByText('in env TOKEN').waitFor()
    await open.getByLabel('<YOUR_TOKEN>').fill('s3cret-in-the-place')
    await dialog.getByRole('checkbox', { name: 'Keep it in the secret store' }).waitFor()
    await expectAccessible(page, dialog)
    const folder = dialog.getByRole('textbox', { name: 'Folder' })
    await folder.fill('notes')
    await dialog.getByRole('button', { name: 'Add, start and check' }).click()
    await dialog.getByRole('alert').waitFor()
    await expect.poll(() => folder.evaluate((field) => field === document.activeElement)).toBe(true)
    await expect.poll(() => folder.getAttribute('aria-invalid')).toBe('true')
    const place = await folder.boundingBox()
    expect(place && place.y > 0 && place.y < 800).toBe(true)
    await folder.fill('')
    await dialog.getByRole('button', { name: 'Add, start and check' }).click()
    await page.getByText('keyed works, with 1 tool').waitFor()
    const { body } = await dashboard.ask('GET', '/servers/keyed')
    expect(body.env).toEqual({ TOKEN: `$\{secret:TOKEN}` })

    await page.keyboard.press('n')
    await box.fill(h200?.url ?? '')
    await dialog.getByRole('button', { name: 'Add and check' }).click()
    await page
      .getByText(/works, with \d+ tools?/)
      .filter({ hasNotText: 'my notes' })
      .waitFor()
    expect(complaints.filter((text) => !/502|422/.test(text))).toEqual([]) // no registry, and the folder
  })
})
