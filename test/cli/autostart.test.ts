import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { installService as install, managerHere } from '../../src/cli/autostart/autostart.ts'
import type { Program, RunTool } from '../../src/cli/autostart/service-manager.ts'
import { TaskScheduler } from '../../src/cli/autostart/task-scheduler.ts'
import { findCommand } from '../../src/cli/commands/all-commands.ts'
import type { Context } from '../../src/cli/run/command-context.ts'
import { readGiven } from '../../src/cli/run/read-arguments.ts'
import { readConfig } from '../../src/kernel/config/config.ts'
import { readFlags } from '../../src/kernel/config/up-flags.ts'
import { runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'

/** What a path or a variable may contain. */
const NASTY = `Zoë & <Söhne> "100%" 'x' $HOME`
const PROGRAM: Program = {
  command: `/opt/${NASTY}/node`,
  mainFile: `/srv/back\\slash\\/${NASTY}/main.js`,
  data: `/data/${NASTY}`,
  env: { PATH: `/a b:/${NASTY}`, TOOLROOM_HOME: `/data/${NASTY}` },
}
const WINDOWS_PROGRAM: Program = {
  ...PROGRAM,
  command: 'C:\\Program Files\\Zoë & Söhne\\node.exe',
  mainFile: 'C:\\Users\\Zoë %x% & Co\\app\\main.js',
  data: 'D:\\Daten & <mehr>\\',
}
const windows = {
  USERNAME: 'zoë',
  USERDOMAIN: 'CORP & SÖHNE',
  LOCALAPPDATA: 'C:\\Users\\zoë\\AppData\\Local',
}

function configOf(os: NodeJS.Platform, home: string, env: Record<string, string> = {}) {
  return readConfig({ flags: readFlags([]), platform: { os, home, env }, packageRoot: home })
}

/** Records the commands. `answer` returns what the tool prints, or throws. */
function recorded(answer: (line: string) => string = () => '') {
  const lines: string[] = []
  const run: RunTool = async (command, args) => {
    lines.push([command, ...args].join(' '))
    return answer(lines.at(-1) ?? '')
  }
  return { lines, run }
}

describe('the unit of systemd', () => {
  test('it restarts after a crash but not after a lasting refusal, and its command line is quoted', () => {
    const unit = managerHere(configOf('linux', '/home/me'))
    expect(unit.file).toBe('/home/me/.config/systemd/user/toolroom.service')
    const text = unit.describe({ ...PROGRAM, command: '/my node', mainFile: '/100%"$HOME\\main.js' })
    expect(text).toContain('\nExecStart="/my node" "/100%%\\"$$HOME\\\\main.js" "up"\n')
    expect(text).toContain(`\nEnvironment="PATH=/a b:/Zoë & <Söhne> \\"100%%\\" 'x' $HOME"\n`)
    expect(text).toContain('\nRestart=on-failure\n')
    expect(text).toContain('\nRestartPreventExitStatus=65 75 78\n')
    expect(text).toContain('\nKillMode=mixed\nTimeoutStopSec=15\n')
  })

  test.runIf(existsSync('/usr/bin/systemd-analyze'))('systemd accepts it, also with unusual paths', () => {
    const home = ownFolder()
    for (const folder of [NASTY, 'a $b & <ç> 50% d']) {
      const command = join(home, folder, 'node')
      mkdirSync(dirname(command))
      writeFileSync(command, '')
      chmodSync(command, 0o755)
      const file = join(home, 'toolroom.service')
      writeFileSync(file, managerHere(configOf('linux', home)).describe({ ...PROGRAM, command }))
      const verify = ['--user', '--man=no', '--recursive-errors=no', 'verify', file]
      const { status, stdout, stderr } = spawnSync('systemd-analyze', verify, {
        env: { HOME: home, XDG_RUNTIME_DIR: home },
        encoding: 'utf8',
      })
      expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' })
    }
  })
})

const hasPython = spawnSync('python3', ['--version']).status === 0
const READ_PLIST = 'import plistlib,json,sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))'
/** Each element as its name, its text and its children. Expat reads the encoding from the byte order mark. */
const READ_XML = `
import xml.etree.ElementTree as E,json,sys
tree=lambda e:[e.tag.replace('{http://schemas.microsoft.com/windows/2004/02/mit/task}',''),e.text,[tree(c) for c in e]]
print(json.dumps(tree(E.fromstring(sys.stdin.buffer.read()))))`
const python = (script: string, input: Uint8Array) =>
  JSON.parse(execFileSync('python3', ['-c', script], { input, encoding: 'utf8' }))

describe('the agent of launchd', () => {
  const config = configOf('darwin', '/Users/zoë')

  test.runIf(hasPython)('a plist parser reads every path and variable as it was', () => {
    const agent = managerHere(config)
    expect(agent.file).toBe('/Users/zoë/Library/LaunchAgents/dev.toolroom.plist')
    const log = '/Users/zoë/Library/Application Support/toolroom/service.log'
    expect(python(READ_PLIST, Buffer.from(agent.describe(PROGRAM)))).toEqual({
      Label: 'dev.toolroom',
      ProgramArguments: [PROGRAM.command, PROGRAM.mainFile, 'up'],
      EnvironmentVariables: { ...PROGRAM.env, TOOLROOM_STARTED_BY: 'launchd' },
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      ThrottleInterval: 10,
      ExitTimeOut: 15,
      ProcessType: 'Interactive',
      StandardOutPath: log,
      StandardErrorPath: log,
    })
    const lines = { ...PROGRAM, mainFile: '/tab\t, line\n and return\r' }
    expect(python(READ_PLIST, Buffer.from(agent.describe(lines))).ProgramArguments[1]).toBe(lines.mainFile)
    expect(() => agent.describe({ ...PROGRAM, mainFile: '/bell\u0007' })).toThrow('XML cannot express')
  })

  test('it is loaded after the one before it has ended, and a refusal brings the file before it back', async () => {
    const home = ownFolder()
    let prints = 0
    const { lines, run } = recorded((line) => {
      if (/print gui\/-?\d+\/dev/.test(line) && ++prints > 3) throw new Error('Could not find service')
      if (line.includes('bootout')) throw new Error('Operation now in progress')
      return '\tpid = 1\n'
    })
    const config = configOf('darwin', home)
    const log = join(config.folders.data, 'service.log')
    mkdirSync(dirname(log), { recursive: true })
    writeFileSync(log, 'toolroom: HOST is wrong\n')
    const agent = managerHere(config, run)
    await agent.check()
    await agent.install(PROGRAM)
    expect(existsSync(log)).toBe(false) // or the new start would seem to be refused
    const text = readFileSync(agent.file, 'utf8')
    const said = lines.map((line) => line.replace(/gui\/-?\d+/, 'gui/501'))
    expect([...new Set(said)]).toEqual([
      'launchctl print gui/501',
      'launchctl print gui/501/dev.toolroom',
      'launchctl bootout gui/501/dev.toolroom',
      'launchctl enable gui/501/dev.toolroom',
      `launchctl bootstrap gui/501 ${agent.file}`,
    ])
    expect(said.filter((line) => line.endsWith('print gui/501/dev.toolroom'))).toHaveLength(4)

    const refusing = recorded((line) => {
      if (/print .*dev|bootstrap/.test(line)) throw new Error('Bootstrap failed: 5: Input/output error')
      return ''
    })
    const again = managerHere(configOf('darwin', home), refusing.run)
    await expect(again.install({ ...PROGRAM, env: {} })).rejects.toThrow('Bootstrap failed: 5')
    expect(readFileSync(agent.file, 'utf8')).toBe(text)
    await again.uninstall()
    expect(existsSync(agent.file)).toBe(false)
    await expect(again.install(PROGRAM)).rejects.toThrow('Bootstrap failed: 5')
    expect(existsSync(agent.file)).toBe(false)
    writeFileSync(agent.file, '<plist/>')
    await expect(again.check()).rejects.toThrow('was not written by Toolroom')
  })

  test('its state is read from launchctl, and a refused start from the log', async () => {
    const home = ownFolder()
    let print = 'dev.toolroom = {\n\tstate = running\n\n\tpid = 4711\n\tlast exit code = (never exited)\n}\n'
    let disabled = '\t"com.example" => disabled\n\t"dev.toolroom" => enabled\n'
    const { run } = recorded((line) => {
      if (line.includes('print-disabled')) return disabled
      if (print === '') throw new Error('Could not find service')
      return print
    })
    const config = configOf('darwin', home)
    const agent = managerHere(config, run)
    expect(await agent.state()).toMatchObject({ installed: false, enabled: false, running: false, pid: null })
    mkdirSync(dirname(agent.file), { recursive: true })
    writeFileSync(agent.file, agent.describe(PROGRAM))
    expect(await agent.state()).toMatchObject({ installed: true, enabled: true, running: true, pid: 4711 })
    print = 'dev.toolroom = {\n\tstate = not running\n\tlast exit code = 0\n}\n'
    disabled = '\t"dev.toolroom" => disabled\n'
    expect(await agent.state()).toMatchObject({ enabled: false, running: false, failed: false, pid: null })
    mkdirSync(config.folders.data, { recursive: true })
    writeFileSync(join(config.folders.data, 'service.log'), 'Toolroom is ready\ntoolroom: HOST is wrong\n')
    expect(await agent.state()).toMatchObject({ failed: true })
    print = ''
    expect(await agent.state()).toMatchObject({ installed: true, running: false })
  })

  test('launchd repeats what ends with an error, so a refusal that lasts ends without one there', async () => {
    const env = { HOME: ownFolder(), PORT: '0', HOST: '0.0.0.0' }
    const refused = await runCli(env, ['up'])
    expect(refused).toMatchObject({ code: 78, stderr: expect.stringMatching(/^toolroom: .*AUTH_TOKEN/) })
    expect(await runCli({ ...env, TOOLROOM_STARTED_BY: 'launchd' }, ['up'])).toEqual({ ...refused, code: 0 })
  })
})

describe('the task of Windows', () => {
  const task = managerHere(configOf('win32', 'C:\\Users\\zoë', windows))
  const text = task.describe(WINDOWS_PROGRAM)

  test.runIf(hasPython)(
    'it is well-formed UTF-16 with the elements of the schema in the order of Windows',
    () => {
      expect(task.file).toBe('C:\\Users\\zoë\\AppData\\Local\\toolroom\\login-task.xml')
      const bytes = Buffer.from(text, 'utf16le')
      expect([...bytes.subarray(0, 2)]).toEqual([0xff, 0xfe])
      type Tree = readonly [name: string, text: string | null, children: readonly Tree[]]
      const tree: Tree = python(READ_XML, bytes)
      const at = (...path: readonly string[]) =>
        path.reduce<Tree>(
          ([, , children], name) => children.find((child) => child[0] === name) ?? expect.unreachable(name),
          tree,
        )
      const names = (...path: readonly string[]) => at(...path)[2].map(([name]) => name)
      expect(names()).toEqual(['RegistrationInfo', 'Triggers', 'Principals', 'Settings', 'Actions'])
      expect(names('Triggers', 'LogonTrigger')).toEqual(['Enabled', 'UserId'])
      expect(names('Principals', 'Principal')).toEqual(['UserId', 'LogonType', 'RunLevel'])
      expect(names('Actions', 'Exec')).toEqual(['Command', 'Arguments'])
      expect(names('Settings', 'RestartOnFailure')).toEqual(['Interval', 'Count'])
      for (const path of [
        ['Triggers', 'LogonTrigger', 'UserId'],
        ['Principals', 'Principal', 'UserId'],
      ])
        expect(at(...path)[1]).toBe('CORP & SÖHNE\\zoë')
      expect(at('Principals', 'Principal', 'RunLevel')[1]).toBe('LeastPrivilege')
      const settings = Object.fromEntries(at('Settings')[2].map(([name, value]) => [name, value]))
      expect(settings).toMatchObject({
        MultipleInstancesPolicy: 'IgnoreNew',
        DisallowStartIfOnBatteries: 'false',
        StopIfGoingOnBatteries: 'false',
        ExecutionTimeLimit: 'PT0S',
        Enabled: 'true',
      })
      expect(at('Actions', 'Exec', 'Command')[1]).toBe(WINDOWS_PROGRAM.command)
      expect(splitByWindows(at('Actions', 'Exec', 'Arguments')[1] ?? '')).toEqual([
        WINDOWS_PROGRAM.mainFile,
        'up',
        '--detach',
        '--restart-after-crash',
        '--toolroom-home',
        WINDOWS_PROGRAM.data,
      ])
    },
  )

  test('the commands name the task of this user, and one of another program is refused', async () => {
    expect(task.commands).toEqual([
      'schtasks /delete /tn "Toolroom-zoë" /f   (if it exists)',
      'schtasks /create /tn "Toolroom-zoë" /xml "C:\\Users\\zoë\\AppData\\Local\\toolroom\\login-task.xml" /f',
      'schtasks /run /tn "Toolroom-zoë"',
    ])
    const data = ownFolder()
    const config = configOf('win32', data, { ...windows, TOOLROOM_HOME: data })
    const foreign = managerHere(config, recorded(() => '<?xml?><Task></Task>').run)
    await expect(foreign.check()).rejects.toThrow('The task Toolroom-zoë exists and was not made by Toolroom')
  })

  test('a task is replaced by a new one without a last result, and started', async () => {
    const data = ownFolder()
    const { lines, run } = recorded((line) => {
      if (line.includes('/delete')) throw new Error('The system cannot find the file specified.')
      return ''
    })
    const file = join(data, 'login-task.xml')
    const here = new TaskScheduler({ file, data, env: windows, userName: 'zoë', run })
    await here.install(WINDOWS_PROGRAM)
    expect(lines.map((line) => line.split(' ')[1])).toEqual(['/delete', '/create', '/run'])
    expect(readFileSync(file, 'utf16le')).toBe(text)
  })

  test('its state comes from the stored task, the instance of the data folder and the last result', async () => {
    const data = ownFolder()
    const file = join(data, 'login-task.xml')
    let enabled = true
    let result = '267011'
    const row = () =>
      `"PC","\\Toolroom-zoë","N/A","Bereit","Nur interaktiv","30.11.1999","${result}","CORP\\zoë"\r\n`
    const { run } = recorded((line) => {
      if (line.includes('/fo csv')) return row()
      const stored = enabled ? text : text.replaceAll('<Enabled>true', '<Enabled>false')
      return Buffer.from(stored, 'utf16le').toString('latin1')
    })
    const here = new TaskScheduler({ file, data, env: windows, userName: 'zoë', run })
    expect(await here.state()).toMatchObject({ installed: false, enabled: false })
    writeFileSync(file, Buffer.from(text, 'utf16le'))
    expect(await here.state()).toMatchObject({
      installed: true,
      enabled: true,
      running: false,
      failed: false,
    })
    result = '78'
    enabled = false
    expect(await here.state()).toMatchObject({ enabled: false, failed: true })
  })
})

test.each([
  ['linux', 'systemctl --user', ['reset-failed toolroom.service', 'start toolroom.service']],
  ['darwin', 'launchctl', [/^print gui\/-?\d+\/dev\.toolroom$/, /^kickstart gui\/-?\d+\/dev\.toolroom$/]],
  ['win32', 'schtasks', ['/run /tn Toolroom-zoë']],
] as const)(
  'on %s a program can be installed for the next login only, is started later, and belongs to one data folder',
  async (os, tool, starting) => {
    const data = ownFolder()
    const config = configOf(os, data, { ...windows, TOOLROOM_HOME: data })
    const { lines, run } = recorded(() => '')
    const file = join(data, 'login-task.xml')
    const manager =
      os === 'win32'
        ? new TaskScheduler({ file, data, env: windows, userName: 'zoë', run })
        : managerHere(config, run)
    const program = { ...PROGRAM, data, env: { ...PROGRAM.env, TOOLROOM_HOME: data } }
    expect(manager.serves(data)).toBe(false)
    await manager.install(program, 'login')
    expect(lines.join('\n')).not.toMatch(/ restart|bootstrap|kickstart|\/run/)
    expect([manager.serves(data), manager.serves(`${data}-2`)]).toEqual([true, false])
    expect(await manager.problem()).toBeNull()
    lines.length = 0
    await manager.start()
    expect(lines).toEqual(
      starting.map((line) =>
        typeof line === 'string'
          ? `${tool} ${line}`
          : expect.stringMatching(new RegExp(`^${tool} ${line.source.slice(1)}`)),
      ),
    )
  },
)

test.each(['linux', 'darwin', 'win32'] as const)(
  'service install --dry-run on %s prints the file and the commands, and changes nothing',
  async (os) => {
    const home = ownFolder()
    const config = configOf(os, home, {
      PATH: '/usr/bin:/x/node_modules/.bin',
      ...windows,
      TOOLROOM_HOME: home,
    })
    const { command } = findCommand(['service', 'install']) ?? expect.unreachable()
    const given = readGiven(command, ['--dry-run'], [])
    const context = { given, config, mainFile: '/srv/toolroom/dist/main.js' } as unknown as Context
    const answer = (await install(context)) ?? expect.unreachable()
    const manager = managerHere(config)
    expect(answer.json).toMatchObject({ dry_run: true, file: manager.file, commands: manager.commands })
    const lines = (answer.lines ?? []).join('\n')
    expect(lines).toContain('/srv/toolroom/dist/main.js')
    expect(lines).toContain(manager.commands.at(-1))
    expect(lines).not.toMatch(/\uFEFF|\r|node_modules\/\.bin/)
    expect(lines).toMatch(/Nothing was changed \(--dry-run\)\.$/)
    expect(existsSync(manager.file)).toBe(false)
  },
)

/** As CommandLineToArgvW does: backslashes are themselves, unless a quote follows. */
function splitByWindows(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let isQuoted = false
  for (const [part] of line.matchAll(/\\*"|\\+|[^\\"]/g)) {
    if (part.endsWith('"')) {
      const slashes = part.length - 1
      word = (word ?? '') + '\\'.repeat(slashes >> 1)
      if (slashes % 2 === 1) word += '"'
      else isQuoted = !isQuoted
    } else if (part === ' ' && !isQuoted) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + part
  }
  return word === undefined ? words : [...words, word]
}
