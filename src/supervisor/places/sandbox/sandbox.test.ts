import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { onDisk, ownFolder } from '../../../../test/support/folder.ts'
import { atEnd } from '../../../../test/support/lifetime.ts'
import { onPath } from '../../../../test/support/on-path.ts'
import { refusedNamespaces } from '../../../../test/support/places.ts'
import type { Launch } from '../../platform/platform.ts'
import { toldTo } from '../../platform/spawning.ts'
import { startedOnUnix } from '../../platform/unix/started-on-unix.ts'
import { WrittenFolders } from '../written-folders.ts'
import type { Confinement } from './mounts.ts'
import { bubblewrapMissing, namespacesRefused } from './obstacles.ts'
import { Sandbox, type SandboxDeps } from './sandbox.ts'
import { trialArgs } from './sandbox-arguments.ts'

onDisk()

const bwrap = onPath('bwrap')
const isUsable = bwrap !== undefined && spawnSync(bwrap, trialArgs(bwrap)).status === 0
const CLOSED: Confinement = { write: [], read: [], network: 'none' }
const ROOT = 0
const ORDINARY = 12345
const isRoot = process.getuid?.() === 0

/** Prints a line for each thing that it tries. */
const TRIES = `
const fs = require('node:fs')
const attempt = (name, act) => {
  try { act(); console.log(name, 'ok') } catch (error) { console.log(name, error.code) }
}
const [home, open, readable, other] = process.argv.slice(1)
attempt('write in write', () => fs.writeFileSync(open + '/made', 'x'))
attempt('read in read', () => fs.readFileSync(readable + '/file'))
attempt('write in read', () => fs.writeFileSync(readable + '/made', 'x'))
attempt('write in /usr', () => fs.writeFileSync('/usr/made', 'x'))
attempt('write in /', () => fs.writeFileSync('/made', 'x'))
attempt('read ~/.ssh', () => fs.readdirSync(home + '/.ssh'))
attempt('write in ~', () => fs.writeFileSync(home + '/made', 'x'))
attempt('read /var', () => fs.readdirSync('/var/log'))
attempt('signal another process', () => process.kill(Number(other), 0))
require('node:net').connect(9, '192.0.2.1').on('error', ({ code }) => console.log('connect', code))
`

/** Prints its own capabilities and namespaces. */
const RIGHTS = `
const fs = require('node:fs')
const status = fs.readFileSync('/proc/self/status', 'utf8')
const names = fs.readdirSync('/proc/self/ns')
console.log(JSON.stringify({
  capabilities: Object.fromEntries([...status.matchAll(/^(Cap\\w+):\\s+(\\w+)/gm)].map(([, set, bits]) => [set, bits])),
  namespaces: Object.fromEntries(names.map((name) => [name, fs.readlinkSync('/proc/self/ns/' + name)])),
}))
`

describe.skipIf(!isUsable)('with bubblewrap', () => {
  test('a program of an ordinary user writes in write, and nothing else is there or writable', async () => {
    const home = userHome()
    const [open, readable] = [join(home, 'open'), join(home, 'readable')]
    const confinement: Confinement = { write: ['~/open'], read: [readable], network: 'none' }
    const args = ['-e', TRIES, home, open, readable, String(process.pid)]
    const confined = await sandbox({ home }).confine(programOf(home, args), confinement)
    if (!confined.ok) throw new Error(confined.error.message)
    const lines = (await outputOf(confined.launch, home)).split('\n')
    expect(Object.fromEntries(lines.map((line) => splitLast(line)))).toEqual({
      'write in write': 'ok',
      'read in read': 'ok',
      'write in read': 'EROFS',
      'write in /usr': 'EROFS',
      'write in /': 'EROFS',
      'read ~/.ssh': 'ENOENT',
      'write in ~': 'ok', // in memory
      'read /var': 'ENOENT',
      'signal another process': 'ESRCH',
      connect: 'ENETUNREACH',
    })
    expect(readFileSync(join(open, 'made'), 'utf8')).toBe('x')
    expect(existsSync(join(home, 'made'))).toBe(false)
  })

  test('with network full, loopback of this computer can be reached', async () => {
    const home = userHome()
    const listening = spawn(process.execPath, ['-e', LISTEN], { stdio: ['ignore', 'pipe', 'inherit'] })
    atEnd(() => void listening.kill())
    const port = await firstLine(listening)
    const connect = `require('node:net').connect(${port}, '127.0.0.1')
      .on('connect', function () { console.log('connected'); this.destroy() })
      .on('error', ({ code }) => console.log(code))`
    const outcomes = await Promise.all(
      (['full', 'none'] as const).map(async (network) => {
        const confined = await sandbox({ home }).confine(programOf(home, ['-e', connect]), {
          ...CLOSED,
          network,
        })
        return confined.ok ? outputOf(confined.launch, home) : confined.error.message
      }),
    )
    expect(outcomes).toEqual(['connected', 'ECONNREFUSED'])
  })

  test('kill -9 of the process that started it ends a child with its own session and an empty environment', async () => {
    const home = userHome()
    const mark = `sleep-${process.pid}-${Date.now()}`
    const leave = `require('node:child_process').spawn(process.execPath,
      ['-e', 'setInterval(() => {}, 1000)', '${mark}'], { detached: true, env: {}, stdio: 'ignore' }).unref()
      console.log('left'); setInterval(() => {}, 1000)`
    const confined = await sandbox({ home }).confine(programOf(home, ['-e', leave]), CLOSED)
    if (!confined.ok) throw new Error(confined.error.message)
    const { path, args, holder } = confined.launch
    if (!holder) throw new Error('nothing holds it')
    const inputs = [toldTo(holder, confined.launch, []), ...holder.descriptors]
    const stdio = inputs.map((each, index) => (typeof each === 'number' ? index + 3 : 'pipe'))
    const bytes = inputs.map((each) =>
      typeof each === 'number' ? null : Buffer.from(each).toString('base64'),
    )
    const starter = `const child = require('node:child_process').spawn(${JSON.stringify(path)},
      ${JSON.stringify(args)}, { detached: true, stdio: ['pipe', 'inherit', 'inherit', ...${JSON.stringify(stdio)}] })
      ;${JSON.stringify(bytes)}.forEach((each, at) => each && child.stdio[at + 3].end(Buffer.from(each, 'base64')))`
    const parent = spawn(process.execPath, ['-e', starter], {
      stdio: [
        'pipe',
        'pipe',
        'inherit',
        ...inputs.map((each) => (typeof each === 'number' ? each : 'ignore')),
      ],
    })
    holder.close()
    expect(await firstLine(parent)).toBe('left')
    await vi.waitFor(() => expect(commandsWith(mark)).toBeGreaterThan(0))
    parent.kill('SIGKILL')
    await vi.waitFor(() => expect(commandsWith(mark)).toBe(0), { timeout: 60_000 })
  })

  test.each([
    ['LD_DEBUG_OUTPUT', (file: string) => ({ LD_DEBUG: 'files', LD_DEBUG_OUTPUT: file })],
    ['LD_PRELOAD', (file: string) => ({ LD_PRELOAD: `${file}.so` })],
    ['LD_LIBRARY_PATH', (file: string) => ({ LD_LIBRARY_PATH: dirname(file) })],
  ])('%s of a server is in its own environment, and not in that of what confines it', async (name, given) => {
    const home = userHome()
    const outside = join(home, 'outside')
    mkdirSync(outside, { mode: 0o777 })
    chmodSync(outside, 0o777)
    const own = given(join(outside, 'trace'))
    const program = programOf(home, ['-e', `console.log(process.env.${name}, process.env.TOOLROOM_TEST)`])
    const confined = await sandbox({ home }).confine(
      {
        ...program,
        env: { ...program.env, ...own, TOOLROOM_TEST: 'of the server', EMPTY: '', ODD: 'a=b\n"c"' },
      },
      { ...CLOSED, network: 'full' },
    )
    if (!confined.ok) throw new Error(confined.error.message)
    expect(confined.launch.args.join(' ')).not.toContain('outside')
    const output = await outputOf(confined.launch, home)
    expect(output).toContain(`${Object.entries(own).find(([key]) => key === name)?.[1]} 1`)
    expect(readdirSync(outside)).toEqual([])
    const injected = { ...confined.launch, env: { A: 'a\0--bind' } }
    expect(() => startedOnUnix(injected, [])).toThrow('NUL')
  })

  test.each(isRoot ? [ROOT, ORDINARY] : [undefined])(
    'a program of user %s has no capability, and shares no namespace with this computer',
    async (user) => {
      const home = userHome()
      const confined = await sandbox({ home, uid: user }).confine(programOf(home, ['-e', RIGHTS]), CLOSED)
      if (!confined.ok) throw new Error(confined.error.message)
      const { capabilities, namespaces } = JSON.parse(await outputOf(confined.launch, home, user))
      expect(capabilities).toEqual(
        Object.fromEntries(
          ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'].map((set) => [`Cap${set}`, '0000000000000000']),
        ),
      )
      for (const name of ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'])
        expect(namespaces[name], name).not.toBe(readlinkSync(`/proc/self/ns/${name}`))
    },
  )

  test('where the kernel refuses namespaces, the error says so and names the remedy', async () => {
    const home = userHome()
    const refused = join(refusedNamespaces(), 'bwrap')
    const confined = await sandbox({ home, find: async () => refused }).confine(programOf(home, []), CLOSED)
    expect(confined).toMatchObject({ ok: false, error: { code: 'sandbox_unavailable' } })
    expect(confined.ok ? '' : confined.error.message).toContain('namespace')
  })
})

test('without bwrap nothing is started, and the error names the command that installs it', async () => {
  const home = userHome()
  const confined = await sandbox({ home, find: async () => undefined }).confine(programOf(home, []), CLOSED)
  expect(confined).toMatchObject({ ok: false, error: { code: 'sandbox_unavailable' } })
  expect(
    bubblewrapMissing(reads({ '/etc/os-release': 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\n' })).remedy,
  ).toBe('Install bubblewrap with sudo apt-get install bubblewrap')
  expect(
    bubblewrapMissing(reads({ '/etc/os-release': 'ID="rocky"\nID_LIKE="rhel centos fedora"\n' })).remedy,
  ).toContain('sudo dnf install bubblewrap')
  expect(bubblewrapMissing(reads({})).remedy).toContain('the package manager of your system')
})

test.each([
  ['/proc/sys/user/max_user_namespaces', '0\n', 'sudo sysctl -w user.max_user_namespaces=15000'],
  ['/proc/sys/kernel/unprivileged_userns_clone', '0\n', 'sudo sysctl -w kernel.unprivileged_userns_clone=1'],
  ['/proc/sys/kernel/apparmor_restrict_unprivileged_userns', '1\n', 'sudo tee /etc/apparmor.d/bwrap'],
  ['/.dockerenv', '', '--security-opt seccomp=unconfined'],
])('when %s says why namespaces are refused, the hint is the exact remedy', (file, text, remedy) => {
  const found = namespacesRefused('/usr/bin/bwrap', 'bwrap: no', reads({ [file]: text }))
  expect(found.clause).toBe('the system refused a sandbox (bwrap: no)')
  expect(found.remedy).toContain(remedy)
})

test('Windows has no sandbox, and the error says what to do', async () => {
  const home = userHome()
  const confined = await sandbox({ home, system: 'win32' }).confine(programOf(home, []), CLOSED)
  expect(confined).toMatchObject({
    ok: false,
    error: {
      code: 'sandbox_unavailable',
      message: 'The server was not started: there is no sandbox on Windows',
      hint: 'Set isolation to none to run it without isolation',
    },
  })
})

test('a path in isolation_options that does not exist is named', async () => {
  const home = userHome()
  const confinement = { ...CLOSED, write: ['~/missing'] }
  const confined = await sandbox({ home }).confine(programOf(home, []), confinement)
  expect(confined).toMatchObject({ ok: false, error: { code: 'path_not_found' } })
  expect(confined.ok ? '' : confined.error.message).toContain('~/missing')
})

const LISTEN = `require('node:net').createServer((socket) => socket.end()).listen(0, '127.0.0.1', function () {
  console.log(this.address().port)
})`

function sandbox(deps: { home: string } & Partial<SandboxDeps>): Sandbox {
  const own = { hidden: [], written: new WrittenFolders(), userOfRoot: 'nobody' }
  const uid = isRoot ? ORDINARY : undefined
  return new Sandbox({ system: 'linux', find: async (program) => onPath(program), ...own, uid, ...deps })
}

function programOf(home: string, args: readonly string[]) {
  const env = { HOME: home, PATH: process.env.PATH ?? '' }
  return { path: process.execPath, args, cwd: home, env, mark: 'TOOLROOM_TEST=1' }
}

/** A home with a key, that belongs to an ordinary user where the test may choose one. */
function userHome(): string {
  const home = ownFolder()
  for (const folder of ['', '.ssh', 'open', 'readable']) mkdirSync(join(home, folder), { recursive: true })
  writeFileSync(join(home, 'readable/file'), 'text')
  for (const file of ['', '.ssh', 'open', 'readable', 'readable/file']) {
    chmodSync(join(home, file), 0o755)
    if (isRoot) chownSync(join(home, file), ORDINARY, ORDINARY)
  }
  return home
}

async function outputOf(launch: Launch, home: string, id = isRoot ? ORDINARY : undefined): Promise<string> {
  const user = id === undefined ? {} : { uid: id, gid: id }
  const child = startedOnUnix({ ...launch, cwd: home }, [], user)
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (text += String(data)))
  await new Promise((resolve) => child.once('close', resolve))
  return text.trim()
}

async function firstLine(child: ChildProcess): Promise<string> {
  const data = await new Promise((resolve) => child.stdout?.once('data', resolve))
  return String(data).trim()
}

/** How many processes have the mark as an argument of its own. */
function commandsWith(mark: string): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(mark)
    } catch {
      return false // it has ended
    }
  }).length
}

const reads = (files: Record<string, string>) => (file: string) => files[file]

function splitLast(line: string): [string, string] {
  const at = line.lastIndexOf(' ')
  return [line.slice(0, at), line.slice(at + 1)]
}
