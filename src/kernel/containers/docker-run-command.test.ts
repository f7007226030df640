import fc from 'fast-check'
import { expect, test } from 'vitest'
import { expectLinear } from '../../../test/support/linear.ts'
import { readContainerCommand } from './docker-run-command.ts'

const EMPTY = {
  args: [],
  entrypoint: null,
  env: {},
  mounts: [],
  network: 'full',
  memory_mb: null,
  pids: null,
  cwd: null,
  user: null,
}

/** A reference, which Toolroom resolves at the start. */
const HOME = `$\{env:HOME}`

test.each([
  ['run -i --rm mcp/time', { image: 'mcp/time' }],
  ['container run -i --rm mcp/time', { image: 'mcp/time' }],
  [
    'run --interactive --rm=true --init mcp/time --local-timezone=Europe/Berlin -i',
    {
      image: 'mcp/time',
      args: ['--local-timezone=Europe/Berlin', '-i'],
    },
  ],
  [
    'run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server',
    {
      image: 'ghcr.io/github/github-mcp-server',
      env: { GITHUB_PERSONAL_ACCESS_TOKEN: null },
    },
  ],
  [
    'run -i --rm -eA=1 --env B=2=3 --env=C= -e=D registry.local:5000/a/b:1.2@sha256:00ff stdio',
    {
      image: 'registry.local:5000/a/b:1.2@sha256:00ff',
      args: ['stdio'],
      env: { A: '1', B: '2=3', C: '', D: null },
    },
  ],
  [
    'run -i --rm --mount type=bind,src=/Users/me/Desktop,dst=/projects/Desktop --mount type=bind,source=/x,destination=/projects/x,ro mcp/filesystem /projects',
    {
      image: 'mcp/filesystem',
      args: ['/projects'],
      mounts: [
        { source: '/Users/me/Desktop', target: '/projects/Desktop', access: 'write' },
        { source: '/x', target: '/projects/x', access: 'read' },
      ],
    },
  ],
  [
    'run -i -v claude-memory:/app/dist --volume=/data:/data:ro --rm mcp/memory',
    {
      image: 'mcp/memory',
      mounts: [
        { source: 'claude-memory', target: '/app/dist', access: 'write' },
        { source: '/data', target: '/data', access: 'read' },
      ],
    },
  ],
  [
    `run -i -v ${HOME}/notes:/notes:ro,cached mcp/notes`,
    {
      image: 'mcp/notes',
      mounts: [{ source: `${HOME}/notes`, target: '/notes', access: 'read' }],
    },
  ],
  [
    'run -i --network none --memory 512m --pids-limit=100 -w /app -u 1000:1000 --entrypoint node a',
    {
      image: 'a',
      network: 'none',
      memory_mb: 512,
      pids: 100,
      cwd: '/app',
      user: '1000:1000',
      entrypoint: 'node',
    },
  ],
  [
    'run -i --net=bridge -m 2g --read-only --cap-drop ALL --security-opt no-new-privileges --log-driver none a',
    {
      image: 'a',
      memory_mb: 2048,
    },
  ],
  ['run -i --name x -l a=b -h c --tmpfs /tmp:rw --pull=missing -- a b', { image: 'a', args: ['b'] }],
  ['run -i --mount type=tmpfs,target=/tmp a', { image: 'a' }],
])('docker %s is a container', (line, expected) => {
  expect(readContainerCommand('docker', line.split(' '))).toEqual({
    ok: true,
    container: { ...EMPTY, ...expected },
  })
})

test.each([
  ['run --rm a', ['no -i: without it, the server gets no input']],
  ['run -i=false a', ['no -i: without it, the server gets no input']],
  ['run -it a', ['-t']],
  ['run -i -d a', ['-d']],
  ['run -i', ['a missing image']],
  ['run -i --env-file .env a', ['--env-file']],
  ['run -i -p 8080:80 --gpus all --privileged a', ['-p', '--gpus', '--privileged']],
  ['run -i --network host a', ['this value of --network']],
  ['run -i --network=my-net a', ['this value of --network']],
  ['run -i --security-opt seccomp=unconfined a', ['this value of --security-opt']],
  ['run -i --pull always a', ['this value of --pull']],
  ['run -i --memory lots a', ['this value of --memory']],
  ['run -i --pids-limit -1 a', ['this value of --pids-limit']],
  ['run -i -v /data a', ['this value of -v']],
  ['run -i -v ./data:/data a', ['this value of -v']],
  ['run -i -v /data:/data:z a', ['this value of -v']],
  ['run -i -v C:\\data:/data a', ['this value of -v']],
  ['run -i --mount type=tmpfs,target=/cache a', ['this value of --mount']],
  ['run -i --mount type=bind,source=/a,target=/b,bind-propagation=shared a', ['this value of --mount']],
  ['run -i --mount type=npipe,source=/a,target=/b a', ['this value of --mount']],
  ['run -i --tmpfs /cache a', ['this value of --tmpfs']],
  ['run -i --no-such-flag secret a', ['--no-such-flag']],
  ['run -i --constructor a', ['--constructor']],
  ['run -i -e =x a', ['this value of -e']],
  ['run -i a$(whoami)', ['the name of the image']],
  ['run -i -e', ['-e without a value', 'a missing image']],
])('docker %s stays a command, and what a container does not have is named', (line, cannot) => {
  expect(readContainerCommand('docker', line.split(' '))).toEqual({ ok: false, cannot })
})

test.each([
  ['npx', ['-y', 'docker', 'run', '-i', 'a']],
  ['docker', ['exec', '-i', 'a', 'b']],
  ['docker', ['compose', 'run', 'a']],
  ['docker', ['--context', 'x', 'run', '-i', 'a']],
  ['docker', ['mcp', 'gateway', 'run']],
  ['docker', []],
  ['mydocker', ['run', '-i', 'a']],
])('%s %j does not run a container', (command, args) => {
  expect(readContainerCommand(command, args)).toBeUndefined()
})

test.each(['docker', 'podman', '/usr/bin/podman', 'C:\\Program Files\\Docker\\docker.exe'])(
  '%s is an engine',
  (command) => {
    expect(readContainerCommand(command, ['run', '-i', 'a'])?.ok).toBe(true)
  },
)

test('the value of a flag is never named', () => {
  const secret = 'secret-5f1e'
  const words = fc.constantFrom(
    '-e',
    '-v',
    '--mount',
    '--env',
    '-t',
    '--memory',
    secret,
    `--x=${secret}`,
    `-e${secret}`,
    'a',
  )
  fc.assert(
    fc.property(fc.array(words, { maxLength: 12 }), (args) => {
      const reading = readContainerCommand('docker', ['run', ...args])
      if (reading?.ok === false) expect(reading.cannot.join()).not.toContain(secret)
    }),
  )
})

test('any arguments are read, and a name such as __proto__ is a variable like any other', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (args) => {
      expect(typeof readContainerCommand('docker', ['run', ...args])?.ok).toBe('boolean')
    }),
  )
  const reading = readContainerCommand('docker', ['run', '-i', '-e', '__proto__=x', 'a'])
  expect(reading?.ok && Object.entries(reading.container.env)).toEqual([['__proto__', 'x']])
})

test('long arguments are read in linear time', () => {
  expectLinear((size) => {
    const length = size === 'small' ? 200_000 : 800_000
    const long = ':,='.repeat(length / 3)
    const args = ['run', '-i', '-v', long, '--mount', long, '-e', long, `-${'i'.repeat(length)}`, 'a']
    return readContainerCommand('docker', args)
  })
})
