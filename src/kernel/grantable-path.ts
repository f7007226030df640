import { realpathSync } from 'node:fs'
import { posix } from 'node:path'
import { SYSTEM_FOLDERS } from './isolation-options.ts'

/** Where programs keep keys and logins, in the home. Nothing opens these but a person who names them. */
const KEYS = [
  ...['.ssh', '.gnupg', '.password-store', '.netrc', '.git-credentials', '.npmrc', '.pypirc', '.pgpass'],
  ...['.aws', '.azure', '.kube', '.docker', '.config/gcloud', '.config/gh', '.local/share/keyrings'],
  ...['.mozilla', '.config/google-chrome', '.config/chromium', 'Library/Keychains'],
]

/**
 * What else a person must open by name, because a server can print any path and is suggested what it printed: what is run
 * outside of an isolation, by a shell, at a login, or by an agent.
 */
const RUN_OUTSIDE = [
  ...['.bashrc', '.bash_profile', '.bash_login', '.profile', '.zshrc', '.zshenv', '.zprofile', '.zlogin'],
  ...['.config/fish', '.config/autostart', '.config/systemd', '.local/bin', 'Library/LaunchAgents'],
  ...['.gitconfig', '.config/git', '.claude', '.claude.json', '.cursor', '.codex', '.gemini', '.vscode'],
]

/** Where systems have their sockets, processes and devices. The socket of a container engine opens everything. */
const OF_SYSTEM = ['/proc', '/sys', '/dev', '/run', '/var/run', '/private/var/run']

/** Isolated servers have paths of Linux and macOS, also in a container on Windows. */
const { basename, dirname, join, resolve } = posix

interface Closed {
  readonly home: string
  /** Toolroom's own folders. */
  readonly own: readonly string[]
}

/**
 * Never everything, the whole home, a whole folder of the system, keys, or Toolroom's own files. Neither by name nor by where
 * the name leads: a server can print `~/notes/../.ssh`, and it can make links.
 */
export function isGrantable(said: string, { home, own }: Closed): boolean {
  const path = resolve(said)
  const real = { home: realPathOf(home), own: own.map(realPathOf) }
  return isOpen(path, { home, own }) && isOpen(realPathOf(path), real)
}

/** Where a path leads, also if only a folder around it exists. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const folder = dirname(path)
    return folder === path ? path : join(realPathOf(folder), basename(path))
  }
}

function isOpen(path: string, { home, own }: Closed): boolean {
  return (
    dirname(path) !== '/' &&
    path !== '/' &&
    !isInside(home, path) &&
    !SYSTEM_FOLDERS.some((folder) => isInside(folder, path)) &&
    (isInside(path, home) || !OF_SYSTEM.some((folder) => isInside(path, folder))) &&
    !holdsKeys(path, home) &&
    !RUN_OUTSIDE.some((name) => isNear(path, join(home, name))) &&
    !own.some((folder) => isNear(path, folder))
  )
}

/** Whether keys are in it, or it is in a folder with keys. */
export const holdsKeys = (path: string, home: string): boolean =>
  KEYS.some((name) => isNear(path, join(home, name)))

/** Whether one of the two is inside the other. */
const isNear = (one: string, other: string): boolean => isInside(one, other) || isInside(other, one)

export const isInside = (path: string, folder: string): boolean =>
  path === folder || folder === '/' || path.startsWith(`${folder}/`)
