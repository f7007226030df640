import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test as onEverySystem } from 'vitest'
import { onDisk, ownFolder } from '../../../../test/support/folder.ts'
import { SYSTEM_FOLDERS } from '../../../kernel/isolation-options.ts'
import { type Confinement, mountsOf } from './mounts.ts'
import { profileOf } from './sandbox-arguments.ts'

onDisk()

/** Windows has no sandbox. */
const test = onEverySystem.skipIf(process.platform === 'win32')

const CLOSED: Confinement = { write: [], read: [], network: 'none' }

test('a Node under the home is readable with its whole prefix, and the home around it is empty', () => {
  const home = homeWith('.nvm/versions/node/v22.1.0/bin/node', '.ssh/id_ed25519')
  const node = join(home, '.nvm/versions/node/v22.1.0/bin/node')
  expect(seenBy({ home, path: node })).toEqual({
    [home]: 'empty',
    [join(home, '.nvm/versions/node/v22.1.0')]: 'read',
  })
})

test('a link to a Node, as fnm makes one, is readable together with its target', () => {
  const home = homeWith('.local/share/fnm/node-versions/v22/installation/bin/node')
  const target = join(home, '.local/share/fnm/node-versions/v22/installation')
  mkdirSync(join(home, 'run'))
  symlinkSync(target, join(home, 'run/multishell'))
  const seen = seenBy({ home, path: join(home, 'run/multishell/bin/node') })
  expect(seen).toEqual({ [home]: 'empty', [join(home, 'run/multishell')]: 'read', [target]: 'read' })
})

test('of a prefix that all kinds of programs share, only programs and modules are readable', () => {
  const home = homeWith('.local/bin/node', '.local/lib/node_modules/npm/x.js', '.local/share/keyrings/login')
  expect(seenBy({ home, path: join(home, '.local/bin/node') })).toEqual({
    [home]: 'empty',
    [join(home, '.local/bin')]: 'read',
    [join(home, '.local/lib/node_modules')]: 'read',
  })
  const inHome = homeWith('bin/node')
  expect(seenBy({ home: inHome, path: join(inHome, 'bin/node') })).toEqual({
    [inHome]: 'empty',
    [join(inHome, 'bin')]: 'read',
  })
})

test('the package of a script is readable, and the data folder around it is hidden', () => {
  const home = homeWith('data/packages/a/node_modules/a/dist/index.js', 'data/token')
  const script = join(home, 'data/packages/a/node_modules/a/dist/index.js')
  const confinement = { ...CLOSED, read: [home] }
  expect(seenBy({ home, args: ['--flag', script], confinement, hidden: [join(home, 'data')] })).toEqual({
    [home]: 'read',
    [join(home, 'data')]: 'empty',
    [join(home, 'data/packages/a/node_modules')]: 'read',
  })
})

test('a script without a package is readable alone, a project as a whole', () => {
  const home = homeWith('tools/server.py', 'project/package.json', 'project/dist/index.js', 'notes.sqlite')
  expect(seenBy({ home, args: [join(home, 'tools/server.py'), join(home, 'notes.sqlite')] })).toEqual({
    [home]: 'empty',
    [join(home, 'tools/server.py')]: 'read',
  })
  expect(seenBy({ home, cwd: join(home, 'project/dist'), args: ['index.js'] })).toEqual({
    [home]: 'empty',
    [join(home, 'project')]: 'read',
  })
})

test('a working folder inside a folder that may be written is not made read-only', () => {
  const home = homeWith('work/sub/file')
  const confinement = { ...CLOSED, write: ['~/work'] }
  expect(seenBy({ home, cwd: join(home, 'work/sub'), confinement })).toEqual({
    [home]: 'empty',
    [join(home, 'work')]: 'write',
  })
})

test('the home as the working folder stays empty, and so does the folder around it', () => {
  const home = homeWith('.ssh/id_ed25519')
  expect(seenBy({ home, cwd: home })).toEqual({ [home]: 'empty' })
  expect(seenBy({ home, cwd: dirname(home) })).toEqual({ [home]: 'empty' })
})

test('of nested folders the outer one comes first, so that the inner one decides', () => {
  const home = homeWith('a/b/c/file')
  const confinement = { ...CLOSED, read: ['~/a/b/c', '~/a'], write: ['~/a/b'] }
  const mounts = mountsOf({ path: '/usr/bin/true', args: [], cwd: '/usr', env: {} }, confinement, {
    home,
    hidden: [],
    system: SYSTEM_FOLDERS,
  })
  const inA = mounts.filter(({ path }) => path.startsWith(join(home, 'a')))
  expect(inA.map(({ access }) => access)).toEqual(['read', 'write', 'read'])
})

test('a profile for macOS forbids the network and the home, and allows what was named', () => {
  const home = homeWith('work/file', 'say "hi"/file')
  const mounts = [
    { path: home, access: 'empty' },
    { path: join(home, 'say "hi"'), access: 'read' },
    { path: join(home, 'work'), access: 'write' },
  ] as const
  const lines = profileOf(mounts, CLOSED).split('\n')
  expect(lines).toContain('(deny network*)')
  expect(profileOf(mounts, { ...CLOSED, network: 'full' })).not.toContain('network')
  expect(lines.slice(-5, -1)).toEqual([
    `(deny file-read* file-write* (subpath "${home}"))`,
    `(allow file-read* (subpath "${home}/say \\"hi\\""))`,
    `(deny file-write* (subpath "${home}/say \\"hi\\""))`,
    `(allow file-read* file-write* (subpath "${home}/work"))`,
  ])
})

interface Case {
  readonly home: string
  readonly path?: string
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly confinement?: Confinement
  readonly hidden?: readonly string[]
}

/** The mounts without /tmp and without the Node that runs the test. */
function seenBy({
  home,
  path = '/usr/bin/env',
  args = [],
  cwd = '/usr',
  confinement = CLOSED,
  hidden = [],
}: Case) {
  const system = [...SYSTEM_FOLDERS, dirname(dirname(process.execPath))]
  const mounts = mountsOf({ path, args, cwd, env: { HOME: home, PATH: '/usr/bin' } }, confinement, {
    home,
    hidden,
    system,
  })
  return Object.fromEntries(
    mounts.filter((mount) => mount.path !== '/tmp').map((mount) => [mount.path, mount.access]),
  )
}

function homeWith(...files: string[]): string {
  const home = ownFolder()
  for (const file of files) {
    mkdirSync(dirname(join(home, file)), { recursive: true })
    writeFileSync(join(home, file), '')
    chmodSync(join(home, file), 0o755)
  }
  return home
}
