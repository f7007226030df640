import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const INSTALL_DEADLINE_MS = 5 * 60_000

/** The path of promtool, installed from Debian's package when running as root; else the reason why it is missing. */
export function findPromtool(): { readonly path: string } | { readonly why: string } {
  const found = onPath('promtool')
  if (found) return { path: found }
  const why = installWithApt('prometheus')
  const path = onPath('promtool')
  return path ? { path } : { why: why ?? 'it is not on PATH' }
}

/** Installs a Debian package when running as root. Returns the reason when that is not possible. */
export function installWithApt(name: string): string | undefined {
  const apt = onPath('apt-get')
  if (!apt) return 'apt-get is not available to install it'
  if (process.getuid?.() !== 0) return `only root can install it (apt-get install ${name})`
  const options = {
    timeout: INSTALL_DEADLINE_MS,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    encoding: 'utf8',
  } as const
  const waitForLock = ['-q', '-o', 'DPkg::Lock::Timeout=300']
  spawnSync(apt, [...waitForLock, 'update'], options) // may fail for one source; the install shows whether it matters
  const args = [...waitForLock, 'install', '-y', '--no-install-recommends', name]
  const { status, stderr } = spawnSync(apt, args, options)
  return status === 0
    ? undefined
    : `apt-get could not install it (${String(stderr).trim().split('\n').at(-1)})`
}

function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return folders.map((folder) => join(folder, name)).find(existsSync)
}
