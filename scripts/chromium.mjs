// The browser for the browser tests: the installed one, or Debian's package when running as root.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesUnder, findOnPath, root, run, say } from './lib.mjs'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const MAC = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'
const INSTALL_DEADLINE_MS = 10 * 60_000

/** The path of a working browser, or undefined. Does not search when no test needs one. */
export async function findChromium() {
  if (!filesUnder('test').some(usesBrowser)) return undefined
  const found = await working()
  if (found) return found
  const why = await install()
  if (!why) return working()
  say(`Browser tests are skipped: no Chromium found, and ${why}`)
  return undefined
}

async function working() {
  const path = findOnPath(...NAMES) ?? (existsSync(MAC) ? MAC : undefined)
  if (!path) return undefined
  // On Ubuntu, chromium may be a stub that only prints how to install the snap.
  const { code } = await run(path, ['--version'], { quiet: true, deadlineMs: 20_000 })
  return code === 0 ? path : undefined
}

/** @returns undefined on success, else the reason for the failure */
async function install() {
  const apt = findOnPath('apt-get')
  if (!apt) return 'apt-get is not available to install it'
  if (process.getuid?.() !== 0) return 'only root can install it (apt-get install chromium)'
  say('Installing Chromium for the browser tests …')
  const options = {
    quiet: true,
    deadlineMs: INSTALL_DEADLINE_MS,
    env: { DEBIAN_FRONTEND: 'noninteractive' },
  }
  const waitForLock = ['-q', '-o', 'DPkg::Lock::Timeout=300']
  await run(apt, [...waitForLock, 'update'], options) // may fail for one source; the install shows whether it matters
  const args = [...waitForLock, 'install', '-y', '--no-install-recommends', 'chromium']
  const { code, output } = await run(apt, args, options)
  if (code === 0 && (await working())) return undefined
  return `apt-get could not install it (${output.trim().split('\n').at(-1)})`
}

function usesBrowser(path) {
  return path.endsWith('.ts') && readFileSync(join(root, path), 'utf8').includes('playwright-core')
}
