import { existsSync, lstatSync, readlinkSync } from 'node:fs'
import { SYSTEM_FOLDERS } from '../../../kernel/files/system-folders.ts'
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
    ...(network === 'full' ? ['--share-net'] : []),
    ...SYSTEM_FOLDERS.filter(existsSync).flatMap(systemFolder),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...mounts.flatMap(({ path, access }) =>
      access === 'empty' ? ['--tmpfs', path] : [BIND[access], path, path],
    ),
    ...TEMPORARY.filter((name) => confined.env[name] === undefined).flatMap((name) => ['--unsetenv', name]),
    ...['--remount-ro', '/', '--chdir', confined.cwd, '--'],
    confined.path,
    ...confined.args,
  ]
}

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
