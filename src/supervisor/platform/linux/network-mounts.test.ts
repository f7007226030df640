import { expect, test } from 'vitest'
import { isOnForeignDisk, mountsIn } from './network-mounts.ts'

const MOUNTS = mountsIn(
  [
    '22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw',
    '40 22 0:40 / /mnt/team rw,relatime shared:20 master:3 - nfs4 server:/team rw,hard',
    '41 40 254:1 / /mnt/team/local rw - ext4 /dev/vdb rw',
    '42 22 0:42 / /home/a\\040b/cloud rw - fuse.sshfs host:/ rw',
    '43 22 0:43 / /run/tmp rw - tmpfs tmpfs rw',
    '',
  ].join('\n'),
)

test.each([
  { path: '/mnt/team', foreign: true, why: 'the place where NFS is mounted' },
  { path: '/mnt/team/tools/server', foreign: true, why: 'a file on NFS' },
  { path: '/mnt/team/local/server', foreign: false, why: 'a disk of this computer inside of it' },
  { path: '/mnt/teamwork', foreign: false, why: 'a folder whose name begins alike' },
  { path: '/home/a b/cloud/x', foreign: true, why: 'a mount with a space in its path' },
  { path: '/run/tmp/x', foreign: false, why: 'memory' },
  { path: 'npx', foreign: false, why: 'a name without a folder' },
])('$path may not answer: $foreign ($why)', ({ path, foreign }) => {
  expect(isOnForeignDisk([path], { home: '/home/a b', mounts: MOUNTS })).toBe(foreign)
})

test('a disk that also holds the home folder is looked at: Toolroom uses it anyway', () => {
  expect(isOnForeignDisk(['/mnt/team/tools'], { home: '/mnt/team/homes/me', mounts: MOUNTS })).toBe(false)
  expect(isOnForeignDisk(['/usr/bin', '/home/a b/cloud/bin'], { home: '/root', mounts: MOUNTS })).toBe(true)
})

test('the mounts of this computer are read', () => {
  expect(isOnForeignDisk([process.execPath])).toBe(false)
})
