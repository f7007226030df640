import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page, Request } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { REPAIR_ACTIONS, type RepairAction } from '../../src/kernel/repair-action.ts'
import { executablePath, expectAccessible, openBrowser, openPage } from './support/browser.ts'
import { type Dashboard, follow, sharedDashboard, untilLive } from './support/dashboard.ts'

/** One of each kind, and its button. `web/src/parts/repair` makes it; test/cli/repair-command.test.ts has the commands. */
const BUTTONS: Readonly<Record<RepairAction['kind'], readonly [action: RepairAction, label: string]>> = {
  set_secret: [{ kind: 'set_secret', name: 'TOKEN' }, 'Set the secret TOKEN'],
  set_environment: [{ kind: 'set_environment', name: 'KEY' }, 'Change the reference to KEY'],
  set_variable: [{ kind: 'set_variable', name: 'API_KEY' }, 'Set API_KEY'],
  edit_variables: [{ kind: 'edit_variables', name: null }, 'Open env'],
  edit_command: [{ kind: 'edit_command' }, 'Edit the command'],
  edit_arguments: [{ kind: 'edit_arguments' }, 'Edit the arguments'],
  edit_folder: [{ kind: 'edit_folder' }, 'Change the folder'],
  edit_url: [{ kind: 'edit_url' }, 'Edit the URL'],
  edit_headers: [{ kind: 'edit_headers' }, 'Edit the headers'],
  install_runtime: [
    { kind: 'install_runtime', program: 'uvx', url: 'https://docs.astral.sh/uv' },
    'How to install uvx',
  ],
  install_package: [{ kind: 'install_package', package: '@a/b' }, 'Install @a/b…'],
  reinstall_package: [{ kind: 'reinstall_package', package: '@a/b' }, 'Install @a/b again…'],
  allow_scripts: [{ kind: 'allow_scripts', package: 'b' }, 'Install b with scripts…'],
  allow_outgoing: [{ kind: 'allow_outgoing' }, 'Look at what it gets…'],
  login: [{ kind: 'login' }, 'Sign in'],
  start_docker: [{ kind: 'start_docker' }, 'Start again'],
  pull_image: [{ kind: 'pull_image', image: 'node:22' }, 'Pull the image'],
  change_isolation: [{ kind: 'change_isolation' }, 'Change isolation'],
  grant_path: [{ kind: 'grant_path', path: '/home/me/notes', access: 'write' }, 'Allow /home/me/notes…'],
  start: [{ kind: 'start' }, 'Start again'],
  check: [{ kind: 'check' }, 'Check again'],
  see_log: [{ kind: 'see_log' }, 'Logs'],
  approve_tools: [{ kind: 'approve_tools' }, 'Review'],
  see_difference: [{ kind: 'see_difference', agent_type: 'cursor' }, 'See the difference'],
  see_file: [{ kind: 'see_file', agent_type: 'zed' }, 'Show the place'],
  update_package: [{ kind: 'update_package', package: 'b' }, 'Update b…'],
  see_package: [{ kind: 'see_package', package: 'b' }, 'Show the package'],
  end_processes: [{ kind: 'end_processes' }, 'Look at them'],
  free_disk: [{ kind: 'free_disk' }, 'Show sizes'],
  rotate_token: [{ kind: 'rotate_token' }, 'Change the token'],
  see_settings: [{ kind: 'see_settings' }, 'Show the settings'],
}
const TABLE = Object.values(BUTTONS)
const REMOTE: readonly RepairAction['kind'][] = ['login', 'check', 'edit_url', 'edit_headers']

const idOf = ({ kind }: RepairAction): string => kind.replaceAll('_', '-')
const hintOf = ({ kind }: RepairAction): string => `The hint of ${kind}`

/** The service says that there is a server, and a notice, for each kind of action. */
async function withFailures(page: Page, dashboard: Dashboard): Promise<void> {
  const [stdio] = (await dashboard.ask('GET', '/servers')).body.items
  const [http] = (await dashboard.ask('GET', '/http-servers')).body.items
  const failing = (template: object, action: RepairAction, state: 'failed' | 'error') => ({
    ...template,
    id: idOf(action),
    name: idOf(action),
    status: state,
    auth: { ...http.auth, state: 'none', method: 'none' },
    health: { level: 'unhealthy', state, works: false, summary: 'It failed', action: hintOf(action) },
    last_error: { code: 'exited', message: 'It failed', hint: hintOf(action), action },
  })
  const items = {
    '**/api/servers': TABLE.flatMap(([action]) =>
      REMOTE.includes(action.kind) ? [] : [failing(stdio, action, 'failed')],
    ),
    '**/api/http-servers': TABLE.flatMap(([action]) =>
      REMOTE.includes(action.kind) ? [failing(http, action, 'error')] : [],
    ),
    '**/api/notices': TABLE.map(([action], index) => ({
      id: index + 1,
      kind: 'server_failed',
      level: 'error',
      server_id: idOf(action),
      agent_type: null,
      text: `'${idOf(action)}' cannot start. ${hintOf(action)}`,
      evidence: null,
      action: { label: 'Show why', route: `/servers/${idOf(action)}`, ...action },
      at: '2026-01-01T00:00:00.000Z',
      count: 1,
      seen_at: null,
      resolved_at: null,
    })),
  }
  for (const [path, list] of Object.entries(items))
    await page.route(path, (route) =>
      route.fulfill({ json: { items: list, total: list.length, next_cursor: null } }),
    )
  await page.route('**/diagnose', (route) =>
    route.fulfill({ json: { checks: [], command_line: 'db', repair: null } }),
  )
}

/** A link only for what leads to another site. */
const buttonIn = (scope: ReturnType<Page['locator']>, kind: string, label: string) =>
  scope.getByRole(kind === 'install_runtime' ? 'link' : 'button', { name: label, exact: true }).first()

describe.runIf(executablePath)('a repair', () => {
  const shared = sharedDashboard({ register: true })

  test('every action has one button, and it is the same on Servers, on Home, in the list of notices and on the card of the server', async () => {
    expect(Object.keys(BUTTONS).sort()).toEqual(
      REPAIR_ACTIONS.map(({ properties }) => properties.kind.const as string).sort(),
    )
    const dashboard = await shared()
    const { page, complaints } = await openPage(await openBrowser())
    await withFailures(page, dashboard)
    await dashboard.signIn(page, '/')
    const needs = page.getByRole('region', { name: 'Needs you' })
    await needs.getByRole('button', { name: /more$/ }).click()
    for (const [action, label] of TABLE) {
      const item = needs.getByRole('listitem').filter({ has: page.getByText(idOf(action), { exact: true }) })
      await buttonIn(item, action.kind, label).waitFor()
    }
    await page.getByRole('button', { name: /notices?$/ }).click()
    const bell = page.getByRole('dialog', { name: 'Notices' })
    for (const [action, label] of TABLE) {
      const item = bell.getByRole('listitem').filter({ hasText: `'${idOf(action)}' cannot start` })
      await buttonIn(item, action.kind, label).waitFor()
    }
    await page.keyboard.press('Escape')
    await follow(page, '/servers')
    await page.getByRole('row').nth(20).waitFor()
    await page.getByRole('row').last().scrollIntoViewIfNeeded() // it draws 30 servers at first
    for (const [action, label] of TABLE) {
      const row = page
        .getByRole('row')
        .filter({ hasText: hintOf(action) })
        .last()
      await buttonIn(row, action.kind, label).waitFor()
    }
    for (const [action, label] of TABLE) {
      await follow(page, `/servers/${idOf(action)}`)
      await page.getByRole('heading', { name: idOf(action), exact: true }).waitFor()
      await buttonIn(page.getByRole('region', { name: 'Why it is down' }), action.kind, label).waitFor()
    }
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]) // the service has none of these servers
  })

  test('an imported server is off until one dialog that lists the value, its place and its host is confirmed; adding a snippet lists the same (docs/references.md)', async () => {
    const dashboard = await shared()
    const headers = { 'X-Key': `$\{API_KEY}` }
    const entry = { type: 'http', url: 'http://127.0.0.1:9/mcp', headers }
    await dashboard.ask('POST', '/servers/import', { mcpServers: { asking: entry } })
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers?q=asking')
    const value = `$\{env:API_KEY}`
    await page.getByText('Not allowed').first().waitFor()
    await page.getByRole('button', { name: 'Look at what it gets…' }).first().click()
    const dialog = page.getByRole('dialog', { name: 'What asking gets' })
    const item = dialog.getByRole('listitem')
    expect(await item.innerText()).toMatch(/\$\{env:API_KEY\}\s+in header X-Key\s+goes to 127\.0\.0\.1:9$/)
    await expectAccessible(page, dialog)
    await dialog.getByRole('button', { name: 'Allow this value' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await page.getByText('Not allowed').first().waitFor({ state: 'hidden' })
    const { body } = await dashboard.ask('GET', '/http-servers/asking')
    expect(body.outgoing).toMatchObject([{ reference: value, allowed: true }])

    await follow(page, '/servers?add=1')
    const add = page.getByRole('dialog', { name: 'Add a server' })
    const snippet = { mcpServers: { pasted: { ...entry, url: 'http://127.0.0.1:9/pasted' } } }
    await add.getByRole('textbox').first().fill(JSON.stringify(snippet))
    const listed = add.getByRole('list', { name: 'Values that leave' })
    await listed.getByText(value).waitFor()
    expect(await listed.innerText()).toContain('127.0.0.1:9')
    expect(complaints).toEqual([])
  })

  test('a missing secret is set beside the server, which then starts; its name is suggested where a reference is typed', async () => {
    const dashboard = await shared()
    const { command, args } = dashboard.stdio[0] ?? { command: '', args: [] }
    const env = { KEY: `$\{secret:DB_TOKEN}` }
    await dashboard.add({ name: 'keyed', command, args, env })
    await dashboard.ask('POST', '/servers/keyed/start')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers?q=keyed')
    await page.getByText('Set the secret DB_TOKEN.').waitFor()
    await page.getByRole('button', { name: 'Set the secret DB_TOKEN' }).click()
    const dialog = page.getByRole('dialog', { name: 'Set the secret DB_TOKEN' })
    await dialog.getByRole('textbox', { name: 'Value' }).fill('canary-of-the-dialog')
    await expectAccessible(page, dialog)
    await page.keyboard.press('Escape') // what was typed is not lost
    await dialog.getByRole('button', { name: 'Store and start' }).click()
    await page.getByText('Stored the secret DB_TOKEN').waitFor()
    await page
      .getByRole('row')
      .filter({ hasText: 'keyed' })
      .getByText(/Running/)
      .waitFor()

    await follow(page, '/servers/echo?tab=config')
    await page.getByRole('textbox', { name: 'New name' }).fill('TOKEN')
    const value = page.getByPlaceholder('New value')
    await value.fill('Bearer ${secret:db')
    const options = page.getByRole('listbox', { name: 'Named secrets' })
    await options.getByRole('option', { name: 'DB_TOKEN' }).waitFor()
    await expectAccessible(page)
    await value.press('ArrowDown')
    await value.press('Enter')
    await expect.poll(() => value.inputValue()).toBe(`Bearer $\{secret:DB_TOKEN}`)
    await options.waitFor({ state: 'hidden' })
    expect(await page.content()).not.toContain('canary-of-the-dialog')
    expect(complaints).toEqual([])
  })

  test('a variable whose value does not help stays in its dialog, with the reason; a secret of the same name keeps its value', async () => {
    const dashboard = await shared()
    const asks = 'console.error("Error: the environment variable APP_KEY is required"); process.exitCode = 1'
    await dashboard.add({
      name: 'asking-a-key',
      command: process.execPath,
      args: ['-e', asks],
      env: { LEVEL: '1' },
    })
    await dashboard.ask('PUT', '/secrets/APP_KEY', { value: 'of-another-server' })
    await dashboard.ask('POST', '/servers/asking-a-key/start')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers?q=asking-a-key')
    await page.getByRole('button', { name: 'Set APP_KEY', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Set APP_KEY' })
    await dialog.getByText(`The server refers to it as $\{secret:APP_KEY-2}`).waitFor()
    await dialog.getByRole('textbox', { name: 'Value' }).fill('first')
    for (const value of ['first', 'second']) {
      await dialog.getByRole('textbox', { name: 'Value' }).fill(value)
      await dialog.getByRole('button', { name: 'Store and start' }).click()
      await dialog
        .getByRole('alert')
        .getByText(/asking-a-key did not start/)
        .waitFor()
    }
    await expectAccessible(page, dialog)
    const { body: server } = await dashboard.ask('GET', '/servers/asking-a-key')
    expect(server.env).toEqual({ LEVEL: '***', APP_KEY: `$\{secret:APP_KEY-2}` })
    const { body: secrets } = await dashboard.ask('GET', '/secrets')
    const names = secrets.items.map(({ name }: { name: string }) => name)
    expect(names.filter((name: string) => name.startsWith('APP_KEY'))).toEqual(['APP_KEY', 'APP_KEY-2'])
    await dialog.getByRole('checkbox', { name: 'Keep it as a secret' }).uncheck()
    await dialog.getByRole('checkbox', { name: 'Start asking-a-key afterwards' }).uncheck()
    await dialog.getByRole('textbox', { name: 'Value' }).fill('plain')
    await dialog.getByRole('button', { name: 'Store', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    const { body: revealed } = await dashboard.ask('POST', '/servers/asking-a-key/reveal', {
      field: 'env',
      name: 'APP_KEY',
    })
    expect(revealed.value).toBe('plain')
    expect(complaints.filter((text) => !text.includes('502'))).toEqual([]) // the two starts
  })

  test('unsaved changes of a server ask before they are lost, survive a reload without what may be a secret, and a start that fails after Save is said in place', async () => {
    const dashboard = await shared()
    await dashboard.ask('POST', '/servers/crash/start?wait_s=0')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/servers/crash')
    await page.getByRole('region', { name: 'Why it is down' }).waitFor()
    await page.getByRole('tab', { name: /Config/ }).click()
    const folder = page.getByRole('textbox', { name: 'Folder' })
    await folder.fill('/tmp')
    await page.getByRole('textbox', { name: 'New name' }).fill('API_TOKEN')
    await page.getByPlaceholder('New value').fill('canary-of-the-draft')
    await page.getByPlaceholder('New value').press('Enter')
    await page.getByText('2 changes not saved').waitFor()
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).not.toContain('canary')

    const ask = page.getByRole('dialog', { name: 'Leave without saving?' })
    for (const leave of [
      () => page.getByRole('link', { name: /^Agents/ }).click(),
      () => page.getByRole('tab', { name: /Overview/ }).click(),
      () => page.goBack(),
    ]) {
      await leave()
      await ask.waitFor()
      await ask.getByRole('button', { name: 'Cancel' }).click()
      await ask.waitFor({ state: 'hidden' })
      expect(await folder.inputValue()).toBe('/tmp')
    }
    await page.reload()
    await untilLive(page)
    await expect.poll(() => folder.inputValue()).toBe('/tmp')
    await page.getByText('API_TOKEN', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Understood' }).click()
    await page.getByText('1 change not saved').waitFor()

    await page.getByRole('button', { name: 'Save and start' }).click()
    const failure = page.getByRole('alert').filter({ hasText: 'crash did not start' })
    await failure.getByText('Error: the index is broken', { exact: false }).first().waitFor()
    await failure.getByRole('button', { name: 'Logs' }).waitFor()
    await expectAccessible(page, failure)

    await folder.fill('/var')
    await page.getByRole('link', { name: /^Agents/ }).click()
    await ask.getByRole('button', { name: 'Leave and discard' }).click()
    await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor()
    await page.goBack()
    await expect.poll(() => folder.inputValue()).toBe('/tmp')
    expect(complaints).toEqual([])
  })
})

describe.runIf(executablePath)('what another program has changed', () => {
  const shared = sharedDashboard({ register: true })
  const fileOf = (dashboard: Dashboard) =>
    [...dashboard.files.keys()].find((path) => path.endsWith(join('.cursor', 'mcp.json'))) ?? ''
  const drift = async (dashboard: Dashboard, name: string) => {
    const file = fileOf(dashboard)
    await dashboard.ask('PUT', '/agents/cursor/servers', { servers: { notes: { command: name } } })
    const written = readFileSync(file, 'utf8')
    const theirs = written.replace(`"${name}"`, '"theirs"')
    writeFileSync(file, theirs)
    return { file, written, theirs }
  }

  test('the notice opens the difference, what Toolroom wrote is written again with an undo in the toast and with Ctrl Z, what the file says now is left alone', async () => {
    const dashboard = await shared()
    const { file, written, theirs } = await drift(dashboard, 'mine')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/')
    const needs = page.getByRole('region', { name: 'Needs you' })
    await needs.getByRole('button', { name: 'See the difference' }).click()
    const dialog = page.getByRole('dialog', { name: 'Entries of Cursor that another program has changed' })
    await dialog.getByText('"theirs"').waitFor()
    await expectAccessible(page, dialog)
    await dialog.getByRole('button', { name: 'Keep what Toolroom wrote' }).click()
    await page.getByText('Cursor has what Toolroom wrote again').waitFor()
    await expect.poll(() => readFileSync(file, 'utf8')).toBe(written)
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await expect.poll(() => readFileSync(file, 'utf8')).toBe(theirs)
    await page.getByRole('region', { name: 'Writes by Toolroom' }).getByText('undo: changed notes').waitFor()

    await drift(dashboard, 'again')
    await page.getByRole('button', { name: 'See the difference' }).click()
    await dialog.getByText('"again"').waitFor()
    // What was shown is sent, so that a later edit is refused.
    const isSettling = (request: Request) =>
      request.url().endsWith('/cursor/drift') && request.postDataJSON().dry_run !== true
    const [sent] = await Promise.all([
      page.waitForRequest(isSettling),
      dialog.getByRole('button', { name: 'Keep what the file says now' }).click(),
    ])
    const revision = createHash('sha256').update(readFileSync(file)).digest('hex')
    expect(sent.postDataJSON()).toEqual({ keep: 'file', files: [{ path: file, revision }] })
    await page.getByText('The entries of Cursor stay as they are in the file').waitFor()
    expect(readFileSync(file, 'utf8')).toContain('"theirs"')
    await page.getByRole('button', { name: 'See the difference' }).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  test('staged cells survive a reload, a discard can be undone, and Ctrl Z on the page takes a write back', async () => {
    const dashboard = await shared()
    const file = fileOf(dashboard)
    const before = readFileSync(file, 'utf8')
    const { page, complaints } = await openPage(await openBrowser())
    await dashboard.signIn(page, '/agents')
    const cell = page.getByRole('checkbox', { name: 'slow in Cursor', exact: true })
    await cell.click()
    const staged = page.getByRole('status').filter({ hasText: '1 change not written' })
    await staged.waitFor()
    await page.reload()
    await untilLive(page)
    await staged.waitFor()
    await page.getByRole('button', { name: 'Discard', exact: true }).click()
    await staged.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Undo', exact: true }).click()
    await staged.waitFor()
    await page.getByRole('button', { name: 'Write to 1 file' }).click()
    const dialog = page.getByRole('dialog', { name: 'Write to 1 file' })
    await dialog.getByText('"slow"').first().waitFor()
    await dialog.getByRole('button', { name: 'Write to 1 file' }).click()
    await page.getByText('Wrote to 1 file').waitFor()
    await expect.poll(() => readFileSync(file, 'utf8')).toContain('"slow"')
    await page.getByRole('heading', { name: 'Agents', exact: true }).click()
    await page.keyboard.press('Control+z')
    await expect.poll(() => readFileSync(file, 'utf8')).toBe(before)
    expect(complaints).toEqual([])
  })
})
