import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { runCli } from '../support/cli.ts'
import { HOME_SECRET } from '../support/dashboard-home.ts'
import { ownFolder } from '../support/folder.ts'
import { FULL } from '../support/full-or-short.ts'
import { openService } from '../support/service-process.ts'
import { TOKEN } from '../support/token.ts'
import { executablePath, expectAccessible, expectToFit, openBrowser, openPage } from './support/browser.ts'
import { type Dashboard, follow, openDashboard, programAt } from './support/dashboard.ts'

/** docs/checks.md: the checks of the first run. */

const hashes = ({ files }: Dashboard) =>
  Object.fromEntries(
    [...files.keys()].map((path) => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
  )
const title = (page: Page, text: string) => page.getByRole('heading', { level: 1, name: text })
const open = async (dashboard: Dashboard, page: Page) =>
  page.goto(`${dashboard.address}/welcome#c=${await dashboard.loginCode()}`)
const changed = (before: Record<string, string>, after: Record<string, string>) =>
  Object.keys(after).filter((path) => after[path] !== before[path])

/** Tab until the control has the focus, as a user without a mouse does. */
async function tabTo(page: Page, role: 'button' | 'checkbox' | 'radio', name: string): Promise<void> {
  const wanted = page.getByRole(role, { name, exact: true })
  await wanted.waitFor()
  for (let presses = 0; presses < 60; presses += 1) {
    if (await wanted.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not reach ${name}`)
}
async function press(page: Page, name: string): Promise<void> {
  await tabTo(page, 'button', name)
  await page.keyboard.press('Enter')
}

describe.runIf(executablePath)('the first run', () => {
  test('checks 1, 2 and 3: it finds 4 agents with 11 entries of 8 servers as the command line does, shows the broken line, tries servers before they are imported, and with the default choices writes no file', async () => {
    const dashboard = await openDashboard()
    const before = hashes(dashboard)
    const { page, complaints } = await openPage(await openBrowser())
    const soon = FULL ? { timeout: 3000 } : {}
    await open(dashboard, page)
    await title(page, '4 agents, 11 server entries (8 different servers).').waitFor(soon)
    const agents = page.getByRole('list', { name: 'Agents on this computer' })
    const zed = agents.getByRole('listitem').filter({ hasText: 'Zed' })
    expect(await zed.innerText()).toMatch(/line 4:/)
    await zed.getByRole('button', { name: 'Show line' }).click()
    await zed.getByText(/Line 4, column \d+ of/).waitFor()
    await zed.getByRole('list').getByText('"context_servers": {},').waitFor()
    await zed.locator('mark').waitFor()
    await page.getByText('Nothing has been changed').waitFor()
    await expectAccessible(page)
    expect(hashes(dashboard)).toEqual(before)
    const scan = await runCli({ HOME: dashboard.home, AUTH_TOKEN: TOKEN }, [
      ...['init', '--dry-run', '--import', 'none'],
    ])
    expect(scan.stdout).toMatch(/^Found 4 agents with 11 server entries \(8 different servers\)\./)

    await page.getByRole('button', { name: 'Continue' }).click()
    await title(page, 'Which of these 8 servers shall Toolroom look after?').waitFor()
    await page.getByRole('checkbox', { name: 'Import flood' }).click()
    const attempt = page.getByRole('checkbox', { name: 'Try starting each server now' })
    expect(await attempt.isChecked()).toBe(false)
    const list = page.getByRole('list', { name: 'Choose and merge' })
    const [box, first] = await Promise.all([attempt.boundingBox(), list.boundingBox()])
    expect(box?.y).toBeLessThan(first?.y ?? 0) // above the servers, however many there are
    await attempt.click()
    const row = (name: string) =>
      page.getByRole('listitem').filter({ has: page.getByRole('checkbox', { name: `Import ${name}` }) })
    const tried = async () => {
      await row('echo').getByText('Starts', { exact: true }).waitFor()
      await row('echo')
        .getByText(/^12 tools, /)
        .waitFor()
      await row('h200').getByText('Answers', { exact: true }).waitFor()
      await row('crash').getByText('Does not start').waitFor()
      await row('noenv').getByText('Does not start').waitFor()
      expect(await row('noenv').getByRole('paragraph').innerText()).not.toBe('')
      expect(await row('flood').getByText('Not tried').count()).toBe(1)
    }
    await tried()
    await row('slow').getByText('Starts', { exact: true }).waitFor()
    expect((await dashboard.ask('GET', '/servers')).body.total).toBe(0)
    expect((await dashboard.ask('GET', '/http-servers')).body.total).toBe(0)
    await expectAccessible(page)
    expect(await page.content()).not.toContain(HOME_SECRET)
    await page.getByRole('button', { name: 'Import 7 servers' }).click()
    await title(page, 'How shall your agents connect?').waitFor()
    await page.getByText('7 servers were added to Toolroom').waitFor()
    expect(await page.getByText('Nothing has been changed').count()).toBe(0)
    await page.getByRole('button', { name: 'Back' }).click()
    await tried()
    await page.getByRole('button', { name: 'Continue' }).click()
    const servers = await dashboard.ask('GET', '/servers')
    expect(servers.body.items.map(({ name }: { name: string }) => name)).not.toContain('flood')
    expect(servers.body.total).toBe(6)
    const of = (name: string) => servers.body.items.find((server: { name: string }) => server.name === name)
    expect(of('echo')).toMatchObject({ last_try: { ok: true }, tool_count: 12, health: { works: true } })
    expect(of('crash')).toMatchObject({ last_try: { ok: false }, health: { works: false } })
    expect(await page.getByRole('radio', { name: 'Just watch' }).isChecked()).toBe(true)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Continue' }).click()
    await title(page, 'No file will be changed.').waitFor()
    await page.getByRole('button', { name: 'Finish' }).click()
    await title(page, 'Done. No file was changed.').waitFor()
    await expectAccessible(page)
    expect(hashes(dashboard)).toEqual(before)
    expect(complaints).toEqual([])
  })

  test('checks 3 and 4: with a keyboard only, exactly the ticked files are written, each with a backup, and Undo returns every byte', async () => {
    const dashboard = await openDashboard()
    const before = hashes(dashboard)
    const { page } = await openPage(await openBrowser())
    await open(dashboard, page)
    await press(page, 'Continue')
    await press(page, 'Import 8 servers')
    await tabTo(page, 'radio', 'Just watch')
    await page.keyboard.press('ArrowDown')
    for (const agent of ['Cursor', 'Codex', 'Claude Code', 'Claude Desktop'])
      expect(await page.getByRole('checkbox', { name: agent, exact: true }).isChecked()).toBe(true)
    for (const agent of ['Claude Code', 'Claude Desktop']) {
      await tabTo(page, 'checkbox', agent)
      await page.keyboard.press('Space')
    }
    const off = page.getByRole('region', { name: 'When Toolroom is not running' })
    await off.getByText('Cursor and Codex lose their tools until you run').waitFor()
    await press(page, 'Continue')
    await title(page, 'Look at every line first.').waitFor()
    await page.getByRole('figure').nth(1).waitFor()
    expect(await page.getByText(/^It has no tools then|^It has only what stays/).count()).toBe(2)
    expect(await page.content()).not.toContain(HOME_SECRET)
    await expectAccessible(page)
    expect(hashes(dashboard)).toEqual(before)
    await press(page, 'Write 2 files')
    await title(page, 'Written.').waitFor()
    await page.getByText('waiting for Cursor to connect…').waitFor()
    const later = page.getByRole('region', { name: 'When Toolroom is not running' })
    await later
      .getByText(`Cursor and Codex lose their tools until you run ${programAt(dashboard.home)} up.`)
      .waitFor()
    await later.getByText('Toolroom cannot start at login here.').waitFor() // in this home
    await expectAccessible(page)
    const written = changed(before, hashes(dashboard))
    expect(written.sort()).toEqual(
      [...dashboard.files.keys()].filter((path) => /cursor|codex/.test(path)).sort(),
    )
    const backups = (await dashboard.ask('GET', '/backups')).body.items as { path: string; bytes: number }[]
    expect(backups.map(({ path }) => path).sort()).toEqual(written)
    for (const { path, bytes } of backups)
      expect(bytes).toBe(Buffer.byteLength(dashboard.files.get(path) ?? ''))

    await press(page, 'Undo')
    await title(page, 'Undone. Every file is as it was.').waitFor()
    expect(hashes(dashboard)).toEqual(before)
  })

  test('check 27: the whole first run fits a phone of 390 pixels, and every step fits 320', async () => {
    const dashboard = await openDashboard()
    const { page } = await openPage(await openBrowser(), { viewport: { width: 390, height: 844 } })
    await open(dashboard, page)
    const fits = async () => {
      for (const width of [390, 320]) {
        await page.setViewportSize({ width, height: 844 })
        await expectToFit(page, width)
      }
      await page.setViewportSize({ width: 390, height: 844 })
    }
    await title(page, '4 agents, 11 server entries (8 different servers).').waitFor()
    await fits()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('button', { name: 'Import 8 servers' }).waitFor()
    await fits()
    await page.getByRole('button', { name: 'Import 8 servers' }).click()
    await page.getByRole('radio', { name: 'One entry per agent' }).click()
    for (const agent of ['Claude Code', 'Claude Desktop', 'Codex'])
      await page.getByRole('checkbox', { name: agent, exact: true }).click()
    await fits()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('figure').first().waitFor()
    await fits()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Write 1 file' }).click()
    await title(page, 'Written.').waitFor()
    await fits()
    await page.getByRole('button', { name: 'Undo' }).click()
    await title(page, 'Undone. Every file is as it was.').waitFor()
  })

  test('on an empty computer it takes at most three clicks from the printed link to the result of a tool, without a network; one click removes the sample server with its folder', async () => {
    const nowhere = 'http://127.0.0.1:9'
    const service = await openService({
      home: ownFolder(),
      env: { HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere },
    })
    const open = await runCli({ HOME: service.home, AUTH_TOKEN: TOKEN }, ['open', '--no-browser'])
    const { page, complaints } = await openPage(await openBrowser())
    const asked = new Set<string>()
    page.on('request', (request) => asked.add(new URL(request.url()).origin))
    let clicks = 0
    const click = async (name: string | RegExp) => {
      clicks += 1
      await page.getByRole('button', { name }).click()
    }

    await page.goto(/http:\S+#c=\S+/.exec(open.stdout)?.[0] ?? expect.unreachable(open.stdout))
    await title(page, 'No servers on this computer yet.').waitFor()
    for (const door of ['Search npm', 'Paste a command, URL or JSON', 'Add an agent'])
      expect(await page.getByRole('link', { name: door }).count()).toBe(1)
    await expectAccessible(page)
    await click('Add a sample server')
    await page.getByRole('textbox', { name: 'text' }).waitFor()
    await click(/^Run /)
    await page.getByText('Note 1 is kept: Toolroom works').waitFor()
    expect(clicks).toBeLessThanOrEqual(3)
    expect([...asked]).toEqual([service.address])

    await page.getByText('This is the sample server.').waitFor()
    await expectAccessible(page)
    for (const [name, path] of [
      ['its time in Traffic', /\/traffic$/],
      ['its lines in Logs', /\/logs\?servers=sample$/],
      ['which agents may use it', /\/agents$/],
    ] as const)
      expect(await page.getByRole('link', { name }).getAttribute('href')).toMatch(path)
    const folder = join(service.data, 'sample')
    expect(readFileSync(join(folder, 'notes.json'), 'utf8')).toContain('Toolroom works')
    await page.getByText(/Removing it deletes \S+sample with all notes/).waitFor()
    await click('Remove the sample server')
    await title(page, 'No servers on this computer yet.').waitFor()
    expect((await service.ask('GET', '/servers')).body.total).toBe(0)
    expect(existsSync(folder)).toBe(false)

    // Skipped once, Home stays Home.
    await click('Skip, start empty')
    await page.getByText('No servers yet').waitFor()
    await follow(page, '/')
    await page.getByText('No servers yet').waitFor()

    // A link that was opened too late says so, and what to do.
    const program = programAt(service.home)
    const late = (await service.ask('POST', '/login-codes', { lifetime_s: 1 })).body
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(late.expires_at) + 10)
    const { page: other } = await openPage(await openBrowser())
    await other.goto(`${service.address}/#c=${late.code}`)
    await other.getByText('This link has expired.').waitFor()
    await other.getByText(`Run ${program} open again in a terminal`).waitFor()
    await follow(other, '/servers')
    await other.getByText(`This link has expired. Run ${program} open again, or`).waitFor()
    expect(complaints).toEqual([])
  })
})
