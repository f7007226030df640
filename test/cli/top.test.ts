import { expect, test } from 'vitest'
import { cliEnv } from '../support/cli.ts'
import { post, register, until } from '../support/running-servers.ts'
import { hasTmux, openTerminal, type Terminal } from '../support/terminal.ts'
import { openTestService, type TestService } from '../support/test-service.ts'
import { add } from '../support/with-servers.ts'

async function seeded(): Promise<TestService> {
  const service = await openTestService()
  await register(service, 'echo', [], { name: 'github' })
  await register(service, 'echo', [], { name: 'postgres' })
  await post(service, '/api/servers/github/start')
  return service
}

/** The program has ended, and the terminal is as before: what is typed is shown, and the shell runs it. */
async function expectRestored(terminal: Terminal, code: number): Promise<void> {
  await terminal.shows(new RegExp(`code ${code}\\n`))
  expect(terminal.state()).toBe('0 1')
  terminal.press('echo typed', 'Enter')
  await terminal.shows(/[#$] echo typed\ntyped\n/)
}

const expectNarrow = (screen: string) =>
  expect(Math.max(...screen.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)

test.runIf(hasTmux)(
  'top in a terminal of 80×24 filters with /, has no line over 80, and restores the terminal on q, Ctrl-C, SIGTERM and SIGHUP (docs/checks.md, check 29)',
  async () => {
    const terminal = openTerminal(cliEnv(await seeded()))
    const { press, shows, screen } = terminal
    terminal.start('top')
    await shows(/^ 2 servers .*\n {2}NAME▼ +STATUS .*\n> github +● running .*\n {2}postgres /)
    expect(terminal.state()).toBe('1 0')
    expectNarrow(screen())
    expect(screen()).toMatch(
      / \/ filter {2}s sort {2}enter details {2}l log {2}r restart {2}x stop {2}\? help {2}q quit\n$/,
    )
    press('/git', 'Enter')
    await expect.poll(screen).not.toContain('postgres')
    expect(screen()).toMatch(/> github[\s\S]*\[git\]/)
    press('q')
    await expectRestored(terminal, 0)

    for (const [signal, code] of [
      ['SIGTERM', 143],
      ['SIGHUP', 129],
    ] as const) {
      terminal.start('top')
      await shows('> github')
      process.kill(terminal.program(), signal)
      await expectRestored(terminal, code)
    }
    terminal.start('top')
    await shows('> github')
    press('C-c')
    await expectRestored(terminal, 130)
  },
)

test.runIf(hasTmux)(
  'each key of top does what the help on ? says: enter details, l the log that follows, r restart, x stop, s sort, Escape back',
  async () => {
    const service = await seeded()
    const terminal = openTerminal(cliEnv(service))
    const { press, shows, screen } = terminal
    terminal.start('top')
    await shows('> github')

    press('?')
    await shows(/^ Keys\n\n[\s\S]* enter +details of the chosen server\n[\s\S]* q, Ctrl-C +quit\n/)
    expectNarrow(screen())
    press('Escape')
    await shows('> github')

    press('Down')
    await shows('> postgres')
    press('k')
    await shows('> github')
    press('s')
    await shows('CALLS/M▼')

    await post(service, '/api/servers/github/tools/echo/call', { arguments: { text: 'hello' } })
    press('Enter')
    await shows(/^ github {2}● running\n\n Id +github\n[\s\S]* Command +\S/)
    await shows(/ {2}TOOL +CALLS +ERR +P50 +P95\n {2}echo +1 +0% /)
    expectNarrow(screen())
    const { pid: first } = await until(service, 'github', ({ pid }) => pid !== null)
    press('r')
    await shows(' restart github: running')
    const { pid: second } = await until(service, 'github', ({ pid }) => pid !== null)
    expect(second).not.toBe(first)

    press('l')
    await shows(/^ github {2}● running\n[\s\S]* following {2}up down scroll .*\n$/)
    await post(service, '/api/servers/github/restart')
    await shows(/(?:handshake done[\s\S]*){3}/)
    press('x')
    await shows(' stop github: stopped')
    await until(service, 'github', ({ status }) => status === 'stopped')
    press('Escape')
    await shows(/^> github +○ stopped /m)
    press('q')
    await expectRestored(terminal, 0)
  },
)

test.runIf(hasTmux)(
  'the log in top keeps still while it is scrolled back, an HTTP server cannot be restarted, Ctrl-Z suspends, and a service that ends ends top with its reason',
  async () => {
    const service = await openTestService()
    await register(service, 'flood', ['--rate=100', '--size=40'], { name: 'flood' })
    await add(service, { name: 'remote', url: 'http://127.0.0.1:9/mcp' }, '/api/http-servers')
    await post(service, '/api/servers/flood/start')
    const terminal = openTerminal(cliEnv(service))
    const { press, shows, screen } = terminal
    terminal.start('top --ascii')
    await shows(/^> flood +\* running /m)
    press('l')
    await shows(/flood 100 .*\n following/)
    press('PageUp', 'Up')
    await shows(/flood 89 .*\n paused/)
    await post(service, '/api/servers/flood/restart')
    await shows(/flood 89 .*\n paused/)
    press('PageDown', 'Down')
    await shows(/flood 100 .*\n following/)
    expectNarrow(screen())

    press('Escape', 'Down', 'r')
    await shows(' remote runs at its own URL: there is nothing to restart here')
    press('C-z')
    await shows(/Stopped/) // the shell reads the next keys
    expect(terminal.state()).toBe('0 1')
    press('fg', 'Enter')
    await shows('> remote')
    expect(terminal.state()).toBe('1 0')

    await service.close()
    await shows(/^toolroom: Toolroom does not respond at /m)
    expect(terminal.state()).toBe('0 1')
  },
)
