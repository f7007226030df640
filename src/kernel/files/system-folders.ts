/** Folders of a Linux system, as far as they exist. The last four: Nix, Homebrew, resolv.conf, certificates of openSUSE. */
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
