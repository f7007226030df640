import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname } from 'node:path'
import { SYSTEM_FOLDERS } from '../../../kernel/isolation-options.ts'
import type { Confined, Confinement, Mount } from './mounts.ts'

/** New namespaces, no rights, and the end together with the process that started it. */
const CONFINE = [
  ...['--die-with-parent', '--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--cap-drop', 'ALL'],
]
const WITHOUT_NETWORK = '--unshare-net'

/** In place of the user who runs Toolroom, if that is root. */
export interface SandboxUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

/** The numbers of the descriptors that `bwrap` inherits. */
export interface Descriptors {
  /** Arguments, separated by NUL. */
  readonly told: number
  /** A user namespace in which it has all rights that it needs while it is the other user already. Closed before the program starts. */
  readonly namespace: number | undefined
  /** Which system calls the program may use. */
  readonly filter: number | undefined
  /** Of each mount that shows something; null where `bwrap` cannot mount by descriptor. */
  readonly of: (mount: Mount) => number | null
}

/** The arguments with which `bwrap` runs the program in isolation. */
export function bubblewrapArgs(
  confined: Confined,
  mounts: readonly Mount[],
  { network }: Confinement,
  user: SandboxUser | undefined,
  { told, namespace, filter, of }: Descriptors,
): string[] {
  // What bwrap makes in memory, the other user may change.
  const open = user ? ['--perms', '0777'] : []
  return [
    ...CONFINE,
    ...(network === 'full' ? [] : [WITHOUT_NETWORK]),
    ...userArgs(user, namespace),
    ...['--args', String(told)],
    ...(filter === undefined ? [] : ['--seccomp', String(filter)]),
    ...systemFolders(network).flatMap(systemFolder),
    ...['--proc', '/proc', ...PROC.filter(existsSync).flatMap((file) => ['--ro-bind', file, file])],
    ...[...HIDDEN_PROC.filter(existsSync).flatMap(hiddenProc), '--dev', '/dev'],
    ...mounts.flatMap((mount) => {
      if (mount.access === 'empty') return [...open, '--tmpfs', mount.path]
      const folders = user ? foldersAround(mount, mounts).flatMap((each) => [...open, '--dir', each]) : []
      const descriptor = of(mount)
      return descriptor === null
        ? [...folders, BIND[mount.access], mount.source, mount.path]
        : [...folders, `${BIND[mount.access]}-fd`, String(descriptor), mount.path]
    }),
    ...['--remount-ro', '/', '--chdir', confined.cwd, '--'],
    confined.path,
    ...confined.args,
  ]
}

const userArgs = (user: SandboxUser | undefined, namespace: number | undefined): string[] =>
  user === undefined || namespace === undefined
    ? ['--unshare-user']
    : [
        ...['--userns', String(namespace), '--uid', String(user.uid), '--gid', String(user.gid)],
        ...['--block-fd', String(namespace)], // reads nothing from it, and closes it
      ]

/** The resolver has a socket, through which it can be asked without a network. */
const systemFolders = (network: Confinement['network']): string[] =>
  SYSTEM_FOLDERS.filter((folder) => existsSync(folder) && (network === 'full' || folder !== RESOLVER))
const RESOLVER = '/run/systemd/resolve'

/** What root could change in a new /proc. */
const PROC = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'driver', 'mtrr'].map((name) => `/proc/${name}`)
/** What tells about the whole computer: keys, memory, addresses of the kernel. */
const HIDDEN_PROC = [
  ...['acpi', 'asound', 'scsi'],
  ...['kcore', 'keys', 'key-users', 'kallsyms', 'kmsg', 'kpagecount', 'kpagecgroup', 'kpageflags'],
  ...['latency_stats', 'sched_debug', 'timer_list', 'timer_stats', 'vmallocinfo', 'slabinfo', 'iomem'],
].map((name) => `/proc/${name}`)

/** A folder is empty, and a file cannot be opened: devices do not work where they are bound. */
const hiddenProc = (file: string): string[] =>
  lstatSync(file).isDirectory()
    ? ['--perms', '0555', '--tmpfs', file, '--remount-ro', file]
    : ['--ro-bind', '/dev/null', file]

/** The folders in memory that have to be made for a mount. */
function foldersAround(mount: Mount, mounts: readonly Mount[]): string[] {
  const around: string[] = []
  for (let folder = dirname(mount.path); folder !== '/'; folder = dirname(folder)) {
    const found = mounts.find(({ path }) => path === folder)
    if (found) return found.access === 'empty' ? around.reverse() : []
    around.push(folder)
  }
  return []
}

/** The environment of the program. It goes through a descriptor: a command line can be read by every user. */
export const environmentArgs = (
  environment: Readonly<Record<string, string>>,
  own: Readonly<Record<string, string>>,
): string[] =>
  Object.entries(environment)
    .filter(([name]) => name !== '' && !name.includes('='))
    .filter(([name]) => !TEMPORARY.includes(name) || own[name] !== undefined)
    .flatMap(([name, value]) => ['--setenv', name, value])

/** What Toolroom's own say is not there. */
const TEMPORARY = ['TMPDIR', 'TMP', 'TEMP']

const BIND = { write: '--bind', read: '--ro-bind' } as const

/** Since /usr was merged, /bin is a link to it. */
const systemFolder = (folder: string): string[] =>
  lstatSync(folder).isSymbolicLink()
    ? ['--symlink', readlinkSync(folder), folder]
    : ['--ro-bind', folder, folder]

/** Arguments that need everything a sandbox needs from the kernel, and run nothing but `bwrap --version`. */
export const trialArgs = (bwrap: string, user?: SandboxUser, namespace?: number): string[] => [
  ...[...CONFINE, WITHOUT_NETWORK, ...userArgs(user, namespace)],
  ...['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--', bwrap, '--version'],
]

/**
 * The arguments of macOS' `sandbox-exec`. Not tested on macOS yet. It cannot show an empty home or /tmp: what would be
 * empty is forbidden instead.
 */
export function seatbeltArgs(
  confined: Confined,
  mounts: readonly Mount[],
  confinement: Confinement,
): string[] {
  return ['-p', profileOf(mounts, confinement), confined.path, ...confined.args]
}

/** Arguments that need everything a sandbox needs, and do nothing. */
export const seatbeltTrialArgs = ['-p', '(version 1)\n(allow default)', '/usr/bin/true']

export function profileOf(mounts: readonly Mount[], { network }: Confinement): string {
  return [
    '(version 1)',
    '(allow default)',
    '(deny file-write*)',
    '(allow file-write* (literal "/dev/null") (literal "/dev/tty") (subpath "/dev/fd"))',
    `(deny file-read* ${PRIVATE.map(subpath).join(' ')})`,
    ...(network === 'full' ? [] : ['(deny network*)']),
    // The last rule that matches decides, and inner folders come last.
    ...mounts.map((mount) => RULES[mount.access](subpath('source' in mount ? mount.source : mount.path))),
    '(allow file-read-metadata)',
  ].join('\n')
}

const PRIVATE = ['/Users', '/Volumes', '/private/tmp', '/private/var/folders']

const RULES = {
  write: (path: string) => `(allow file-read* file-write* ${path})`,
  read: (path: string) => `(allow file-read* ${path})\n(deny file-write* ${path})`,
  empty: (path: string) => `(deny file-read* file-write* ${path})`,
} as const

/** Rules are compared with real paths. JSON's escapes of quotes and backslashes are those of the profile. */
const subpath = (path: string): string =>
  `(subpath ${JSON.stringify(existsSync(path) ? realpathSync(path) : path)})`
