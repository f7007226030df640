import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { bundled } from '../../../../test/support/bundled.ts'
import { onDisk, ownFolder } from '../../../../test/support/folder.ts'
import { atEnd } from '../../../../test/support/lifetime.ts'
import { stopwatch } from '../../../../test/support/measuring.ts'
import { onPath } from '../../../../test/support/on-path.ts'
import { startedOnUnix } from '../../platform/unix/started-on-unix.ts'
import { WrittenFolders } from '../written-folders.ts'
import { type LostFiles, lostFiles } from './lost-files.ts'
import { Sandbox } from './sandbox.ts'
import { trialArgs } from './sandbox-arguments.ts'

onDisk()

const bwrap = onPath('bwrap')
const isUsable = bwrap !== undefined && spawnSync(bwrap, trialArgs(bwrap)).status === 0
const isRoot = process.getuid?.() === 0
const ORDINARY = 12345

/** With `open` and `file` to write, and `readable` to read. */
function userHome(owner = process.getuid?.() ?? 0): string {
  const home = ownFolder()
  for (const name of ['open', 'readable']) mkdirSync(join(home, name))
  writeFileSync(join(home, 'readable/outside'), '')
  writeFileSync(join(home, 'file'), '')
  for (const name of ['', 'open', 'readable', 'file']) {
    chmodSync(join(home, name), 0o755)
    if (isRoot) chownSync(join(home, name), owner, owner)
  }
  return home
}

/** A script that prints a line when it is done, and stays. */
function launchOf(home: string, script: string) {
  const code = `const fs = require('node:fs')\n${script}\nconsole.log('done'); setInterval(() => {}, 1000)`
  const env = { HOME: home, PATH: process.env.PATH ?? '' }
  return { path: process.execPath, args: ['-e', code], cwd: home, env, mark: 'A=1' }
}

const CONFINEMENT = { write: ['~/open', '~/file'], read: ['~/readable'], network: 'none' } as const

async function confined(home: string, script: string) {
  const sandbox = new Sandbox({
    system: 'linux',
    home,
    hidden: [],
    find: async (program) => onPath(program),
    written: new WrittenFolders(),
    userOfRoot: 'nobody',
    uid: 1, // as it is, also if that is root
  })
  const made = await sandbox.confine(launchOf(home, script), CONFINEMENT)
  if (!made.ok) throw new Error(made.error.message)
  return made.launch
}

/** A program in isolation that is done with its script. Returns its process. */
async function done(home: string, script: string): Promise<number> {
  const child = startedOnUnix(await confined(home, script), [])
  atEnd(() => void child.kill('SIGKILL'))
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return child.pid ?? 0
}

const lostBy = async (home: string, script: string): Promise<LostFiles> =>
  lostFiles(await done(home, script), [home, home])

/** Reading one part of a folder, with its files. */
const LAST_STEP_MS = 250

const MANY = `
for (const name of ['full', '.full']) {
  fs.mkdirSync(name)
  for (let at = 0; at < 10_000; at += 1) fs.writeFileSync(name + '/' + at, '')
}
`

const WRITES = `
fs.mkdirSync('projects/site', { recursive: true })
fs.mkdirSync('.cache')
for (const file of ['a', 'projects/site/b', '.cache/c', 'open/kept', '/tmp/d']) fs.writeFileSync(file, 'x')
fs.writeFileSync('file', 'kept')
fs.symlinkSync('/etc/passwd', 'link')
fs.symlinkSync('/etc', 'linked-folder')
`
const LOST = ['a', 'projects/site/b', '.cache/c']

describe.skipIf(!isUsable)('with bubblewrap', () => {
  test('files in the empty home are found, without those in open folders, in /tmp and behind links', async () => {
    const home = userHome()
    const found = await lostBy(home, WRITES)
    expect(found).toEqual({ paths: LOST.map((name) => join(home, name)), count: 3 })
  })

  test('an ordinary user finds the files of a sandbox of the same user', async () => {
    const home = userHome(ORDINARY)
    const file = (name: string) => JSON.stringify(fileURLToPath(new URL(name, import.meta.url)))
    const main = await bundled(`import { lostFiles } from ${file('lost-files.ts')}
      import { Sandbox } from ${file('sandbox.ts')}
      import { startedOnUnix } from ${file('../../platform/unix/started-on-unix.ts')}
      import { WrittenFolders } from ${file('../written-folders.ts')}
      const { bwrap, home, launch, confinement } = JSON.parse(process.argv[2] ?? '')
      const deps = { home, hidden: [], find: async () => bwrap, written: new WrittenFolders(), userOfRoot: 'nobody' }
      const made = await new Sandbox(deps).confine(launch, confinement)
      if (!made.ok) throw new Error(made.error.message)
      const child = startedOnUnix(made.launch, [])
      child.stdout.once('data', async () => {
        console.log(JSON.stringify(await lostFiles(child.pid ?? 0, [home])))
        child.kill('SIGKILL')
      })`)
    chmodSync(dirname(main), 0o755)
    chmodSync(main, 0o644)
    const given = JSON.stringify({ bwrap, home, launch: launchOf(home, WRITES), confinement: CONFINEMENT })
    const child = spawn(process.execPath, [main, given], {
      cwd: home,
      env: { HOME: home, PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'inherit'],
      ...(isRoot && { uid: ORDINARY, gid: ORDINARY }),
    })
    atEnd(() => void child.kill('SIGKILL'))
    let text = ''
    for await (const data of child.stdout) text += String(data)
    expect(JSON.parse(text)).toEqual({ paths: LOST.map((name) => join(home, name)), count: 3 })
  })

  test('of 20,000 files at most 1,000 are named, at most 10,000 entries are read within 1.5 s, and timers run meanwhile (docs/running.md)', async () => {
    const home = userHome()
    const holder = await done(home, MANY)
    let longest = 0
    let latest = stopwatch()
    const beat = setInterval(() => {
      longest = Math.max(longest, latest())
      latest = stopwatch()
    }, 5)
    atEnd(() => clearInterval(beat))
    const spent = stopwatch()
    const { paths, count } = await lostFiles(holder, [home, home])
    expect(spent()).toBeLessThan(1500 + LAST_STEP_MS)
    expect(longest).toBeLessThan(LAST_STEP_MS)
    // How many are read in its time depends on the computer.
    expect(paths.length).toBe(Math.min(count, 1000))
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThanOrEqual(10_000)
  })

  test('after 1.5 s the search returns what it has found, however much there is', async () => {
    const home = userHome()
    const holder = await done(home, MANY)
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1)) // a look at it takes 1 ms
    onTestFinished(() => clock.mockRestore())
    const { count } = await lostFiles(holder, [home])
    expect(count).toBeGreaterThan(1000)
    expect(count).toBeLessThan(1501)
  })

  test('in a deep tree with strange names, the files near the home are found and the others are left out', async () => {
    const home = userHome()
    const names = ['line\nbreak', 'esc\u001b[2J', '~', ' ', 'a'.repeat(255)]
    const { paths, count } = await lostBy(
      home,
      `fs.mkdirSync('strange')
      for (const name of ${JSON.stringify(names)}) fs.writeFileSync('strange/' + name, '')
      process.chdir('strange')
      for (let depth = 0; depth < 500; depth += 1) {
        fs.mkdirSync('d'); process.chdir('d'); fs.writeFileSync('f', '')
      }`,
    )
    for (const name of names) expect(paths).toContain(join(home, 'strange', name))
    expect(paths).toContain(join(home, 'strange/d/d/f'))
    expect(count).toBe(paths.length)
    expect(count).toBeLessThan(40)
  })

  test('a process that is no sandbox has no lost files, although its home is that of the user', async () => {
    const home = userHome()
    expect(await lostFiles(process.pid, [home])).toEqual({ paths: [], count: 0 })
    const child = spawn('sh', ['-c', 'sleep 60 & wait'])
    atEnd(() => void child.kill('SIGKILL'))
    expect(await lostFiles(child.pid ?? 0, [home])).toEqual({ paths: [], count: 0 })
  })
})
