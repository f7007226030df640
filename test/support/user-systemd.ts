import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ownFolder } from './folder.ts'

const SYSTEMD = '/lib/systemd/systemd'
const CGROUPS = '/sys/fs/cgroup'
const HIERARCHY = existsSync(join(CGROUPS, 'systemd')) ? join(CGROUPS, 'systemd') : CGROUPS

/** Whether a user's systemd can be started here: it needs a cgroup of its own. */
export const hasSystemd = (): boolean => process.getuid?.() === 0 && existsSync(SYSTEMD) && canMakeCgroup()

/**
 * A real systemd of a user, with an empty home directory. systemd refuses to start on a computer that it did not boot, so it
 * gets a mount namespace in which it seems to have. Ended after the test, with everything that it started.
 */
export async function userSystemd(home: string): Promise<Record<string, string>> {
  const runtime = ownFolder()
  const name = `toolroom-test-${process.pid}-${Date.now()}`
  const env = { PATH: process.env.PATH ?? '', HOME: home, XDG_RUNTIME_DIR: runtime }
  // At its start, systemd moves every process of its own cgroup into a new one, so it must be alone in it.
  const script = [
    'mount -t tmpfs none /run/systemd',
    'mkdir /run/systemd/system',
    `mkdir ${HIERARCHY}/${name}`,
    `echo $$ >${HIERARCHY}/${name}/cgroup.procs`,
    `grep -q ':/${name}$' /proc/self/cgroup`,
    `exec ${SYSTEMD} --user --unit=basic.target --log-level=warning --log-target=console`,
  ]
  const child = spawn('unshare', ['--mount', 'sh', '-ec', script.join('\n')], { env, stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('close', resolve))
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
    for (const controller of readdirSync(CGROUPS)) removeCgroup(join(CGROUPS, controller, name))
    removeCgroup(join(CGROUPS, name))
  })
  let isGone = false
  void ended.then(() => (isGone = true))
  while (!existsSync(join(runtime, 'systemd/private'))) {
    if (isGone) throw new Error('systemd has ended')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return env
}

function canMakeCgroup(): boolean {
  const group = join(HIERARCHY, `toolroom-try-${process.pid}`)
  try {
    mkdirSync(group)
    writeFileSync(join(group, 'cgroup.procs'), '')
    rmdirSync(group)
    return existsSync('/run/systemd')
  } catch {
    return false
  }
}

/** A cgroup is removed as a folder, from the innermost one. Its files belong to the kernel. */
function removeCgroup(folder: string): void {
  if (!existsSync(folder)) return
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeCgroup(join(folder, entry.name))
  try {
    rmdirSync(folder)
  } catch {
    // a process is just ending in it
  }
}
