import { posix } from 'node:path'
import { SYSTEM_FOLDERS } from './isolation-options.ts'

/**
 * Where programs keep keys and logins, in the home, and what is run outside of an isolation: by a shell, at a login, or by an
 * agent. A server can print any path, so a person must open these by name: no suggestion does.
 */
const KEPT_CLOSED = [
  ...['.ssh', '.gnupg', '.password-store', '.netrc', '.git-credentials', '.npmrc', '.pypirc', '.pgpass'],
  ...['.aws', '.azure', '.kube', '.docker', '.config/gcloud', '.config/gh', '.local/share/keyrings'],
  ...['.mozilla', '.config/google-chrome', '.config/chromium', 'Library/Keychains'],
  ...['.bashrc', '.bash_profile', '.bash_login', '.profile', '.zshrc', '.zshenv', '.zprofile', '.zlogin'],
  ...['.config/fish', '.config/autostart', '.config/systemd', '.local/bin', 'Library/LaunchAgents'],
  ...['.gitconfig', '.config/git', '.claude', '.claude.json', '.cursor', '.codex', '.gemini', '.vscode'],
]

/** Where systems have their sockets, processes and devices. The socket of a container engine opens everything. */
const OF_SYSTEM = ['/proc', '/sys', '/dev', '/run', '/var/run', '/private/var/run']

/** Isolated servers have paths of Linux and macOS, also in a container on Windows. */
const { dirname, join, resolve } = posix

interface Closed {
  readonly home: string
  /** Toolroom's own folders. */
  readonly own: readonly string[]
}

/** Never everything, the whole home, a whole folder of the system, keys, or Toolroom's own files. */
export function isGrantable(said: string, { home, own }: Closed): boolean {
  const path = resolve(said) // `~/notes/../.ssh`
  return (
    dirname(path) !== '/' &&
    path !== '/' &&
    !isInside(home, path) &&
    !SYSTEM_FOLDERS.some((folder) => isInside(folder, path)) &&
    (isInside(path, home) || !OF_SYSTEM.some((folder) => isInside(path, folder))) &&
    !KEPT_CLOSED.some((name) => isInside(path, join(home, name)) || isInside(join(home, name), path)) &&
    !own.some((folder) => isInside(path, folder) || isInside(folder, path))
  )
}

export const isInside = (path: string, folder: string): boolean =>
  path === folder || folder === '/' || path.startsWith(`${folder}/`)
