// A small Debian in a folder, from the mirror that this machine's apt uses.
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findOnPath, run, say } from '../lib.mjs'

const RELEASE = 'trixie' // Debian 13: Wine 8 of Debian 12 crashes with Node
const DEADLINE_MS = 30 * 60_000
const quiet = { quiet: true, deadlineMs: DEADLINE_MS }

/** @returns the folder, with these packages installed; made by the first call */
export async function makeDebian(cache, arch, packages) {
  const folder = join(cache, `${RELEASE}-${arch}`)
  if (existsSync(folder)) return folder
  if (!findOnPath('apt-get')) throw new Error('it needs a machine with apt, whose mirror has Debian 13')
  const [mirror, settings, debootstrap] = [
    await findMirror(),
    await aptSettings(),
    await findDebootstrap(cache),
  ]
  say(`Installing Debian 13 with Wine in ${folder} (1 GB, once) …`)
  const made = mkdtempSync(`${folder}.new-`)
  try {
    const { program, env } = debootstrap
    await must(program, [`--arch=${arch}`, '--variant=minbase', RELEASE, made, mirror], env)
    writeFileSync(join(made, 'etc/apt/apt.conf.d/99host'), settings)
    const apt = [made, 'apt-get', '--yes', '--no-install-recommends']
    await must('chroot', [made, 'apt-get', 'update'])
    await must('chroot', [...apt, 'install', ...packages], { DEBIAN_FRONTEND: 'noninteractive' })
    await must('chroot', [made, 'apt-get', 'clean'])
    renameSync(made, folder)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
  return folder
}

/** The address of the first repository of Debian itself that this machine uses. */
async function findMirror() {
  const format = '$(ORIGIN) $(REPO_URI)'
  const { output } = await run('apt-get', ['indextargets', '--format', format, 'Created-By: Packages'], quiet)
  const found = output.split('\n').flatMap((line) => /^Debian (.*?)\/?$/.exec(line)?.[1] ?? [])
  const [mirror] = found.filter((address) => !address.endsWith('-security'))
  if (!mirror) throw new Error("none of this machine's package sources is Debian's; run apt-get update")
  return mirror
}

/** How this machine reaches its mirror. */
async function aptSettings() {
  const { output } = await run('apt-config', ['dump'], quiet)
  return output.replace(/^(?!Acquire::(?:https?::|Check-Valid-Until\b)).*\n/gm, '')
}

/** The installed one, or that of this machine's release, which is unpacked into the cache. */
async function findDebootstrap(cache) {
  const installed = findOnPath('debootstrap')
  if (installed) return { program: installed, env: {} }
  const folder = join(cache, 'debootstrap')
  if (!existsSync(folder)) {
    const scratch = mkdtempSync(`${folder}.new-`)
    try {
      await must('sh', ['-c', 'cd "$0" && apt-get download debootstrap && dpkg -x ./*.deb unpacked', scratch])
      renameSync(join(scratch, 'unpacked'), folder)
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  }
  const share = join(folder, 'usr/share/debootstrap')
  if (!readdirSync(join(share, 'scripts')).includes(RELEASE))
    throw new Error(`the debootstrap of this machine does not know ${RELEASE}; install a newer one`)
  return { program: join(folder, 'usr/sbin/debootstrap'), env: { DEBOOTSTRAP_DIR: share } }
}

async function must(program, args, env = {}) {
  const { code, output } = await run(program, args, { ...quiet, env })
  if (code !== 0) throw new Error(`${program} ended with exit code ${code}:\n${output.slice(-2000)}`)
}
