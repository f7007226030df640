import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../../test/support/folder.ts'
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
    options: { ...OPTIONS, write: ['~/notes'] },
  }
  expect(specOf(contained, home)).toEqual({
    ok: true,
    spec: {
      image: 'node:22',
      entrypoint: ['node'],
      args: ['index.js'],
      env: { A: '1' },
      cwd: join(home, 'project/src'),
      binds: [
        { source: join(home, 'notes'), target: join(home, 'notes'), access: 'write' },
        { source: join(home, 'project/src'), target: join(home, 'project/src'), access: 'read' },
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
    expect(specOf(contained, home)).toEqual({
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
  expect(specOf(contained, ownFolder())).toMatchObject({ ok: false, error: { code } })
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

function homeWith(...folders: string[]): string {
  const home = ownFolder()
  for (const folder of folders) mkdirSync(join(home, folder), { recursive: true })
  return home
}
