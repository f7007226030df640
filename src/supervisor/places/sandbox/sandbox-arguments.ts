import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { SYSTEM_FOLDERS } from '../../../kernel/isolation-options.ts'
import type { Confined, Confinement, Mount } from './mounts.ts'

/** New namespaces for everything, no rights, and the end together with the process that started it. */
const CONFINE = ['--die-with-parent', '--unshare-all', '--cap-drop', 'ALL']

/** The arguments with which `bwrap` runs the program in isolation. */
export function bubblewrapArgs(
  confined: Confined,
  mounts: readonly Mount[],
  { network }: Confinement,
): string[] {
  return [
    ...CONFINE,
    ...['--args', '3'],
    ...(network === 'full' ? ['--share-net'] : []),
    ...SYSTEM_FOLDERS.filter(existsSync).flatMap(systemFolder),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...mounts.flatMap(({ path, access }) =>
      access === 'empty' ? ['--tmpfs', path] : [BIND[access], path, path],
    ),
    ...['--remount-ro', '/', '--chdir', confined.cwd, '--'],
    confined.path,
    ...confined.args,
  ]
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
export const trialArgs = (bwrap: string): string[] => [
  ...CONFINE,
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
    ...mounts.map((mount) => RULES[mount.access](subpath(mount.path))),
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
