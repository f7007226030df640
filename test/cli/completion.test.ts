import { execFile } from 'node:child_process'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { candidates, type Names } from '../../src/cli/completion/candidates.ts'
import { MAIN } from '../support/bridge.ts'
import { cliEnv, runCli } from '../support/cli.ts'
import { openHouse } from '../support/house.ts'
import { register } from '../support/running.ts'

const NAMES: Names = {
  lists: { server: ['github', 'gitlab', 'postgres'], agent: ['cursor', 'claude-code'], package: ['grows'] },
  tools: { github: ['search_code'] },
}

test.each([
  ['lo', [], ['logs', 'login', 'logout']],
  ['gi', ['logs'], ['github', 'gitlab']],
  ['gi', ['logs', 'postgres', '-f'], ['github', 'gitlab']],
  ['', ['logs', '--level'], ['trace', 'debug', 'info', 'warn', 'error', 'fatal']],
  ['--se', ['logs'], ['--search']],
  ['', ['logs', '--search'], []],
  ['cursor,cl', ['install', 'grows', '--enable-in'], ['cursor,claude-code']],
  ['r', ['backup'], ['restore']],
  ['', ['no-such-command', 'x'], []],
  ['GR', ['update'], ['grows']],
])('%j after toolroom %j completes to %j', (current, before, expected) => {
  expect(candidates(current, before, NAMES).sort()).toEqual([...expected].sort())
})

test('toolroom logs gi<Tab> in bash completes from the cache, also when the service is down (ux.md, check 30)', async () => {
  const house = await openHouse()
  await register(house, 'echo', [], { name: 'github' })
  const env = { ...cliEnv(house), PATH: `${house.home}:${process.env.PATH}` }
  const program = join(house.home, 'toolroom')
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`)
  chmodSync(program, 0o755)
  const { stdout: script } = await runCli(env, ['completion', 'bash'])
  const typed = `COMP_WORDS=(toolroom logs gi); COMP_CWORD=2; _toolroom; printf '%s\\n' "\${COMPREPLY[@]}"`
  const tab = async () => (await promisify(execFile)('bash', ['-c', `${script}\n${typed}`], { env })).stdout

  await tab() // the first one has asked the service for the names
  await expect.poll(() => existsSync(join(house.data, 'completions.json')), { timeout: 60_000 }).toBe(true)
  expect(await tab()).toBe('github\n')
  await house.close()
  expect(await tab()).toBe('github\n')
})
