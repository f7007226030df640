import { execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { bundled } from '../../support/bundled.ts'
import { canRun, NODE_IMAGE, startEngine } from '../../support/engines.ts'
import { onDisk, ownFolder } from '../../support/folder.ts'
import { FULL } from '../../support/full-or-short.ts'
import { atEnd, sharedByTests } from '../../support/lifetime.ts'
import { onPath } from '../../support/on-path.ts'
import { givenToServers, PLACES } from '../../support/places.ts'
import { IN_HOME, OF_SYSTEM } from './private-paths.ts'

onDisk()

const isRoot = process.getuid?.() === 0
const ORDINARY = 12_345
const NAMESPACES = ['mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup', 'user']
const LOADER = [
  'LD_PRELOAD',
  'LD_AUDIT',
  'LD_LIBRARY_PATH',
  'LD_DEBUG_OUTPUT',
  'LD_PROFILE_OUTPUT',
  'GCONV_PATH',
]

const hasSandbox = PLACES.some(({ name, isThere }) => name === 'sandbox' && isThere)
const canCompile = onPath('cc') !== undefined

interface PlaceToLeave {
  readonly name: string
  readonly isThere: boolean
  readonly isolation: 'sandbox' | 'container'
  readonly user?: number
  readonly engine?: 'docker' | 'podman'
}

const TO_LEAVE: readonly PlaceToLeave[] = [
  { name: 'Sandbox', isThere: hasSandbox, isolation: 'sandbox', ...(isRoot && { user: ORDINARY }) },
  { name: 'Sandbox of root', isThere: hasSandbox && isRoot, isolation: 'sandbox' },
  { name: 'Docker', isThere: canRun('docker'), isolation: 'container', engine: 'docker' },
  { name: 'Podman', isThere: canRun('podman'), isolation: 'container', engine: 'podman' },
]
/** `npm test` leaves the containers out, because an engine needs many seconds to start. */
const CHOSEN = TO_LEAVE.filter(({ engine }) => FULL || engine === undefined)

/** Starts servers in a place, one after the other, and prints what each has printed. */
const runner = sharedByTests(async () => {
  const source = (path: string) =>
    JSON.stringify(fileURLToPath(new URL(`../../../src/${path}`, import.meta.url)))
  const main = await bundled(`
    import { Places } from ${source('supervisor/places/places.ts')}
    import { platform } from ${source('supervisor/platform/linux/linux.ts')}
    import { programFinder } from ${source('supervisor/process/start-child.ts')}
    const { home, mark, servers } = JSON.parse(process.argv[2] ?? '')
    const marks = { ofFolder: mark, ofRun: mark }
    const groups = await platform.openProcessGroups({ marks, wasKilled: false, onTrouble: console.error })
    const hidden = [home + '/data', home + '/config']
    const found = { groups, findProgram: programFinder(platform) }
    const places = new Places({ ...found, marks, folder: hidden[0], hidden, sandboxUser: 'nobody' })
    const results = []
    const alive = setInterval(() => {}, 1000) // what is awaited does not keep it running
    for (const server of servers) {
      try {
        const child = await places.start({ ...server, skippedScripts: [] }, mark)
        const errors = []
        let said = ''
        child.errors.on('data', (data) => errors.push(data))
        for await (const data of child.output) said += data
        await child.end()
        results.push(said.endsWith('end\\n') ? said : said + errors.join(''))
      } catch (error) {
        results.push('refused ' + (error.error?.code ?? error.stack))
      }
    }
    await places.endAll()
    await groups.close()
    clearInterval(alive)
    console.log(JSON.stringify(results))`)
  chmodSync(dirname(main), 0o755)
  return main
})

const programs = sharedByTests(async () => {
  const folder = ownFolder()
  const source = (name: string) => fileURLToPath(new URL(name, import.meta.url))
  const build = (name: string, ...flags: string[]) =>
    execFileSync('cc', [...flags, '-O1', '-o', join(folder, name), source(`${name.split('.')[0]}.c`)])
  build('attempts', '-static')
  build('preload.so', '-shared', '-fPIC')
  return folder
})

describe.skipIf(!canCompile).each(CHOSEN.map((place) => [place.name, place] as const))(
  'out of a %s',
  (name, place) => {
    test.skipIf(!place.isThere)(
      'a program that tries everything known succeeds with exactly what docs/isolation-limits.md lists',
      async () => {
        const { home, attempt, link, run, loaded } = await opened(place)
        const [first] = await run([attempt()])
        expectDocumented(first, home, name)
        expect(loaded()).not.toContain(readlinkSync('/proc/self/ns/mnt'))
        // A folder, and a file that looks like a script, become links to what is private.
        const inner = join(home, 'w/a', basename(home))
        const key = join(home, '.ssh/id_ed25519')
        const [moved, again, script] = await run([
          link('../..', join(home, 'w/a')),
          attempt({ read: [inner] }, [`read ${join(inner, '.ssh/id_ed25519')}`]),
          attempt({}, [], [join(home, 'w/server.py')]),
        ])
        expect([moved, again]).toEqual(['end\n', 'refused path_not_granted'])
        expectDocumented(script, home, name)
        const [replaced, after] = await run([
          link(key, join(home, 'w/server.py')),
          attempt({}, [], [join(home, 'w/server.py')]),
        ])
        expect(replaced).toBe('end\n')
        expectDocumented(after, home, name)
        // A granted folder with everything in it hides what is Toolroom's own.
        const [all] = await run([attempt({ read: [home] })])
        expect(all).toContain(`read ${key}`)
        expect(all).not.toMatch(/\/(?:data|config)\//)
        for (const cwd of ['.ssh', 'data', 'notes'])
          expect(await run([{ ...attempt(), cwd: join(home, cwd) }])).toEqual(['refused path_not_granted'])
      },
    )
  },
)

test('what docs/isolation-limits.md lists is short', () => {
  for (const { name } of TO_LEAVE) {
    expect(documented(name, '✓').length).toBeGreaterThan(10)
    expect(documented(name, '✓').length).toBeLessThanOrEqual(25)
  }
})

async function opened(place: PlaceToLeave) {
  const home = ownFolder()
  const [main, tools] = [await runner(), await programs()]
  const socket = place.engine && (await startEngine(place.engine)).socket
  for (const name of [...IN_HOME, 'w/a/file', 'w/server.py', `w/a/${basename(home)}/file`, 'tools/list']) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    if (name !== '.ssh') writeFileSync(join(home, name), 'x')
  }
  for (const name of ['attempts', 'preload.so'])
    execFileSync('cp', [join(tools, name), join(home, 'tools', name)])
  execFileSync('chmod', ['-R', 'a+rX', home])
  if (place.user !== undefined) execFileSync('chown', ['-R', `${place.user}:${place.user}`, home])
  else if (place.isolation === 'sandbox') givenToServers(join(home, 'w'))
  const listening = await listens(0)
  const abstract = `toolroom-escape-${process.pid}-${place.name}`
  await listens(`\0${abstract}`)
  const resolver = await resolverSocket()
  const address = listening.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const facts = [
    process.pid,
    port,
    abstract,
    ...NAMESPACES.map((each) => readlinkSync(`/proc/self/ns/${each}`)),
  ]
  const paths = [
    ...IN_HOME.map((each) => join(home, each)),
    ...OF_SYSTEM,
    resolver,
    join(home, 'w'),
    home,
    '/tmp',
  ]
  let lists = 0
  const server = (args: readonly string[], given: object = {}) => {
    const options = {
      write: [join(home, 'w')],
      read: [join(home, 'tools')],
      network: 'none',
      memory_mb: 256,
      pids: 64,
    }
    const own = given as { read?: string[] }
    const read = [...options.read, ...(own.read ?? [])]
    return {
      serverId: 'escape',
      command: '/bin/sh',
      args: ['-c', 'exec "$0" "$@"', join(home, 'tools/attempts'), ...args],
      env: {
        ...Object.fromEntries(LOADER.map((each) => [each, join(home, 'tools/preload.so')])),
        TOOLROOM_LOADED: join(home, 'w/loaded'),
      },
      cwd: join(home, 'w'),
      confinement: {
        isolation: place.isolation,
        isolation_options: { ...options, read, image: NODE_IMAGE },
      },
    }
  }
  const attempt = (given: object = {}, more: readonly string[] = [], args: readonly string[] = []) => {
    lists += 1
    const list = join(home, `tools/list-${lists}`)
    const both = paths.flatMap((path) => [`read ${path}`, `write ${path}`])
    writeFileSync(list, [...both, ...more].map((line) => `${line}\n`).join(''), { mode: 0o644 })
    return server([list, ...facts.map(String), ...args], given)
  }
  const link = (target: string, path: string) => server(['link', target, path])
  const run = async (servers: readonly object[]): Promise<string[]> => {
    const leaked = openSync('/etc/shadow', 'r')
    const env = { PATH: process.env.PATH, HOME: home, ...(socket && { DOCKER_HOST: `unix://${socket}` }) }
    const mark = `TOOLROOM_TEST=${abstract}`
    const child = spawn(process.execPath, [main, JSON.stringify({ home, mark, servers })], {
      env,
      cwd: '/',
      // A descriptor that the service has inherited.
      stdio: ['ignore', 'pipe', 'inherit', ...Array<'ignore'>(37).fill('ignore'), leaked],
      ...(place.user !== undefined && { uid: place.user, gid: place.user }),
    })
    closeSync(leaked)
    atEnd(() => void child.kill('SIGKILL'))
    return JSON.parse(await text(child.stdout as NonNullable<typeof child.stdout>))
  }
  const loaded = () => {
    const file = join(home, 'w/loaded')
    return existsSync(file) ? readFileSync(file, 'utf8') : ''
  }
  return { home, attempt, link, run, loaded }
}

async function listens(at: number | string): Promise<Server> {
  const listening = createServer((socket) => socket.end())
  await new Promise<void>((resolve) =>
    typeof at === 'number' ? listening.listen(at, '127.0.0.1', resolve) : listening.listen(at, resolve),
  )
  atEnd(() => void listening.close())
  return listening
}

/** Where the resolver of systemd has its socket. Only root can put one there. */
async function resolverSocket(): Promise<string> {
  const path = `/run/systemd/resolve/toolroom-escape-${process.pid}`
  if (!isRoot) return path
  const made = mkdirSync(dirname(path), { recursive: true })
  if (made !== undefined) atEnd(() => rmSync(made, { recursive: true, force: true }))
  await listens(path)
  chmodSync(path, 0o777)
  return path
}

function expectDocumented(said = '', home: string, name: string): void {
  const lines = said.split('\n').filter((line) => line !== '')
  expect(lines.pop(), said).toBe('end')
  const found = new Set(lines.map((line) => line.replaceAll(home, '~')))
  const possible = documented(name, '(✓)')
  expect([...found].filter((line) => !possible.includes(line)).sort()).toEqual(documented(name, '✓'))
}

/** What the table says that can be done in a place, always or sometimes. */
function documented(name: string, mark: '✓' | '(✓)'): string[] {
  const page = readFileSync(new URL('../../../docs/isolation-limits.md', import.meta.url), 'utf8')
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').map((cell) => cell.trim()))
  const column = rows[0]?.indexOf(name) ?? -1
  return rows.flatMap((row) => (row[column] === mark ? [(row[1] ?? '').replaceAll('`', '')] : [])).sort()
}
