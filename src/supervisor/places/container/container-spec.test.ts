import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../../test/support/folder.ts'
import { WrittenFolders } from '../written-folders.ts'
import { type Contained, specOf } from './container-spec.ts'
import { createBody } from './create-request.ts'
import { ImagePins } from './images.ts'

const OPTIONS: Contained['options'] = {
  write: [],
  read: [],
  network: 'none',
  image: 'node:22',
  memory_mb: 512,
  pids: 100,
}
const LIMITS = { network: 'none', memory_mb: 512, pids: 100 }

/** Folders are at the same paths in a container, and those of Windows do not exist there. */
const onUnix = test.skipIf(process.platform === 'win32')

onUnix('a command runs in its image, with its folders at the same paths', () => {
  const home = homeWith('notes', 'project/src')
  const contained = {
    command: 'node',
    args: ['index.js'],
    env: { A: '1' },
    cwd: join(home, 'project/src'),
    options: { ...OPTIONS, read: ['~/project'], write: ['~/notes'] },
  }
  expect(specIn(contained, home)).toEqual({
    ok: true,
    spec: {
      image: 'node:22',
      entrypoint: ['node'],
      args: ['index.js'],
      env: { A: '1' },
      cwd: join(home, 'project/src'),
      binds: [
        { source: join(home, 'project'), target: join(home, 'project'), access: 'read' },
        { source: join(home, 'notes'), target: join(home, 'notes'), access: 'write' },
      ],
      ...LIMITS,
    },
  })
})

onUnix(
  'docker run names the image, the mounts and the variables, and isolation_options the network and the limits',
  () => {
    const home = homeWith('notes')
    const args = [
      'run',
      '-i',
      '--rm',
      '-e',
      'TOKEN',
      '-e',
      'MODE=x',
      '-e',
      'UNSET',
      '-v',
      `${home}/notes:/notes:ro`,
    ]
    const env = { TOKEN: 'secret', OTHER: 'not passed' }
    const contained = {
      command: 'docker',
      args: [...args, 'mcp/notes', '--all'],
      env,
      cwd: null,
      options: OPTIONS,
    }
    expect(specIn(contained, home)).toEqual({
      ok: true,
      spec: {
        image: 'mcp/notes',
        args: ['--all'],
        env: { TOKEN: 'secret', MODE: 'x' },
        binds: [{ source: join(home, 'notes'), target: '/notes', access: 'read' }],
        ...LIMITS,
      },
    })
  },
)

test.each([
  ['docker', ['run', '-i', '-p', '80:80', 'a'], {}, 'container_failed'],
  ['node', [], { image: null }, 'container_failed'],
  ['node', [], { read: ['/no/such/folder'] }, 'path_not_found'],
  ['docker', ['run', '-i', '-v', '/no/such/folder:/x', 'a'], {}, 'path_not_found'],
])('%s %j with %j is not started', (command, args, options, code) => {
  const contained = { command, args, env: {}, cwd: null, options: { ...OPTIONS, ...options } }
  expect(specIn(contained, ownFolder())).toMatchObject({ ok: false, error: { code } })
})

onUnix('a working folder opens nothing: it must be in a folder that was granted', () => {
  const home = homeWith('project/src', '.ssh')
  const of = (cwd: string, read: readonly string[] = []) =>
    specIn({ command: 'node', args: [], env: {}, cwd, options: { ...OPTIONS, read } }, home)
  expect(of(join(home, 'project/src'), ['~/project'])).toMatchObject({ ok: true })
  for (const [name, hint] of [
    ['project', 'Add the folder'],
    ['.ssh', 'Change cwd'],
    ['', 'Change cwd'],
  ] as const) {
    const found = of(join(home, name))
    expect(found).toMatchObject({ ok: false, error: { code: 'path_not_granted' } })
    expect(found.ok ? '' : found.error.hint).toContain(hint)
  }
})

onUnix('a link in a folder that a server may change is not followed, also of a docker run', () => {
  const home = homeWith('w', 'keys/b', 'data')
  symlinkSync(join(home, 'keys'), join(home, 'w/a'))
  const node = { command: 'node', args: [], env: {}, cwd: null }
  const docker = { ...node, command: 'docker', args: ['run', '-i', '-v', `${home}/w/a/b:/x`, 'a'] }
  const options = { ...OPTIONS, write: ['~/w'] }
  for (const contained of [
    { ...node, options: { ...options, read: ['~/w/a/b'] } },
    { ...docker, options },
  ])
    expect(specIn(contained, home)).toMatchObject({ ok: false, error: { code: 'path_not_granted' } })
})

onUnix('no container gets a folder of Toolroom, and folders around it hide it', () => {
  const home = homeWith('data', 'notes')
  const own = [join(home, 'data')]
  const run = (mount: string) => {
    const args = ['run', '-i', '-v', mount, 'a']
    return specIn({ command: 'docker', args, env: {}, cwd: null, options: OPTIONS }, home, own)
  }
  expect(run(`${home}/data:/x`)).toMatchObject({ ok: false, error: { code: 'path_not_granted' } })
  const hiddenAt = (target: string) => ({ source: '/empty', target, access: 'read' })
  expect(run(`${home}:/x`)).toMatchObject({ spec: { binds: [{ target: '/x' }, hiddenAt('/x/data')] } })
  expect(run(`${home}/notes:/x`)).toMatchObject({ spec: { binds: [{ target: '/x' }] } })
  const granted = { ...OPTIONS, read: [dirname(home)] }
  const found = specIn({ command: 'node', args: [], env: {}, cwd: null, options: granted }, home, own)
  expect(found).toMatchObject({ spec: { binds: [{ target: dirname(home) }, hiddenAt(home)] } })
})

test('the first image of a server stays its image until the server names another one', () => {
  const file = join(ownFolder(), 'image-pins.json')
  const pins = new ImagePins(file)
  expect(pins.of('a', 'node:22')).toBeUndefined()
  pins.pin('a', 'node:22', 'sha256:1')
  pins.pin('b', 'node:22', 'sha256:2')
  expect(new ImagePins(file).of('a', 'node:22')).toBe('sha256:1')
  pins.pin('a', 'node:24', 'sha256:3')
  const again = new ImagePins(file)
  expect([again.of('a', 'node:22'), again.of('a', 'node:24'), again.of('b', 'node:22')]).toEqual([
    undefined,
    'sha256:3',
    'sha256:2',
  ])
  writeFileSync(file, 'damaged')
  expect(new ImagePins(file).of('a', 'node:24')).toBeUndefined()
})

test('a container has no capability, no log, no swap beyond its memory, and a root file system that it cannot write to (docs/running.md)', () => {
  const spec = {
    image: 'node:22',
    args: ['index.js'],
    env: { A: '1' },
    binds: [
      { source: '/home/me/notes', target: '/notes', access: 'write' as const },
      { source: 'cache', target: '/cache', access: 'read' as const },
    ],
    network: 'none' as const,
    memory_mb: 512,
    pids: 100,
  }
  const labels = { installation: 'i', run: 'r', server: 's' }
  const bytes = 512 * 1024 * 1024
  expect(createBody(spec, labels)).toEqual({
    Image: 'node:22',
    Cmd: ['index.js'],
    Env: ['A=1'],
    Labels: {
      'dev.toolroom.installation': 'i',
      'dev.toolroom.run': 'r',
      'dev.toolroom.server': 's',
    },
    ...{ OpenStdin: true, StdinOnce: true, AttachStdin: true, AttachStdout: true, AttachStderr: true },
    Tty: false,
    NetworkDisabled: true,
    HostConfig: {
      Init: true,
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Memory: bytes,
      MemorySwap: bytes,
      PidsLimit: 100,
      NetworkMode: 'none',
      LogConfig: { Type: 'none', Config: {} },
      Tmpfs: { '/tmp': 'rw,nosuid,nodev' },
      Mounts: [
        { Type: 'bind', Source: '/home/me/notes', Target: '/notes', ReadOnly: false },
        { Type: 'volume', Source: 'cache', Target: '/cache', ReadOnly: true },
      ],
    },
  })
  expect(createBody({ ...spec, network: 'full' }, labels)).toMatchObject({
    NetworkDisabled: false,
    HostConfig: { NetworkMode: 'bridge' },
  })
})

function specIn(contained: Contained, home: string, own: readonly string[] = []) {
  return specOf(contained, { home, own, written: new WrittenFolders(), empty: '/empty' })
}

function homeWith(...folders: string[]): string {
  const home = ownFolder()
  for (const folder of folders) mkdirSync(join(home, folder), { recursive: true })
  return home
}
