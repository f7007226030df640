// Programs that tests use and npm does not have: the installed ones, or Debian's packages when running as root.
// CONTRIBUTING.md lists them.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesUnder, findOnPath, root, run, say } from './lib.mjs'

const INSTALL_DEADLINE_MS = 10 * 60_000

/** `usedIn` matches the source of the test files that need the program. It is not looked for when there is none. */
const TOOLS = [
  {
    title: 'Chromium',
    names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    paths: ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'],
    package: 'chromium',
    usedIn: /playwright-core/,
    variable: 'TOOLROOM_CHROMIUM',
  },
  {
    title: 'Chromium without windows',
    names: ['chromium-headless-shell'],
    package: 'chromium-headless-shell',
    usedIn: /playwright-core/,
    variable: 'TOOLROOM_HEADLESS_CHROMIUM',
    without: 'the tests use Chromium, which takes longer',
  },
  { title: 'promtool', names: ['promtool'], package: 'prometheus', usedIn: /promtool/ },
  { title: 'strace', names: ['strace'], package: 'strace', usedIn: /'strace'/ },
  { title: 'faketime', names: ['faketime'], package: 'faketime', usedIn: /faketime/ },
  { title: 'bubblewrap', names: ['bwrap'], package: 'bubblewrap', usedIn: /bwrap/ },
  { title: 'Docker', names: ['dockerd'], package: 'docker.io', usedIn: /dockerd/ },
  { title: 'Podman', names: ['podman'], package: 'podman', usedIn: /'podman'/ },
  { title: 'tmux', names: ['tmux'], package: 'tmux', usedIn: /openTerminal/, version: '-V' },
]

/** @returns the variables that tell the tests where to find them */
export async function findSystemTools() {
  const sources = ['src', 'test']
    .flatMap((folder) => filesUnder(folder))
    .filter((path) => /\.test\.ts$|^test\/support\//.test(path))
    .map((path) => readFileSync(join(root, path), 'utf8'))
  const env = {}
  for (const tool of TOOLS.filter(({ usedIn }) => sources.some((text) => usedIn.test(text)))) {
    const path = (await working(tool)) ?? (await install(tool))
    if (path && tool.variable) env[tool.variable] = path
  }
  return env
}

async function working({ names, paths = [], version = '--version' }) {
  const path = findOnPath(...names) ?? paths.find(existsSync)
  if (!path) return undefined
  // On Ubuntu, chromium may be a stub that only prints how to install the snap.
  const { code } = await run(path, [version], { quiet: true, deadlineMs: 20_000 })
  return code === 0 ? path : undefined
}

/** @returns its path; undefined after a line that says why there is none */
async function install(tool) {
  const { without = 'the tests that need it are skipped' } = tool
  const missing = (why) => say(`${tool.title} was not found, and ${why}: ${without}`)
  const apt = findOnPath('apt-get')
  if (!apt) return missing('apt-get is not available to install it')
  if (process.getuid?.() !== 0) return missing(`only root can install it (apt-get install ${tool.package})`)
  say(`Installing ${tool.title} for the tests (apt-get install ${tool.package}) …`)
  const options = {
    quiet: true,
    deadlineMs: INSTALL_DEADLINE_MS,
    env: { DEBIAN_FRONTEND: 'noninteractive' },
  }
  const waitForLock = ['-q', '-o', 'DPkg::Lock::Timeout=300']
  await run(apt, [...waitForLock, 'update'], options) // may fail for one source; the install shows whether it matters
  const args = [...waitForLock, 'install', '-y', '--no-install-recommends', tool.package]
  const { code, output } = await run(apt, args, options)
  const path = code === 0 ? await working(tool) : undefined
  return path ?? missing(`apt-get could not install it (${output.trim().split('\n').at(-1)})`)
}
