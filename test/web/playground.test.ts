import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { figure } from '../support/figure.ts'
import { FULL } from '../support/full-or-short.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { executablePath, expectAccessible, expectToFit, openBrowser, openPage } from './support/browser.ts'
import { openDashboard } from './support/dashboard.ts'

const fixture = (file: string, ...args: string[]) => ({
  name: file,
  command: process.execPath,
  args: [fileURLToPath(new URL(`../fixtures/servers/${file}.mjs`, import.meta.url)), ...args],
})

const willSend = (page: Page) => page.getByRole('region', { name: 'Will send, byte for byte' })
const result = (page: Page) => page.getByRole('region', { name: 'Result', exact: true })
const fill = (name: string, value: string) => (page: Page) =>
  page.getByRole('textbox', { name, exact: true }).fill(value)
const press = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).click()
const choose = (name: string, option: string) => async (page: Page) => {
  await page.getByRole('combobox', { name }).click()
  await page.getByRole('option', { name: option, exact: true }).click()
}
const pick = (option: string) => (page: Page) =>
  page.getByRole('radio', { name: option, exact: true }).click()

/** What a person does in the form of each schema, and what is sent then. */
const SCHEMAS: Readonly<Record<string, readonly [readonly ((page: Page) => Promise<void>)[], string]>> = {
  optionalString: [[fill('q', 'a')], '{"q":"a"}'],
  pydanticOptional: [[], '{}'],
  typeArrayNull: [[pick('null')], '{"name":null}'],
  arrayOfObjects: [[press('Add an item'), fill('name', 'x')], '{"items":[{"name":"x"}]}'],
  defsRef: [[fill('field', 'f'), choose('op', 'eq')], '{"filter":{"field":"f","op":"eq"}}'],
  oneOfConst: [[choose('Kind of Arguments', 'id'), fill('id', '5')], '{"kind":"id","id":5}'],
  anyOfObjectsArray: [
    [press('Set steps'), press('Add an item'), choose('Kind of steps 1', 'b'), fill('b', '2')],
    '{"steps":[{"b":2}]}',
  ],
  freeMap: [[fill('headers', '{"x":"1"}')], '{"headers":{"x":"1"}}'],
  emptyObject: [[], '{}'],
  phpEmptyArrayProps: [[], '{}'],
  numEnum: [[choose('level', '2')], '{"level":2}'],
  draft2020: [[fill('message', 'hi')], '{"message":"hi"}'],
  draft07: [[fill('message', 'hi')], '{"message":"hi"}'],
  prefixItems: [[fill('point', '[1, 2]')], '{"point":[1,2]}'],
  recursive: [
    [press('Set tree'), fill('v', 'a'), press('Set kids'), press('Add an item')],
    '{"tree":{"v":"a","kids":[{}]}}',
  ],
  noType: [[fill('x', '1')], '{"x":1}'],
  boolSchema: [[fill('x', '"s"')], '{"x":"s"}'],
  unknownFormat: [[fill('p', '/etc/hosts')], '{"p":"/etc/hosts"}'],
  badRef: [[fill('x', '1')], '{"x":1}'],
  oddName: [[fill('a/b~c', 'ab')], '{"a/b~c":"ab"}'],
}

/** docs/checks.md: the checks of the Playground. */
describe.runIf(executablePath)('Playground', () => {
  const withServers = sharedByTests(async () => {
    const dashboard = await openDashboard({ register: true })
    for (const file of ['schemas', 'asker', 'app-page']) {
      await dashboard.add(fixture(file))
      await dashboard.start(file)
    }
    return dashboard
  })

  test('check 15: the 18 schemas are drawn and sent without an error of the console, untouched optional fields are absent, and what is shown is what the server received', async () => {
    const dashboard = await withServers()
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/playground?server=schemas')
    for (const [tool, [steps, sent]] of Object.entries(SCHEMAS)) {
      await page.getByRole('region', { name: 'Tools' }).getByRole('button', { name: tool }).first().click()
      await page.getByRole('region', { name: tool, exact: true }).waitFor()
      for (const step of steps) await step(page)
      await expect.poll(() => willSend(page).innerText()).toBe(sent)
      await page.keyboard.press('Control+Enter')
      await result(page).getByText(`got ${sent}`, { exact: true }).waitFor()
    }
    expect(complaints).toEqual([])

    // A missing field is named where it is missing, and nothing is sent.
    await page.getByRole('region', { name: 'Tools' }).getByRole('button', { name: 'draft07' }).first().click()
    const before = await result(page).innerText()
    await page.keyboard.press('Control+Enter')
    const form = page.getByRole('region', { name: 'draft07', exact: true })
    await form.getByText('Required', { exact: true }).waitFor()
    expect(await form.getByRole('button', { name: /^Run/ }).getAttribute('aria-disabled')).toBe('true')
    expect(await result(page).innerText()).toBe(before)

    // A schema that requires itself without end is drawn to a depth.
    await page.getByRole('button', { name: 'requiresItself' }).first().click()
    const endless = page.getByRole('region', { name: 'requiresItself', exact: true })
    await endless.getByRole('button', { name: 'Set self' }).click()
    await endless.getByRole('button', { name: 'Set self' }).waitFor()
  })

  test(`check 16, R32: Escape cancels a call within ${FULL ? '300 ms and ' : ''}18 frames, the page says so, and the server received the notification`, async () => {
    const dashboard = await withServers()
    const { page, urls } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/playground?server=asker&tool=wait&view=json')
    await page.getByRole('textbox', { name: 'Arguments' }).fill('{"ms":20000}')
    await page.keyboard.press('Control+Enter')
    await result(page).getByText('Running', { exact: true }).waitFor()
    await page.evaluate(countFramesUntilCancelled)
    const before = urls.length
    await page.keyboard.press('Escape')
    await result(page).getByText('The server was notified.').waitFor()
    const { frames, ms } = await page.evaluate(() => window.cancelled)
    expect(frames).toBeLessThanOrEqual(18)
    if (FULL) figure('R32', 'Escape cancels a call, ms', ms, { most: 300 })
    expect(urls.slice(before).filter((url) => url.endsWith('/call'))).toEqual([])
    await expect
      .poll(async () => JSON.parse((await dashboard.call('asker', 'notified')).body.content[0].text))
      .toEqual(expect.arrayContaining(['notifications/cancelled']))
    const { body } = await dashboard.ask('GET', '/calls?tool=wait')
    expect(body.items).toMatchObject([{ status: 'cancelled' }])
  })

  test('a question of the server is answered in the page, a call is saved and replayed, and a stopped server is started for the call', async () => {
    const dashboard = await withServers()
    await dashboard.start('echo')
    await dashboard.ask('POST', '/servers/echo/stop')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/playground?server=asker&tool=elicit&view=json')
    await page.getByRole('textbox', { name: 'Arguments' }).fill('{"who":"Who are you?"}')
    await page.keyboard.press('Control+Enter')
    const asked = page.getByRole('region', { name: 'The server asks' })
    await asked.getByText('Who are you?').waitFor()
    await asked.getByRole('textbox', { name: 'name' }).fill('Ada')
    await asked.getByRole('button', { name: 'Answer' }).click()
    await result(page).getByText('"Ada"').waitFor()
    await result(page).getByText('Where the time went').waitFor()

    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Ask who')
    await expectAccessible(page, page.getByRole('dialog'))
    await page.keyboard.press('Enter')
    const picker = page.getByRole('region', { name: 'Tools' })
    await picker.getByRole('button', { name: 'Ask who', exact: true }).waitFor()

    await page.goto(`${dashboard.address}/playground?server=echo&tool=search`)
    await page.getByText('Start it for this call?').waitFor()
    await page.getByRole('textbox', { name: 'q', exact: true }).fill('needle')
    await page.getByRole('button', { name: /^Start and run/ }).click()
    await result(page).getByText('found {"q":"needle"}').waitFor()
    await picker.getByRole('button', { name: 'Ask who', exact: true }).click()
    await expect.poll(() => willSend(page).innerText()).toBe('{"who":"Who are you?"}')
    await picker
      .getByRole('button', { name: /^search/ })
      .last()
      .click()
    await expect.poll(() => willSend(page).innerText()).toBe('{"q":"needle"}')
    expect(new URL(page.url()).searchParams.get('replay')).toMatch(/^\d+$/)
    expect(complaints).toEqual([])
  })

  test('a page of a server (MCP Apps) is shown in a frame that reaches nothing around it, and every call it makes is visible and can be cancelled', async () => {
    const dashboard = await withServers()
    const { page } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/playground?server=app-page&tool=show')
    await page.getByText('This tool takes no arguments.').waitFor()
    await page.keyboard.press('Control+Enter')
    const app = page.frameLocator('iframe[title="App of show"]')
    await app.getByText('shown', { exact: true }).waitFor()
    await app.getByText('parent refused, storage refused, service refused').waitFor()
    await app.getByRole('button', { name: 'Refresh' }).click()
    const calls = page.getByRole('region', { name: 'Calls of the app' })
    await calls.getByText('refresh').waitFor()
    await app.getByText('refreshed').waitFor()
    await calls.getByText(/^OK · /).waitFor()
    await app.getByRole('button', { name: 'Refresh' }).click()
    await calls.getByRole('button', { name: 'Cancel' }).click()
    await app.getByText('The user cancelled the call').waitFor()
    await calls.getByText(/^Cancelled · /).waitFor()
    await expectAccessible(page)
    const { body } = await dashboard.ask('GET', '/calls?tool=refresh')
    expect(body.items.map(({ status }: { status: string }) => status)).toEqual(['cancelled', 'ok'])
  })

  test('checks 26 and 27: the Playground has no accessibility violation, and fits 320 px', async () => {
    const dashboard = await withServers()
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/playground?server=schemas&tool=optionalString')
    await page.getByRole('textbox', { name: 'q', exact: true }).fill('a')
    await page.keyboard.press('Control+Enter')
    await result(page).getByText('got {"q":"a"}').waitFor()
    await expectAccessible(page)
    await page.setViewportSize({ width: 320, height: 640 })
    await expectAccessible(page)
    await expectToFit(page, 320)
    const stranger = await openPage(await openBrowser())
    await dashboard.visit(stranger.page, '/playground?server=schemas&tool=oneOfConst')
    const run = stranger.page.getByRole('button', { name: /^Run/ })
    expect(await run.getAttribute('aria-disabled')).toBe('true')
    await expectAccessible(stranger.page)
    expect([...complaints, ...stranger.complaints]).toEqual([])
  })
})

declare global {
  interface Window {
    cancelled: { frames: number; ms: number }
  }
}

/** Runs in the page. Other processes make a frame longer, but not more of them. */
function countFramesUntilCancelled(): void {
  let [frames, pressedAt] = [0, 0]
  const next = () => {
    frames += 1
    requestAnimationFrame(next)
  }
  const press = ({ key, timeStamp }: KeyboardEvent) => {
    if (key !== 'Escape' || pressedAt > 0) return
    pressedAt = timeStamp
    requestAnimationFrame(next)
  }
  document.addEventListener('keydown', press, { capture: true })
  const observer = new MutationObserver(() => {
    if (pressedAt === 0 || !document.body.innerText.includes('Cancelled after')) return
    window.cancelled = { frames, ms: performance.now() - pressedAt }
    observer.disconnect()
  })
  observer.observe(document.body, { subtree: true, childList: true, characterData: true })
}
