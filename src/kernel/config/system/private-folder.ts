import { spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { isAbsolute, relative } from 'node:path'

const TIMEOUT_MS = 10_000
/** Windows itself, which backs up and scans files. The number is the same in every language. */
const SYSTEM = '*S-1-5-18'

/**
 * Windows has no file modes. The user's profile is closed to other users; a folder elsewhere gets an access list of its
 * own, which everything in it inherits. Returns a warning if that was not possible.
 */
export function closeToOthers(folder: string): string | undefined {
  if (process.platform !== 'win32' || isWithin(folder, homedir())) return undefined
  const { status, error } = spawnSync('icacls', accessOf(folder, process.env), {
    timeout: TIMEOUT_MS,
    windowsHide: true,
    stdio: 'ignore',
  })
  if (status === 0) return undefined
  const why = error?.message ?? `icacls ended with exit code ${status}`
  return `The data folder ${folder} may be accessible to other users: ${why}`
}

/** The arguments of icacls: nothing is inherited, this user and the system may do everything. */
export function accessOf(folder: string, env: Readonly<Record<string, string | undefined>>): string[] {
  const user = [env.USERDOMAIN, env.USERNAME].filter(Boolean).join('\\')
  const grants = [user, SYSTEM].map((name) => `${name}:(OI)(CI)F`)
  return [folder, '/inheritance:r', '/grant:r', ...grants]
}

function isWithin(path: string, folder: string): boolean {
  const steps = relative(folder, path)
  return !steps.startsWith('..') && !isAbsolute(steps)
}
