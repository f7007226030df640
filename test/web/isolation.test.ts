import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { onDisk } from '../support/folder.ts'
import { givenToServers, PLACES } from '../support/places.ts'
import { executablePath, expectAccessible, expectToFit, openBrowser, openPage } from './support/browser.ts'
import { follow, sharedDashboard } from './support/dashboard.ts'

onDisk()

const SERVER = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url),
)
const hasSandbox = PLACES.some(({ name, isThere }) => name === 'sandbox' && isThere)

describe.runIf(executablePath && hasSandbox)(
  'with sandbox, the isolation of a server in the dashboard',
  () => {
    const shared = sharedDashboard({
      env: { DOCKER_HOST: 'unix:///nonexistent/engine.sock' },
      prepare: (home) => {
        for (const name of ['notes', 'drafts']) mkdirSync(join(home, name))
        givenToServers(home)
      },
    })

    test('a server is added in a sandbox, runs there, and its row and its page say so; the isolation is edited in its definition', async () => {
      const dashboard = await shared()
      const { page, complaints } = await openPage(await openBrowser())
      await dashboard.signIn(page, '/servers')
      await page.getByRole('heading', { level: 1, name: 'Servers' }).waitFor()
      await page.keyboard.press('n')
      const dialog = page.getByRole('dialog', { name: 'Add a server' })
      const what = dialog.getByRole('textbox', { name: 'What to add' })
      await what.fill('docker run -i --rm mcp/time')
      await expect.poll(() => dialog.getByRole('radio', { name: 'Container' }).isChecked()).toBe(true)
      await what.fill(`${process.execPath} ${SERVER} ${join(dashboard.home, 'notes')}`)
      await expect.poll(() => dialog.getByRole('radio', { name: 'None', exact: true }).isChecked()).toBe(true)
      await dialog.getByRole('textbox', { name: 'Name' }).fill('files')
      await dialog.getByRole('radio', { name: 'Sandbox' }).check()
      expect(await dialog.getByRole('textbox', { name: 'Image' }).count()).toBe(0)
      await dialog.getByRole('textbox', { name: 'May change' }).fill('notes')
      await dialog.getByText('notes is not a path. Begin with / or ~/').waitFor()
      await dialog.getByRole('textbox', { name: 'May change' }).fill('~/notes')
      await expectAccessible(page, dialog)
      await dialog.getByRole('button', { name: 'Add, start and check' }).click()
      await page.getByText('files works, with 14 tools').waitFor()
      const text = 'Sandbox · writes ~/notes · no network'
      await page.getByRole('row').filter({ hasText: 'files' }).getByRole('img', { name: text }).waitFor()
      expect((await dashboard.ask('GET', '/servers/files')).body).toMatchObject({
        place: 'sandbox',
        isolation_options: { write: ['~/notes'] },
      })

      await page.getByRole('link', { name: 'files' }).click()
      await page.getByText(text, { exact: true }).waitFor()
      await page.getByRole('region', { name: 'Facts' }).getByRole('button', { name: 'Change' }).click()
      const form = page.getByRole('region', { name: 'Form' })
      await expect.poll(() => form.getByRole('radio', { name: 'Sandbox' }).evaluate(isFocused)).toBe(true)
      await page.getByRole('radio', { name: 'Full' }).check()
      await page.keyboard.press('Enter')
      await page.getByText('Saved files').waitFor()
      await page.getByText('Sandbox · writes ~/notes · network', { exact: true }).waitFor()
      await expectAccessible(page, form)
      await page.setViewportSize({ width: 390, height: 844 })
      await expectToFit(page, 390)
      expect(complaints).toEqual([])
    })

    test('a trial shows what a server is refused, one click grants that path, and an isolation that works is kept, or undone', async () => {
      const dashboard = await shared()
      const { home } = dashboard
      await dashboard.add({
        name: 'free',
        command: process.execPath,
        args: [SERVER, join(home, 'notes'), home],
      })
      await dashboard.start('free')
      const { page, complaints } = await openPage(await openBrowser())
      await dashboard.signIn(page, '/servers/free')
      await page.getByRole('button', { name: 'Try in isolation…' }).click()
      const dialog = page.getByRole('dialog', { name: 'Try free in isolation' })
      await dialog.getByRole('textbox', { name: 'May read' }).fill('~/notes')
      expect(await dialog.getByRole('radio', { name: 'None', exact: true }).count()).toBe(1) // of the network
      await dialog.getByRole('button', { name: 'Add a call' }).click()
      await dialog.getByRole('combobox', { name: 'Tool of call 1' }).fill('write_f')
      await page.getByRole('option', { name: 'write_file' }).click()
      const args = dialog.getByRole('textbox', { name: 'Arguments of call 1, as JSON' })
      await expect.poll(() => args.inputValue()).toBe('{"path":"","content":""}')
      const file = join(home, 'notes', 'tried.md')
      await args.fill(JSON.stringify({ path: file, content: 'tried' }))
      const draft = join(home, 'drafts', 'a.md')
      const more = [
        ['create_directory', { path: join(home, 'drafts') }],
        ['write_file', { path: draft, content: 'drafted' }],
        ['write_file', { path: join(home, 'top.md'), content: 'lost' }],
      ] as const
      for (const [index, [tool, given]] of more.entries()) {
        await dialog.getByRole('button', { name: 'Add a call' }).click()
        await dialog.getByRole('combobox', { name: `Tool of call ${index + 2}` }).fill(tool)
        await page.getByRole('option', { name: tool }).click()
        await dialog
          .getByRole('textbox', { name: `Arguments of call ${index + 2}, as JSON` })
          .fill(JSON.stringify(given))
      }
      expect(
        await dialog.getByRole('button', { name: 'Keep this isolation' }).getAttribute('aria-disabled'),
      ).toBe('true')
      await dialog.getByRole('button', { name: 'Try it' }).click()
      const report = dialog.getByRole('region', { name: 'How it ran' })
      await report.getByText(/^It started in .+ and listed 14 tools$/).waitFor()
      await report.getByText('It may not change ~/notes').waitFor()
      await report.getByText("EROFS: read-only file system, open '~/notes/tried.md'").waitFor()
      await report.getByText('Not seen: what 12 other tools do, which were not called.').waitFor()
      await report.getByText('What it writes in ~/drafts is lost').waitFor()
      await report.getByText('~/drafts/a.md was written in memory only and is lost at the end').waitFor()
      const lost = report.getByRole('region', { name: 'Written in memory only, and lost when it ended' })
      expect(await lost.textContent()).toBe('~/drafts/a.md\n~/top.md')
      await dialog.getByText('Tried: 1 thing was refused, 2 files were lost').waitFor()
      expect([existsSync(file), existsSync(draft)]).toEqual([false, false])
      await expectAccessible(page, dialog)
      await report.getByRole('button', { name: 'Allow changes' }).first().click()
      await report.getByText('It may now change ~/notes').waitFor()
      await report.getByRole('button', { name: 'Allow changes' }).click()
      await dialog.getByText('The isolation has changed since').waitFor()
      await dialog.getByRole('button', { name: 'Try again' }).click()
      await report.getByText('Nothing was refused in what was tried.').waitFor()
      expect(readFileSync(file, 'utf8')).toBe('tried')
      expect(readFileSync(draft, 'utf8')).toBe('drafted')
      await expect.poll(() => lost.textContent()).toBe('~/top.md')
      await report.getByText('To keep such files, allow changes to their folder.').waitFor()
      expect((await dashboard.ask('GET', '/servers/free')).body).toMatchObject({ isolation: 'none' })

      await dialog.getByRole('button', { name: 'Keep this isolation' }).click()
      await page.getByText('Sandbox · writes ~/notes, ~/drafts · no network', { exact: true }).waitFor()
      expect((await dashboard.ask('GET', '/servers/free')).body).toMatchObject({
        isolation: 'sandbox',
        isolation_options: { write: ['~/notes', '~/drafts'], read: [], network: 'none' },
      })
      await page.getByRole('button', { name: 'Undo' }).click()
      await page.getByText('free has its former isolation again').waitFor()
      expect((await dashboard.ask('GET', '/servers/free')).body).toMatchObject({ isolation: 'none' })
      await page.setViewportSize({ width: 390, height: 844 })
      await follow(page, '/servers/free?tab=config&trial=1')
      await dialog.getByRole('button', { name: 'Add a call' }).click()
      await expectToFit(page, 390)
      expect(await dialog.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
      expect(complaints).toEqual([])
    })

    test('a server whose container engine is missing says what helps, and leads to its isolation', async () => {
      const dashboard = await shared()
      await dashboard.add({
        name: 'boxed',
        command: 'server',
        isolation: 'container',
        isolation_options: { image: 'node:22-slim' },
      })
      await dashboard.ask('POST', '/servers/boxed/start')
      const { page, complaints } = await openPage(await openBrowser())
      await dashboard.signIn(page, '/servers/boxed')
      const why = page.getByRole('region', { name: 'Why it is down' })
      await why.getByText('engine_unavailable').waitFor()
      await why
        .getByText(/nonexistent\/engine\.sock/)
        .first()
        .waitFor()
      await expectAccessible(page, why)
      await why.getByRole('button', { name: 'Change isolation' }).click()
      await page.getByText(/The container engine does not answer: .*Start the container engine of/).waitFor()
      const form = page.getByRole('region', { name: 'Form' })
      await expect.poll(() => form.getByRole('radio', { name: 'Container' }).evaluate(isFocused)).toBe(true)
      expect(await form.getByRole('textbox', { name: 'Image' }).inputValue()).toBe('node:22-slim')
      expect(complaints).toEqual([])
    })
  },
)

const isFocused = (element: Element): boolean => element === document.activeElement
