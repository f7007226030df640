import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { managerHere } from '../../src/cli/autostart/autostart.ts'
import { runningInstance } from '../../src/kernel/config/find-running-instance.ts'
import { lockDataFolder } from '../../src/store/instance-lock.ts'
import { commandLine, listProcesses } from '../../src/supervisor/platform/linux/proc.ts'
import { MAIN, openBridge } from '../support/bridge.ts'
import { runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'
import { openTestService } from '../support/test-service.ts'

const BEFORE = '{\n  "mcpServers": {}\n}\n'
const CANARY = { AGENT_CANARY: 'of the agent', NODE_OPTIONS: '', LANG: 'xx_XX', AUTH_TOKEN: 'of-the-agent' }

/** A home in which Claude Desktop was connected by a service that has ended, and the environment of its entry. */
async function connectedHome(env: Record<string, string> = {}, settings: object = {}) {
  const home = ownFolder()
  const data = join(home, 'data')
  const file = join(home, '.config/Claude/claude_desktop_config.json')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, '{"mcpServers":{}}')
  const service = await openTestService({ home, env: { HOME: home, AUTH_TOKEN: '', ...env } })
  const headers = { 'x-svc-token': env.AUTH_TOKEN ?? readFileSync(join(data, 'token'), 'utf8').trim() }
  const connected = await service.inject({
    method: 'POST',
    url: '/api/agents/claude-desktop/connect',
    headers,
  })
  expect(connected.statusCode, connected.body).toBe(200)
  await service.close()
  writeFileSync(join(data, 'config.json'), JSON.stringify(settings))
  onTestFinished(() => endInstance(data))
  const entry = JSON.parse(readFileSync(file, 'utf8')).mcpServers.toolroom as {
    readonly env: Record<string, string>
  }
  return { home, data, entry: entry.env }
}

function endInstance(data: string): void {
  const instance = runningInstance(data)
  if (instance) process.kill(instance.pid, 'SIGKILL')
}

/** The processes that run the service of this folder. */
const servicesOf = (data: string): number[] =>
  listProcesses().flatMap(({ pid, zombie }) => {
    const line = zombie ? [] : commandLine(pid)
    const isService = line.includes(MAIN) && line.includes('up')
    return isService && environmentOf(pid).includes(`TOOLROOM_HOME=${data}`) ? [pid] : []
  })

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return [] // it has just ended
  }
}

describe.runIf(process.platform === 'linux')('the bridge of a connected agent', () => {
  test('eight bridges at once start one service, in the home folder and with the environment of the connect, and down, doctor and disconnect tell of it', async () => {
    const home = ownFolder()
    const data = join(home, '.local/share/toolroom')
    const file = join(home, '.config/Claude/claude_desktop_config.json')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, BEFORE)
    const cli = (...argv: string[]) => runCli({ HOME: home, LANG: 'de_DE.UTF-8', PORT: '0' }, argv)
    onTestFinished(() => endInstance(data))
    expect((await cli('up', '--detach')).code).toBe(0)
    expect((await cli('agents', 'connect', 'claude-desktop', '--yes')).code).toBe(0)
    const record = join(data, 'agents-start.json')
    expect(statSync(record).mode & 0o777).toBe(0o600)
    const { env } = JSON.parse(readFileSync(file, 'utf8')).mcpServers.toolroom
    expect(env).toEqual({ TOOLROOM_KEY: expect.stringMatching(/^tk_/), TOOLROOM_HOME: data })

    const down = await cli('down')
    expect(down.stdout).toMatch(
      /has stopped\nClaude Desktop starts it again with its next call\. To prevent that:\n.*disconnect --all\n.*"agents_start_service": false in /,
    )
    expect(await cli('doctor')).toMatchObject({
      stdout: expect.stringContaining(
        '! claude-desktop: it gets its tools through Toolroom, which is not running. Its next call starts it',
      ),
    })

    const bridges = Array.from({ length: 8 }, () => openBridge({ env: { ...env, ...CANARY, HOME: '/' } }))
    const greetings = await Promise.all(bridges.map((bridge) => bridge.greet()))
    for (const { result } of greetings) expect(result).toMatchObject({ serverInfo: { name: 'toolroom' } })
    const { pid } = runningInstance(data) ?? expect.unreachable()
    expect(servicesOf(data)).toEqual([pid])
    expect(readlinkSync(`/proc/${pid}/cwd`)).toBe(home)
    const environment = environmentOf(pid)
    expect(environment).toEqual(
      expect.arrayContaining([`HOME=${home}`, 'LANG=de_DE.UTF-8', 'PORT=0', `TOOLROOM_HOME=${data}`]),
    )
    expect(environment.join('\n')).not.toMatch(/CANARY|of.the.agent|xx_XX|TOOLROOM_KEY|NODE_OPTIONS/)
    expect(readdirSync(data)).not.toContain('agents-start.claim')

    // A stop lasts until the next call, however many bridges are open.
    expect((await cli('down')).code).toBe(0)
    const [first = expect.unreachable()] = bridges
    // A claim that was left behind prevents nothing, even if the clock was set back since and its process id is used again.
    const claim = join(data, 'agents-start.claim')
    writeFileSync(claim, '1')
    const later = new Date(Date.now() + 86_400_000)
    utimesSync(claim, later, later)
    expect(await first.ask('again', 'tools/list')).toMatchObject({ result: { tools: [] } })
    expect(servicesOf(data)).toHaveLength(1)
    for (const { child } of bridges) child.stdin.end()
    await Promise.all(bridges.map(({ ended }) => ended))
    expect((await cli('down')).code).toBe(0)
    expect((await cli('agents', 'disconnect', '--all', '--yes')).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toBe(BEFORE)
    expect(existsSync(record)).toBe(false)
  })

  test('what prevents a start is one error with what to do: a secret that is not recorded, an invalid setting, a host without a token, a folder in use', async () => {
    const sentenceFor = async ({ data, entry }: { data: string; entry: Record<string, string> }) => {
      const bridge = openBridge({ env: { ...entry, ...CANARY } })
      const { error } = await bridge.greet()
      expect(error?.code).toBe(-31_503)
      const again = await bridge.ask('again', 'tools/list')
      expect(again.error).toEqual(error)
      bridge.child.stdin.end()
      await bridge.ended
      expect(servicesOf(data)).toEqual([])
      return error?.message.replaceAll(data, 'DATA')
    }
    const [secret, invalid, open, used] = await Promise.all([
      connectedHome({ AUTH_TOKEN: 'f'.repeat(43) }),
      connectedHome({}, { log_level: 'loud' }),
      connectedHome({}, { host: '0.0.0.0' }),
      connectedHome(),
    ])
    const lock = lockDataFolder(used.data, () => undefined)
    onTestFinished(() => lock.release())
    const could = 'Toolroom is not running, and could not be started: '
    expect(await Promise.all([secret, invalid, open, used].map(sentenceFor))).toEqual([
      `${could}it had AUTH_TOKEN from its environment, which is not recorded because it is a secret. Set it in DATA/.env, or start Toolroom with \`toolroom up\``,
      `${could}log_level in DATA/config.json must be one of trace, debug, info, warn, error, fatal, not "loud"`,
      `${could}Toolroom could not start: HOST "0.0.0.0" opens Toolroom to the network, which requires an AUTH_TOKEN; set one with 64 random hexadecimal characters. See DATA/up.log`,
      `${could}Toolroom could not start: The data folder DATA is in use by another Toolroom. See DATA/up.log`,
    ])
    // The token is in a file now, so it need not be recorded.
    writeFileSync(join(secret.data, '.env'), `AUTH_TOKEN=${'e'.repeat(42)}f\n`)
    const bridge = openBridge({ env: secret.entry })
    expect(await bridge.greet()).toMatchObject({ result: { serverInfo: { name: 'toolroom' } } })
  })

  test('with an address, and with agents_start_service off, it starts nothing', async () => {
    const [url, off, own] = await Promise.all([
      connectedHome(),
      connectedHome({}, { agents_start_service: false }),
      connectedHome(),
    ])
    const address = 'http://127.0.0.1:9'
    const cases = [
      { ...url, argv: ['--url', address] },
      { ...url, entry: { ...url.entry, TOOLROOM_URL: address } }, // as earlier versions wrote it
      off,
      { ...own, entry: { ...own.entry, AGENTS_START_SERVICE: 'false' } },
    ]
    await Promise.all(
      cases.map(async ({ entry, data, argv = [] }: (typeof cases)[number] & { argv?: string[] }) => {
        const bridge = openBridge({ env: entry, argv })
        bridge.say({ id: 1, method: 'tools/list' })
        bridge.child.stdin.end()
        expect(await bridge.ended).toEqual({ code: 0, signal: null })
        expect(readdirSync(data).filter((name) => /^up\.log$|claim|instance/.test(name))).toEqual([])
      }),
    )
  })

  test('an installed unit of this data folder is started instead of a process of its own', async () => {
    const bin = ownFolder()
    const log = join(bin, 'log')
    const env = { PATH: `${bin}:${process.env.PATH}`, HTTP_CHECK_INTERVAL_S: '0' }
    const { home, data, entry } = await connectedHome(env)
    const manager = managerHere({
      platform: { os: 'linux', home, env: { XDG_CONFIG_HOME: join(home, 'config') } },
      folders: { data, config: '' },
    })
    mkdirSync(dirname(manager.file), { recursive: true })
    const program = { command: process.execPath, mainFile: MAIN, data, env: { TOOLROOM_HOME: data } }
    writeFileSync(manager.file, manager.describe(program))
    const started = `env -i HOME=${home} XDG_CONFIG_HOME=${home}/config PORT=0 TOOLROOM_HOME=${data} BY_UNIT=1 '${process.execPath}' '${MAIN}' up >/dev/null 2>&1 &`
    const fake = `#!/bin/sh\necho "$@" >>${log}\ncase "$2" in start) ${started} ;; show) echo ActiveState=active ;; esac\n`
    writeFileSync(join(bin, 'systemctl'), fake)
    chmodSync(join(bin, 'systemctl'), 0o755)
    const bridge = openBridge({ env: { ...entry, ...CANARY } })
    expect(await bridge.greet()).toMatchObject({ result: { serverInfo: { name: 'toolroom' } } })
    expect(readFileSync(log, 'utf8')).toContain('--user start toolroom.service\n')
    const { pid } = runningInstance(data) ?? expect.unreachable()
    expect(environmentOf(pid)).toContain('BY_UNIT=1')
    expect(existsSync(join(data, 'up.log'))).toBe(false)
  })
})
