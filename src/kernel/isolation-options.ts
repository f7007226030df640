/** Where the process of a server runs, and what it may reach there. */
export interface Isolation {
  readonly isolation: 'none' | 'sandbox' | 'container'
  readonly isolation_options: IsolationOptions
}

export interface IsolationOptions {
  /** Files and folders that it may change. */
  readonly write: readonly string[]
  /** Files and folders that it may read. */
  readonly read: readonly string[]
  readonly network: 'none' | 'full'
  readonly image: string | null
  readonly memory_mb: number
  readonly pids: number
}

/** Folders of a Linux system that every sandbox shows, as far as they exist. The last four: Nix, Homebrew, resolv.conf, certificates of openSUSE. */
export const SYSTEM_FOLDERS = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix/store',
  '/run/current-system',
  '/home/linuxbrew/.linuxbrew',
  '/run/systemd/resolve',
  '/var/lib/ca-certificates',
]
