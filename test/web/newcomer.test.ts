import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { AgentToolsView } from '../../src/gateway/catalogue/visibility.schema.ts'
import { NEWCOMER_SERVERS, writeNewcomerHome } from '../fixtures/newcomer-home.ts'
import { ownFolder } from '../support/folder.ts'
import { openService } from '../support/service-process.ts'
import { executablePath, openBrowser, openPage } from './support/browser.ts'

const NAMES = {
  'claude-code': 'Claude Code',
  'claude-desktop': 'Claude Desktop',
  cursor: 'Cursor',
  codex: 'Codex',
  'gemini-cli': 'Gemini CLI',
} as const

describe.runIf(executablePath)('the first run of a newcomer', () => {
  test("in the browser, a newcomer's agents have the same servers and credentials before and after a take-over, a server that no agent was allowed to start is not imported, and disconnect returns every byte", async () => {
    const home = ownFolder()
    const { files } = writeNewcomerHome(home, `${home}/.config`)
    const changed = () =>
      Object.entries(files).filter(([path, text]) => readFileSync(path, 'utf8') !== text).length
    const service = await openService({ home, env: { XDG_CONFIG_HOME: `${home}/.config` } })
    const { code } = (await service.ask('POST', '/login-codes')).body
    const { page } = await openPage(await openBrowser())
    await page.goto(`${service.address}/welcome#c=${code}`)
    await page.getByText('2 of them in the project ~/code/shop').waitFor()
    await page.getByRole('button', { name: 'Continue' }).click()
    const off = page.getByRole('listitem').filter({ hasText: 'off in Codex' })
    expect(await off.getByRole('checkbox', { name: 'Import docs' }).isChecked()).toBe(false)
    const warehouse = page.getByRole('checkbox', { name: 'Import warehouse' })
    await warehouse.waitFor()
    expect(await warehouse.isChecked()).toBe(false)
    const row = page
      .getByRole('listitem')
      .filter({ has: page.getByRole('checkbox', { name: 'Import memory-cursor' }) })
    await row.getByRole('button', { name: 'Compare' }).click()
    await row.getByText('/srv/b.json').first().waitFor()
    await page.getByRole('radio', { name: /^Copy/ }).click()
    await page.getByRole('button', { name: /^Import \d+ servers$/ }).click()
    await page.getByRole('radio', { name: 'One entry per agent' }).click()
    for (const name of Object.values(NAMES))
      expect(await page.getByRole('checkbox', { name, exact: true }).isChecked()).toBe(true)
    await page.getByRole('checkbox', { name: 'VS Code', exact: true }).uncheck()
    await page.getByRole('button', { name: 'Continue' }).click()
    for (const name of Object.values(NAMES)) {
      const card = page.getByRole('region', { name: `${name}, before and after` })
      await card.getByText('keeps what it had').waitFor()
    }
    expect(changed()).toBe(0)
    await page.getByRole('button', { name: 'Write 5 files' }).click()
    await page.getByRole('heading', { level: 1, name: 'Written.' }).waitFor()
    const servers = (await service.ask('GET', '/servers')).body.items as { id: string }[]
    expect(servers.map(({ id }) => id)).not.toContain('warehouse')
    for (const [agent, had] of Object.entries(NEWCOMER_SERVERS)) {
      const { by_server } = (await service.ask('GET', `/agents/${agent}/tools`)).body as AgentToolsView
      expect([agent, by_server.map(({ server_id }) => server_id).sort()]).toEqual([
        agent,
        Object.values(had).sort(),
      ])
    }
    expect(changed()).toBe(5)
    for (const agent of Object.keys(NEWCOMER_SERVERS))
      await service.ask('POST', `/agents/${agent}/disconnect`)
    expect(changed()).toBe(0)
  })
})
