/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cliEnv, runCli } from '../support/cli.ts'
import { hasTmux, openTerminal } from '../support/terminal.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'

const snippet = (name: string) =>
  JSON.stringify({
    mcpServers: {
      [name]: { type: 'http', url: 'http://127.0.0.1:9/mcp', headers: { 'X-Key': '${API_KEY}' } },
    },
  })
const SENTENCE = '${env:API_KEY} in header X-Key to 127.0.0.1:9'

const EMPTY_EXPORT = {
  format: 'toolroom-export',
  version: 1,
  exported_at: '2026-11-16T09:00:00.000Z',
  toolroom_version: '0.1.0',
  named_secrets: [],
  agents: [],
  presets: [],
  secrets: null,
}

async function open() {
  const service = await openTestService({ env: { API_KEY: 'canary' } })
  const cli = (argv: readonly string[], stdin?: string) => runCli(cliEnv(service), argv, stdin)
  const stateOf = async (id: string) =>
    (await service.inject({ url: `/api/http-servers/${id}`, headers: AUTHORISED })).json().health.state
  return { service, cli, stateOf }
}

test('add and import leave a server off without a question, --yes allows nothing, and each value is allowed by its text (docs/references.md)', async () => {
  const { service, cli, stateOf } = await open()
  const added = await cli(['add', '-', '--yes'], snippet('docs'))
  expect(added).toMatchObject({ code: 0, stdout: expect.stringContaining(`  gets   ${SENTENCE}\n`) })
  expect(added.stdout).toContain('It is off until you allow what it gets: toolroom allow docs')
  expect(await stateOf('docs')).toBe('not_allowed')
  expect((await cli(['ls', '--plain'])).stdout).toContain('not allowed')
  const why = await cli(['why', 'docs'])
  expect(why).toMatchObject({ code: 1, stdout: expect.stringContaining(SENTENCE) })
  expect(why.stdout).toMatch(/Run: +toolroom allow docs\n/)

  for (const words of [['--yes'], ['${env:API_KEY}']]) {
    const refused = await cli(['allow', 'docs', ...words])
    expect(refused.code).toBe(2)
  }
  expect((await cli(['allow', 'docs', '--dry-run'])).stdout).toContain(SENTENCE)
  expect(await stateOf('docs')).toBe('not_allowed')
  expect(await cli(['allow', 'docs', SENTENCE])).toMatchObject({
    code: 0,
    stdout: '✓ Allowed 1 value of docs\n',
  })
  expect(await stateOf('docs')).toBe('not_tried')

  expect((await cli(['add', '-', '--allow', SENTENCE], snippet('named'))).code).toBe(0)
  expect(await stateOf('named')).toBe('not_tried')
  const own = ['add', 'http://127.0.0.1:9/own', '--name', 'own', '--header', 'X-Key=${env:API_KEY}']
  expect(await cli(own)).toMatchObject({ code: 0, stdout: expect.not.stringContaining('is off until') })
  expect(await stateOf('own')).toBe('not_tried')

  const file = join(service.home, 'export.json')
  const definition = { name: 'copy', url: 'http://127.0.0.1:9/mcp', headers: { 'X-Key': '${env:API_KEY}' } }
  writeFileSync(
    file,
    JSON.stringify({ ...EMPTY_EXPORT, servers: [{ id: 'copy', type: 'http', definition }] }),
  )
  expect((await cli(['import', file])).stdout).toContain('toolroom allow copy')
  expect(await stateOf('copy')).toBe('not_allowed')
})

test.runIf(hasTmux)(
  'on a terminal, allow lists each value with its host, and only a yes allows it',
  async () => {
    const { service, cli, stateOf } = await open()
    await cli(['add', '-'], snippet('docs'))
    const { start, shows, press } = openTerminal(cliEnv(service))
    start('allow docs')
    await shows(/docs would get:\n {2}gets {3}\$\{env:API_KEY\} in header X-Key to 127\.0\.0\.1:9\n/)
    press('n', 'Enter')
    await shows('code 2')
    expect(await stateOf('docs')).toBe('not_allowed')
    start('allow docs')
    await shows('[y/N]')
    press('y', 'Enter')
    await shows(/Allowed 1 value of docs[\s\S]*code 0/)
    expect(await stateOf('docs')).toBe('not_tried')
  },
)
