import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync, type Stats, statSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Obstacle } from '../ability.ts'
import type { PathRefusal } from '../path-refusal.ts'
import type { Mount } from './mounts.ts'
import { userNotFound } from './obstacles.ts'
import type { SandboxUser } from './sandbox-arguments.ts'

type FoundUser =
  | { readonly ok: true; readonly user: SandboxUser }
  | { readonly ok: false; readonly obstacle: Obstacle }

const WITHIN_MS = 10_000

/** The user of the setting SANDBOX_USER: a name or a number. */
export async function findSandboxUser(name: string): Promise<FoundUser> {
  const number = async (flag: string) => {
    const { stdout } = await promisify(execFile)('id', [flag, '--', name], { env: PATH, timeout: WITHIN_MS })
    return Number(stdout.trim())
  }
  try {
    const [uid, gid] = await Promise.all([number('-u'), number('-g')])
    return uid > 0 && gid > 0 ? { ok: true, user: { name, uid, gid } } : notUsable(name, 'is root')
  } catch {
    return notUsable(name, 'does not exist')
  }
}

const notUsable = (name: string, why: string): FoundUser => ({ ok: false, obstacle: userNotFound(name, why) })

const PATH = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }

/**
 * A user namespace of root in which all other users have their own numbers, and root has one that no user has. So `bwrap` keeps
 * its rights when it becomes another user: it mounts what only root can reach, and never runs as that root. Only root can
 * enter it. Returns an open file, which keeps it.
 */
export async function openUserNamespace(): Promise<number> {
  const helper = spawn('unshare', ['-U', 'cat'], { env: PATH, stdio: ['pipe', 'pipe', 'ignore'] })
  try {
    helper.stdin.on('error', () => {}) // it has ended, which 'close' reports
    helper.stdin.write('\n')
    const isReady = await Promise.race([
      once(helper.stdout, 'data', { signal: AbortSignal.timeout(WITHIN_MS) }).then(() => true),
      once(helper, 'close').then(() => false),
    ])
    if (!isReady) throw new Error('unshare: a user namespace could not be created')
    for (const map of ['uid_map', 'gid_map'])
      writeFileSync(`/proc/${helper.pid}/${map}`, withoutRoot(readFileSync(`/proc/self/${map}`, 'utf8')))
    return openSync(`/proc/${helper.pid}/ns/user`, 'r')
  } finally {
    helper.kill('SIGKILL')
  }
}

const HIGHEST = 4_294_967_294

/** The numbers that exist here, each as itself, but root as one that is free. */
function withoutRoot(known: string): string {
  const ranges = known
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([first = 0, , count = 0]) => ({ first: Math.max(1, first), end: Math.min(first + count, HIGHEST) }))
    .filter(({ first, end }) => first < end)
  return [...ranges.map(({ first, end }) => `${first} ${first} ${end - first}\n`), `${HIGHEST} 0 1\n`].join(
    '',
  )
}

/** The first of the granted folders that this user may not change. */
export function notWritable(mounts: readonly Mount[], user: SandboxUser): PathRefusal | undefined {
  const file = mounts.find(
    (mount) => mount.access === 'write' && !mayChange(statSync(mount.source), user),
  )?.path
  return file === undefined ? undefined : { why: 'rights', file, user: user.name }
}

function mayChange(stats: Stats, { uid, gid }: SandboxUser): boolean {
  const needed = stats.isDirectory() ? 0o3 : 0o2
  const shift = stats.uid === uid ? 6 : stats.gid === gid ? 3 : 0
  return ((stats.mode >> shift) & needed) === needed
}
