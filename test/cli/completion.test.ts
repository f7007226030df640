import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { candidates, type Names } from '../../src/cli/completion/candidates.ts'
import { MAIN } from '../support/bridge.ts'
import { cliEnv, runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'
import { register } from '../support/running-servers.ts'
import { hasTmux, openTerminal } from '../support/terminal.ts'
import { openTestService } from '../support/test-service.ts'

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
  ['cursor,cl', ['install', 'grows', '--agents'], ['cursor,claude-code']],
  ['r', ['backup'], ['restore']],
  ['s', ['edit', 'github', '--isolation'], ['sandbox']],
  ['', ['add', 'notes', '--network'], ['none', 'full']],
  ['--wr', ['trial', 'github'], ['--write']],
  ['se', ['trial', 'github', '--call'], ['search_code']],
  ['search_code={"a":1,', ['trial', 'github', '--call'], []],
  ['', ['no-such-command', 'x'], []],
  ['GR', ['update'], ['grows']],
])('%j after toolroom %j completes to %j', (current, before, expected) => {
  expect(candidates(current, before, NAMES).sort()).toEqual([...expected].sort())
})

/** `toolroom` in this folder, as an installation puts it on the PATH. */
const writeProgram = (folder: string) =>
  writeFileSync(join(folder, 'toolroom'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`, {
    mode: 0o755,
  })

const SHELLS = {
  bash: { start: 'bash --norc', load: 'source <(toolroom completion bash)' },
  zsh: {
    start: 'zsh -f',
    load: 'autoload -U compinit; compinit -D; source <(toolroom completion zsh)',
  },
  fish: { start: 'fish --no-config', load: 'toolroom completion fish | source' },
}

for (const [shell, { start, load }] of Object.entries(SHELLS))
  test.runIf(hasTmux && spawnSync(shell, ['--version']).status === 0)(
    `the Tab key in ${shell} completes a server, a package with a scope, and a list of agents`,
    async () => {
      const home = ownFolder()
      writeProgram(home)
      mkdirSync(join(home, 'data'))
      const lists = { ...NAMES.lists, package: ['@scope/tools', 'other'] }
      writeFileSync(join(home, 'data', 'completions.json'), JSON.stringify({ ...NAMES, lists }))
      const path = `${home}:${process.env.PATH}`
      const { press, shows } = openTerminal({ HOME: home, TOOLROOM_HOME: join(home, 'data'), PATH: path })
      press(start, 'Enter', load, 'Enter', 'echo loa""ded', 'Enter')
      await shows(/^loaded$/m)
      const completes = async (typed: string, whole: string) => {
        press('C-u', typed, 'Tab')
        await shows(`toolroom ${whole}`)
      }
      await completes('toolroom logs pos', 'logs postgres')
      await completes('toolroom outda', 'outdated')
      await completes('toolroom update @sc', 'update @scope/tools')
      await completes('toolroom update @', 'update @scope/tools')
      await completes('toolroom disable postgres --in cursor,cl', 'disable postgres --in cursor,claude-code')
      await completes('toolroom call github se', 'call github search_code')
      await completes('toolroom edit postgres --isolation sa', 'edit postgres --isolation sandbox')
      await completes('toolroom trial github --network fu', 'trial github --network full')
    },
  )

test.skipIf(process.platform === 'win32')(
  'toolroom logs gi<Tab> in bash completes from the cache, also when the service is down (docs/checks.md, check 30)',
  async () => {
    const service = await openTestService()
    await register(service, 'echo', [], { name: 'github' })
    const env = { ...cliEnv(service), PATH: `${service.home}:${process.env.PATH}` }
    writeProgram(service.home)
    const { stdout: script } = await runCli(env, ['completion', 'bash'])
    const typed = `COMP_LINE='toolroom logs gi'; COMP_POINT=16; _toolroom; printf '%s\\n' "\${COMPREPLY[@]}"`
    const tab = async () => (await promisify(execFile)('bash', ['-c', `${script}\n${typed}`], { env })).stdout

    await tab() // the first one has asked the service for the names
    await expect
      .poll(() => existsSync(join(service.data, 'completions.json')), { timeout: 60_000 })
      .toBe(true)
    expect(await tab()).toBe('github\n')
    await service.close()
    expect(await tab()).toBe('github\n')
  },
)
