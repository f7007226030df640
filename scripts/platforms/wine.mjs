// Wine 10 of Debian 13 in a folder of its own, with a Node for Windows as its installer leaves it. Nothing outside of the
// cache folder changes. Entering that folder needs root.
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { findOnPath, run, say } from '../lib.mjs'
import { makeDebian } from './debian.mjs'
import { nodeForWindows } from './node-for-windows.mjs'

/** In the folder of Debian. The drive C: of Windows is below it. */
const PREFIX = '/opt/toolroom'
const DRIVE_C = `${PREFIX}/drive_c`
/** Where the checkout is on drive C:. */
const CHECKOUT = 'toolroom'
const FIRST_START_DEADLINE_MS = 5 * 60_000
const ARCHITECTURES = { arm64: 'arm64', x64: 'amd64' }

/**
 * Installs what is missing. Throws with what cannot be had.
 * @returns the cache folder, the architecture of Node, and a function that runs a Windows program
 */
export async function openWine() {
  const arch = process.arch
  const debianArch = ARCHITECTURES[arch]
  if (process.platform !== 'linux' || !debianArch) throw new Error('it needs Linux on arm64 or x64')
  if (process.getuid() !== 0) throw new Error('it needs root, to enter the folder that Wine is in')
  for (const program of ['unshare', 'chroot', 'mount'])
    if (!findOnPath(program)) throw new Error(`the program ${program} was not found`)
  const folder = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'toolroom-platforms')
  mkdirSync(folder, { recursive: true })
  const debian = await makeDebian(folder, debianArch, ['wine', 'wine64'])
  const node = await nodeForWindows(folder, arch)
  const wine = { folder, arch, run: (words, options) => runIn(debian, words, options) }
  await installNode(debian, node, wine)
  return wine
}

async function installNode(debian, node, wine) {
  const home = join(debian, DRIVE_C, 'Program Files', 'nodejs')
  const versionOf = (of) =>
    JSON.parse(readFileSync(join(of, 'node_modules/npm/package.json'), 'utf8')).version
  if (existsSync(join(home, 'node.exe')) && versionOf(home) === versionOf(node)) return
  say('Creating the Windows folders …')
  const made = await wine.run(['wineboot', '--init'], {
    env: { WAIT_FOR_ALL: '1' }, // the registry is complete, and written, when the last process has ended
    deadlineMs: FIRST_START_DEADLINE_MS,
  })
  if (made.code !== 0) throw new Error(`Wine does not start:\n${made.output}`)
  rmSync(home, { recursive: true, force: true })
  cpSync(node, home, { recursive: true })
  const { code, output } = await wine.run(['node', '--version'], { deadlineMs: FIRST_START_DEADLINE_MS })
  if (code !== 0) throw new Error(`Node for Windows does not start in Wine:\n${output}`)
}

/**
 * Runs a Windows program in its own process namespace: when it ends, the kernel ends everything that it has started. Its
 * output goes to a file, because Node for Windows cannot write to a Unix pipe in Wine. It has the network of this machine,
 * and the certificates that Node trusts here.
 */
async function runIn(debian, words, { checkout = '', env = {}, deadlineMs }) {
  const scratch = mkdtempSync(join(debian, 'tmp', 'run-'))
  const output = join(scratch.slice(debian.length), 'output')
  const { NODE_EXTRA_CA_CERTS: certificates } = process.env
  if (certificates) copyFileSync(certificates, join(scratch, 'certificates'))
  const variables = {
    HOME: '/root',
    PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
    LANG: 'C.UTF-8',
    XDG_RUNTIME_DIR: '/tmp',
    WINEPREFIX: PREFIX,
    WINEPATH: 'C:\\Program Files\\nodejs',
    WINEDEBUG: '-all',
    ...(certificates && { NODE_EXTRA_CA_CERTS: `Z:${join(scratch.slice(debian.length), 'certificates')}` }),
    ...env,
  }
  const given = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  const inDebian = ['chroot', debian, 'env', '-i', ...given, 'sh', '-c', INSIDE, CHECKOUT, output, ...words]
  const namespaces = ['--mount', '--pid', '--fork', '--kill-child', '--propagation', 'private']
  try {
    const { code, output: trouble } = await run(
      'unshare',
      [...namespaces, 'sh', '-c', OUTSIDE, debian, checkout, join(debian, DRIVE_C, CHECKOUT), ...inDebian],
      { quiet: true, deadlineMs, killSignal: 'SIGKILL' },
    )
    const file = join(scratch, 'output')
    return { code, output: `${existsSync(file) ? readFileSync(file, 'utf8') : ''}${trouble}` }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const OUTSIDE = `
  debian=$0 checkout=$1 place=$2
  shift 2
  mount -t proc proc "$debian/proc" && mount --rbind /dev "$debian/dev" || exit 125
  if [ -n "$checkout" ]; then mkdir -p "$place" && mount --bind "$checkout" "$place" || exit 125; fi
  "$@"
`
const INSIDE = `
  cd "$WINEPREFIX/drive_c/$0" 2>/dev/null || cd /
  output=$1
  shift
  wine "$@" >"$output" 2>&1 </dev/null
  code=$?
  [ -z "$WAIT_FOR_ALL" ] || wineserver -w
  exit $code
`
