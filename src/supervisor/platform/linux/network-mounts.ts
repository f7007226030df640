import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'

const MOUNTS = '/proc/self/mountinfo'
/** File systems that wait for another computer, or for a process. */
const FOREIGN = /^(?:nfs\d?|cifs|smb3?|smbfs|9p|afs|ceph|glusterfs|lustre|ncpfs|autofs|fuse\..+|fuse|davfs)$/

/**
 * Whether one of these absolute paths is on a disk that may not answer: a call that looks at it would wait in the kernel, and
 * all of Toolroom with it. A disk that also holds the home folder is in use anyway.
 */
export function isOnForeignDisk(
  paths: readonly string[],
  { home = homedir(), mounts = readMounts() } = {},
): boolean {
  const foreign = mounts.filter(({ type }) => FOREIGN.test(type))
  if (foreign.length === 0) return false
  const own = mountOf(home, mounts)
  return paths.some((path) => {
    const mount = mountOf(path, mounts)
    return mount !== undefined && mount !== own && foreign.includes(mount)
  })
}

interface Mount {
  readonly at: string
  readonly type: string
}

/** The deepest one; of several in one place, the last one hides the others. */
function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  let deepest: Mount | undefined
  for (const mount of mounts)
    if (isIn(path, mount.at) && mount.at.length >= (deepest?.at.length ?? 0)) deepest = mount
  return deepest
}

const isIn = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`)

function readMounts(): Mount[] {
  try {
    return mountsIn(readFileSync(MOUNTS, 'utf8'))
  } catch {
    return [] // no /proc
  }
}

/** A line: `36 35 98:0 /root /mnt\040point rw,noatime shared:1 - ext3 /dev/root rw`, with any number of fields before `-`. */
export function mountsIn(text: string): Mount[] {
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ', 2)
    const at = before.split(' ')[4]
    const type = after.split(' ')[0]
    return at && type ? [{ at: unescaped(at), type }] : []
  })
}

/** Space, tab, line feed and backslash are written as octal numbers. */
const unescaped = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
