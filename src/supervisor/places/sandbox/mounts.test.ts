import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test as onEverySystem } from 'vitest'
import { onDisk, ownFolder } from '../../../../test/support/folder.ts'
import { SYSTEM_FOLDERS } from '../../../kernel/isolation-options.ts'
import { WrittenFolders } from '../written-folders.ts'
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
    ...{ home, hidden: [], packages: undefined },
    ...{ system: SYSTEM_FOLDERS, written: new WrittenFolders() },
  })
  const inA = (mounts.ok ? mounts.mounts : []).filter(({ path }) => path.startsWith(join(home, 'a')))
  expect(inA.map(({ access }) => access)).toEqual(['read', 'write', 'read'])
})

describe('a link in a folder that a server may change', () => {
  const WORK: Confinement = { write: ['~/w'], read: ['~/w/a/b'], network: 'none' }

  test('is not followed for what is granted inside of it', () => {
    const home = homeWith('w/a/b/file', '.ssh/id_ed25519')
    expect(seenBy({ home, confinement: WORK })).toMatchObject({ [join(home, 'w/a/b')]: 'read' })
    replacedByLink(join(home, 'w/a'), home)
    mkdirSync(join(home, 'b'))
    const link = join(home, 'w/a')
    expect(seenBy({ home, confinement: WORK })).toEqual({ why: 'link', file: '~/w/a/b', link })
  })

  test('is not followed when the server or another one could change the folder once', () => {
    const home = homeWith('w/a/b/file', 'other/file')
    const written = new WrittenFolders(join(ownFolder(), 'written-folders.json'))
    seenBy({ home, written, confinement: { ...CLOSED, write: ['~/w'] } })
    replacedByLink(join(home, 'w/a'), join(home, 'other'))
    const later = new WrittenFolders(join(ownFolder(), 'none.json'))
    later.add(written.all)
    expect(seenBy({ home, written: later, confinement: { ...CLOSED, read: ['~/w/a'] } })).toMatchObject({
      why: 'link',
    })
    expect(seenBy({ home, confinement: { ...CLOSED, read: ['~/w/a'] } })).toMatchObject({
      [join(home, 'w/a')]: 'read', // no server could have made it
    })
  })

  test.each([
    ['a script', (home: string) => ({ args: [join(home, 'w/server.py')] }), 'w/server.py'],
    ['the program', (home: string) => ({ path: join(home, 'w/server.py') }), 'w/server.py'],
    ['a Node on PATH', (home: string) => ({ searchPath: join(home, 'w/bin') }), 'w/bin/node'],
  ])('opens nothing as %s', (_, given, name) => {
    const home = homeWith('w/bin/x', 'keys/bin/node', 'keys/pyvenv.cfg')
    const target = join(home, 'keys/bin/node')
    replacedByLink(join(home, name), target)
    const seen = seenBy({ home, confinement: { ...CLOSED, write: ['~/w'] }, ...given(home) })
    expect(JSON.stringify(seen)).not.toContain('keys')
  })

  test('does not make the folder around it a runtime', () => {
    const home = homeWith('project/bin/node', 'project/secret')
    const confinement: Confinement = { ...CLOSED, write: ['~/project/bin'] }
    const seen = seenBy({ home, confinement, path: join(home, 'project/bin/node') })
    expect(seen).toEqual({ [home]: 'empty', [join(home, 'project/bin')]: 'write' })
  })
})

describe('the working folder', () => {
  test.each(['project', '.ssh', 'data', 'data/packages'])('~/%s opens nothing', (name) => {
    const home = homeWith('project/file', '.ssh/id_ed25519', 'data/token', 'data/packages/x/y')
    const cwd = join(home, name)
    const mayAdd = name === 'project'
    expect(seenBy({ home, cwd, hidden: [join(home, 'data')] })).toEqual({ why: 'cwd', file: cwd, mayAdd })
  })

  test('can be in a folder that was granted, in a package, in the system and in the empty home', () => {
    const home = homeWith('project/package.json', 'project/src/index.js', 'open/sub/file')
    const confinement = { ...CLOSED, read: ['~/open'] }
    for (const cwd of [join(home, 'open/sub'), '/usr/lib', home, '/'])
      expect(seenBy({ home, cwd, confinement })).not.toHaveProperty('why')
    const args = [join(home, 'project/src/index.js')]
    expect(seenBy({ home, cwd: join(home, 'project'), args })).toMatchObject({
      [join(home, 'project')]: 'read',
    })
  })
})

test('a folder of Toolroom cannot be granted, and a script opens none of it but its package, and no keys', () => {
  const home = homeWith('data/token', 'data/x.py', '.ssh/x.py', '.aws/package.json', '.aws/bin/x.js')
  const hidden = [join(home, 'data')]
  symlinkSync(join(home, 'data'), join(home, 'alias'))
  for (const file of ['~/data', '~/data/token', '~/alias', '~/alias/token'])
    expect(seenBy({ home, hidden, confinement: { ...CLOSED, read: [file] } })).toEqual({ why: 'own', file })
  for (const name of ['data/x.py', '.ssh/x.py', '.aws/bin/x.js'])
    expect(seenBy({ home, hidden, args: [join(home, name)] })).toEqual({
      [home]: 'empty',
      [join(home, 'data')]: 'empty',
    })
})

test('the home and the folders of Toolroom are hidden by where they are, whatever they are called', () => {
  const disk = homeWith('me/data/token', 'me/notes/file')
  const home = join(ownFolder(), 'home')
  symlinkSync(join(disk, 'me'), home)
  const hidden = [join(home, 'data')]
  const shown = seenBy({ home, hidden, confinement: { ...CLOSED, read: [disk] } })
  expect(shown).toMatchObject({
    [disk]: 'read',
    [join(disk, 'me')]: 'empty',
    [join(disk, 'me/data')]: 'empty',
  })
  const named = seenBy({ home, hidden, confinement: { ...CLOSED, read: ['~'] } })
  expect(named).toEqual({ [home]: 'read', [join(home, 'data')]: 'empty' })
})

test('a profile for macOS forbids the network and the home, and allows what was named', () => {
  const home = homeWith('work/file', 'say "hi"/file')
  const mounts = [
    { path: home, access: 'empty' },
    { path: join(home, 'say "hi"'), source: join(home, 'say "hi"'), access: 'read' },
    { path: join(home, 'work'), source: join(home, 'work'), access: 'write' },
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
  readonly written?: WrittenFolders
  readonly searchPath?: string
}

/** The mounts without /tmp and without the Node that runs the test, or why there are none. */
function seenBy({
  home,
  path = '/usr/bin/env',
  args = [],
  cwd = '/usr',
  confinement = CLOSED,
  hidden = [],
  written = new WrittenFolders(),
  searchPath = '/usr/bin',
}: Case) {
  const system = [...SYSTEM_FOLDERS, dirname(dirname(process.execPath))]
  const found = mountsOf({ path, args, cwd, env: { HOME: home, PATH: searchPath } }, confinement, {
    ...{ home, hidden, system, written },
    packages: hidden[0] && join(hidden[0], 'packages'),
  })
  if (!found.ok) return found.refusal
  return Object.fromEntries(
    found.mounts.filter((mount) => mount.path !== '/tmp').map((mount) => [mount.path, mount.access]),
  )
}

function replacedByLink(file: string, target: string): void {
  rmSync(file, { recursive: true, force: true })
  symlinkSync(target, file)
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
