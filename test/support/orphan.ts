import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { commandLine, listProcesses } from '../../src/supervisor/platform/linux/proc.ts'
import { ownFolder } from './folder.ts'
import { sweeper } from './marked-processes.ts'

/** Shell scripts that start a process and then exit, while another process keeps its input open. */
const WAYS = {
  pipe: 'sleep 60 | "$@" >/dev/null &',
  socket: '"$@" <&3 >/dev/null &',
  'no input': '"$@" </dev/null >/dev/null &',
  'parent lives': 'sleep 60 | "$@" >/dev/null & wait',
  'parent lives, another group': 'sleep 60 | setsid "$@" >/dev/null & wait',
  container: `unshare --pid --fork "$0" -c 'sleep 60 | setsid "$@" >/dev/null & wait' "$0" "$@" & wait`,
  systemd: `sleep 60 | sh -c 'export SYSTEMD_EXEC_PID=$$; exec "$@"' sh "$@" >/dev/null &`,
}

interface Options {
  /** A script of test/fixtures/servers. */
  readonly fixture?: string
  /** The name under which the fixture runs. */
  readonly name?: string
  readonly args?: readonly string[]
  readonly way?: keyof typeof WAYS
  /** The name of the shell that starts it. */
  readonly parent?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a fixture whose parent has exited. It and its children are ended after the test. */
export async function leaveBehind(options: Options = {}) {
  const { fixture = 'echo', name = 'mcp-server-echo.mjs', args = [], way = 'pipe', env = {} } = options
  const folder = ownFolder()
  const script = join(folder, name)
  const parent = join(folder, options.parent ?? 'sh')
  copyFileSync('/bin/sh', parent)
  const original = new URL(`../fixtures/servers/${fixture}.mjs`, import.meta.url).href
  writeFileSync(script, `await import(${JSON.stringify(original)})\nprocess.stderr.write('ready')\n`)
  const run = randomUUID()
  onTestFinished(async () => void (await sweeper.sweep(`LEFT_BEHIND=${run}`)))
  const shell = spawn(parent, ['-c', WAYS[way], parent, process.execPath, script, ...args], {
    detached: true,
    env: { PATH: process.env.PATH, LEFT_BEHIND: run, ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  if (!shell.stderr) throw new Error('the shell has no pipe')
  await once(shell.stderr, 'data')
  while (!WAYS[way].endsWith('wait') && shell.exitCode === null) await sleep(5)
  const facts = listProcesses().find(({ pid }) => commandLine(pid)[1] === script)
  if (!facts) throw new Error(`${script} is not running`)
  return { pid: facts.pid, script, id: `${facts.pid}-${facts.startedAt}` }
}
