import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ownFolder } from './folder.ts'
import { atEnd } from './lifetime.ts'
import { onPath } from './on-path.ts'
import { mayMount } from './small-disk.ts'

export type EngineName = 'docker' | 'podman'

/** An image with the Node that runs the test, and a shell. */
export const NODE_IMAGE = 'toolroom-test:latest'

export interface RunningEngine {
  readonly socket: string
  /** Where it stores everything. */
  readonly folder: string
}

const PROGRAMS = { docker: 'dockerd', podman: 'podman' } as const
const START_MS = 60_000

/** Whether this user can run a container engine here: it mounts file systems and creates cgroups. */
export const canRun = (name: EngineName): boolean =>
  mayMount && onPath(PROGRAMS[name]) !== undefined && canMakeCgroup()

/** A container engine of its own, in a temporary folder, with `NODE_IMAGE`. Ended after the test. */
export async function startEngine(name: EngineName): Promise<RunningEngine> {
  const folder = ownFolder()
  const socket = join(folder, 'engine.sock')
  const [program, args, env] = name === 'docker' ? docker(folder, socket) : podman(folder, socket)
  // Podman's conmon may write into its working folder.
  const options = { cwd: folder, env: { ...process.env, ...env } }
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data) => {
      log = (log + String(data)).slice(-4000)
    })
  let isGone = false
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  void ended.then(() => {
    isGone = true
  })
  atEnd(async () => {
    child.kill('SIGTERM')
    await ended
    unmountUnder(folder)
  })
  const deadline = Date.now() + START_MS
  while (!(await accepts(socket))) {
    if (isGone || Date.now() > deadline) throw new Error(`${name} did not start: ${log}`)
    await sleep(50)
  }
  await importImage(socket, folder)
  return { socket, folder }
}

type Command = [program: string, args: string[], env: Record<string, string>]

function docker(folder: string, socket: string): Command {
  const folders = ['--data-root', join(folder, 'data'), '--exec-root', join(folder, 'exec')]
  const network = ['--bridge=none', '--iptables=false', '--ip6tables=false']
  return ['dockerd', [...network, ...folders, '-H', `unix://${socket}`, '-p', join(folder, 'pid')], {}]
}

/** Its default for open files is higher than root may set in a container. */
function podman(folder: string, socket: string): Command {
  const settings = join(folder, 'containers.conf')
  writeFileSync(
    settings,
    '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n[engine]\nevents_logger = "none"\n',
  )
  const registries = join(folder, 'registries.conf')
  writeFileSync(registries, '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n')
  const folders = ['--root', join(folder, 'data'), '--runroot', join(folder, 'run')]
  const runtime = ['--runtime', 'runc', '--cgroup-manager', 'cgroupfs']
  const args = [...folders, ...runtime, 'system', 'service', '--time', '0', `unix://${socket}`]
  return ['podman', args, { CONTAINERS_CONF: settings, CONTAINERS_REGISTRIES_CONF: registries }]
}

async function accepts(socket: string): Promise<boolean> {
  if (!existsSync(socket)) return false
  return new Promise((resolve) => {
    const connection = connect(socket)
    connection.once('connect', () => resolve(true)).once('error', () => resolve(false))
    connection.once('connect', () => connection.destroy())
  })
}

async function importImage(socket: string, folder: string): Promise<void> {
  const tar = join(folder, 'image.tar')
  const empty = join(folder, 'empty')
  mkdirSync(join(empty, 'tmp'), { recursive: true })
  const programs = [process.execPath, '/bin/sh', '/bin/sleep']
  const libraries = programs.flatMap(
    (file) => execFileSync('ldd', [file], { encoding: 'utf8' }).match(/\/\S+(?= \()/g) ?? [],
  )
  const files = [...programs, ...libraries].map((file) => file.slice(1))
  execFileSync('tar', ['-chf', tar, '-C', empty, 'tmp', '-C', '/', ...new Set(files)])
  const body = readFileSync(tar)
  await new Promise<void>((resolve, reject) => {
    const path = '/v1.41/images/create?fromSrc=-&repo=toolroom-test&tag=latest'
    const headers = { host: 'engine', 'content-type': 'application/x-tar', 'content-length': body.length }
    const asked = request({ socketPath: socket, method: 'POST', path, headers, agent: false }, (response) => {
      response.resume().once('end', () => {
        if (response.statusCode === 200) resolve()
        else reject(new Error(`the image was not imported: ${response.statusCode}`))
      })
    })
    asked.once('error', reject)
    asked.end(body)
  })
}

/** What a killed engine has left, so that the folder can be removed. */
function unmountUnder(folder: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const points = mounts
    .map((line) => line.split(' ')[1] ?? '')
    .filter((point) => point.startsWith(`${folder}/`))
  for (const point of points.reverse()) execFileSync('umount', ['-l', point])
}

function canMakeCgroup(): boolean {
  const hierarchy = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup'].find((folder) => existsSync(folder))
  const group = join(hierarchy ?? '/', `toolroom-try-${process.pid}`)
  try {
    mkdirSync(group)
    rmdirSync(group)
    return hierarchy !== undefined
  } catch {
    return false // read-only: a container without rights
  }
}
