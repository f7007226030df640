import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { jsonText, withNumbers } from '../../web/src/pages/playground/form/exact-json.ts'
import { stepsOf } from '../../web/src/pages/playground/form/patterns.ts'
import { executablePath, expectAccessible, openBrowser, openPage } from './support/browser.ts'
import { openDashboard } from './support/dashboard.ts'

const fixture = (file: string) => ({
  name: file,
  command: process.execPath,
  args: [fileURLToPath(new URL(`../fixtures/servers/${file}.mjs`, import.meta.url))],
})
const result = (page: Page) => page.getByRole('region', { name: 'Result', exact: true })
const willSend = (page: Page) => page.getByRole('region', { name: 'Will send, byte for byte' })

describe('patterns of foreign schemas', () => {
  test.each([
    '^(a+)+$',
    '^(a|a)*$',
    '^(a|b?)+$',
    '(?:a{1,9}){2,}',
    '^(\\w+\\s?)*$',
    '(a)\\1+',
    '^(?=a+)b',
    '([a-z]+)*[0-9]',
    '((a?))+',
  ])('%s may take very long, so it is not evaluated', (pattern) => {
    expect(stepsOf(pattern, 30)).toBe(Number.POSITIVE_INFINITY)
  })

  test.each([
    '^[a-z0-9][a-z0-9._-]{0,63}$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^https?://.+$',
    '^(?:a|b|c)$',
    '^([a-z]{2})+$',
  ])('%s is evaluated', (pattern) => {
    expect(stepsOf(pattern, 200)).toBeLessThan(1e7)
  })

  test('an integer that no number holds has the same digits in the text', () => {
    expect(jsonText({ a: 9007199254740993n, b: [1, 'x', null], c: undefined })).toBe(
      '{"a":9007199254740993,"b":[1,"x",null]}',
    )
    expect(withNumbers({ a: [2n] })).toEqual({ a: [2] })
  })
})

describe.runIf(executablePath)('the limits of the Playground', () => {
  test('a costly pattern does not stop the page; a large integer is sent exactly; a destructive tool needs a second click the first time; images, audio and links are drawn', async () => {
    const dashboard = await openDashboard()
    for (const file of ['schemas', 'dozen', 'exact']) {
      await dashboard.add(fixture(file))
      await dashboard.start(file)
    }
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/playground?server=schemas&tool=costly')
    await page.getByRole('textbox', { name: 'x', exact: true }).fill(`${'a'.repeat(60)}!`)
    await page.getByText('A pattern of this schema may take very long').waitFor()
    await page.getByRole('textbox', { name: 'big', exact: true }).fill('9007199254740993')
    await expect.poll(() => willSend(page).innerText()).toContain('"big":9007199254740993}')
    await page.getByRole('radio', { name: 'JSON', exact: true }).click()
    const json = page.getByRole('textbox', { name: 'Arguments' })
    await json.fill('{"big":-18446744073709551615}')
    await page.getByRole('radio', { name: 'Form', exact: true }).click()
    expect(await page.getByRole('textbox', { name: 'big', exact: true }).inputValue()).toBe(
      '-18446744073709551615',
    )
    await page.keyboard.press('Control+Enter')
    await result(page).getByText(/^got /).waitFor()

    const { body } = await dashboard.ask('GET', '/servers/dozen/tools')
    const { name } = body.items.find(
      ({ annotations }: { annotations?: { destructiveHint?: boolean } }) => annotations?.destructiveHint,
    )
    await page.goto(`${dashboard.address}/playground?server=dozen&tool=${name}`)
    const field = page.getByRole('region', { name, exact: true }).getByRole('textbox').first()
    await field.fill('old')
    const calls = async () => (await dashboard.ask('GET', `/calls?server_id=dozen`)).body.total
    await page.getByRole('button', { name: /^Run/ }).click()
    const second = page.getByRole('button', { name: 'Run anyway, it may delete data' })
    await second.waitFor()
    await expectAccessible(page, page.getByRole('region', { name, exact: true }))
    expect(await calls()).toBe(0)
    await second.click()
    await expect.poll(calls).toBe(1)
    await page.getByRole('button', { name: /^Run Ctrl/ }).click()
    await expect.poll(calls).toBe(2) // later calls need one click

    await page.goto(`${dashboard.address}/playground?server=exact&tool=rich`)
    await page.getByRole('button', { name: /^Run/ }).click()
    await result(page).getByRole('img').waitFor({ state: 'attached' })
    expect(await result(page).locator('audio[controls]').count()).toBe(1)
    await result(page).getByText('exact://one').waitFor()
    await expectAccessible(page, result(page))
    expect(complaints).toEqual([])
  })
})
