import { accessSync, constants, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PREFIX = 'toolroom-'

/**
 * The path of a new cgroup for the servers of this run, below the cgroup of Toolroom itself; undefined where this user
 * may not create one. A process cannot leave it, and one write ends all processes in it. Ends what an earlier run of the
 * same data folder has left in its cgroup.
 */
export function cgroupFor(mark: string): string | undefined {
  const parent = delegatedCgroup()
  if (parent === undefined) return undefined
  const [folder = '', run = ''] = mark.slice(mark.indexOf('=') + 1).split('/')
  for (const name of readdirSync(parent)) if (name.startsWith(PREFIX + folder)) endCgroup(join(parent, name))
  return join(parent, `${PREFIX}${folder}-${run}`)
}

/** The root cgroup is never delegated. Only version 2 has `cgroup.kill`. */
function delegatedCgroup(): string | undefined {
  try {
    const own = /^0::(\/.+)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
    const mounted = /^\S+ \S+ \S+ \/ (\S+) .* - cgroup2 /m.exec(
      readFileSync('/proc/self/mountinfo', 'utf8'),
    )?.[1]
    if (own === undefined || mounted === undefined) return undefined
    const folder = join(mounted, own)
    for (const needed of [folder, join(folder, 'cgroup.procs')]) accessSync(needed, constants.W_OK)
    accessSync(join(folder, 'cgroup.kill'))
    return folder
  } catch {
    return undefined // not Linux, or the cgroup belongs to another user
  }
}

function endCgroup(path: string): void {
  try {
    writeFileSync(join(path, 'cgroup.kill'), '1')
    rmdirSync(path)
  } catch {
    // Its processes are still ending. The start after this one removes it.
  }
}
