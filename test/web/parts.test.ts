import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { buildWeb } from '../../scripts/build-web.mjs'
import { ownFolder } from '../support/folder.ts'
import { openHouse, TOKEN } from '../support/house.ts'
import { executablePath, expectAccessible, openBrowser, openPage } from './support/browser.ts'
import { untilLive } from './support/dashboard.ts'

describe.runIf(executablePath)('the page /parts', () => {
  test('every part in every state has no accessibility violation, in light and in dark (check 26), and no inline style or script is refused', async () => {
    const webFolder = ownFolder()
    await buildWeb(webFolder, 'parts')
    const home = ownFolder()
    mkdirSync(join(home, '.cursor'))
    writeFileSync(
      join(home, '.cursor', 'mcp.json'),
      '{\n  "mcpServers": {\n    "a": { "command": "b" }\n  }\n}\n',
    )
    const { address } = await openHouse({ webFolder, home })
    const { page, complaints } = await openPage(await openBrowser())
    await page.addInitScript((token) => sessionStorage.setItem('toolroom.token', token), TOKEN)
    await page.goto(`${address}/settings`)
    await untilLive(page)
    await page.evaluate(() => history.pushState(null, '', '/parts'))
    await page.getByRole('heading', { name: 'Parts', level: 1 }).waitFor()
    await page.locator('canvas').first().waitFor()
    await expectAccessible(page)

    await page.getByRole('region', { name: 'Toasts' }).getByRole('button', { name: 'Undo' }).click()
    await page.getByRole('region', { name: 'Toasts' }).getByRole('button', { name: 'Failure' }).click()
    await page.getByText('Removed fetch from Cursor').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Clear…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Clear 18 204 lines of all servers?' })
    const clear = dialog.getByRole('button', { name: 'Clear', exact: true })
    expect(await clear.getAttribute('aria-disabled')).toBe('true')
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    for (const [open, title] of [
      ['Enable in…', 'Enable github in agents'],
      ['Connect Cursor…', 'Connect Cursor'],
    ] as const) {
      await page.getByRole('button', { name: open }).click()
      const server = page.getByRole('dialog', { name: title })
      await server.waitFor()
      await expectAccessible(page)
      await server.getByRole('button', { name: 'Cancel' }).click()
    }
    expect(complaints).toEqual([])
  })
})
