// Programs that tests use and npm does not have: the installed ones, or Debian's packages when running as root.
// CONTRIBUTING.md lists them.
import { existsSync } from 'node:fs'
import { findOnPath, run, say } from './lib.mjs'
import { sourcesOf, testFiles } from './test-files.mjs'

const INSTALL_DEADLINE_MS = 10 * 60_000

/** `usedIn` matches the source of the test files that need the program. It is not looked for when there is none. */
const TOOLS = [
  {
    title: 'Chromium',
    names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    paths: ['/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'],
    package: 'chromium',
    usedFor: 'the tests of the dashboard in a browser',
    usedIn: /playwright-core/,
    variable: 'TOOLROOM_CHROMIUM',
  },
  {
    title: 'Chromium without windows',
    names: ['chromium-headless-shell'],
    package: 'chromium-headless-shell',
    usedFor: 'a faster start of the browser',
    usedIn: /playwright-core/,
    variable: 'TOOLROOM_HEADLESS_CHROMIUM',
    without: 'the tests use Chromium, which takes longer',
  },
  {
    title: 'promtool',
    names: ['promtool'],
    package: 'prometheus',
    usedFor: "the check of the metrics with Prometheus's own parser",
    usedIn: /promtool/,
  },
  {
    title: 'strace',
    names: ['strace'],
    package: 'strace',
    usedFor: 'the goal about power loss, which counts writes to the disk',
    usedIn: /'strace'/,
  },
  {
    title: 'faketime',
    names: ['faketime'],
    package: 'faketime',
    usedFor: 'the goal about jumps of the clock',
    usedIn: /faketime/,
  },
  {
    title: 'bubblewrap',
    names: ['bwrap'],
    package: 'bubblewrap',
    usedFor: 'the tests of the sandbox',
    usedIn: /bwrap/,
  },
  {
    title: 'Docker',
    names: ['dockerd'],
    package: 'docker.io',
    usedFor: 'the tests of servers in containers',
    usedIn: /dockerd/,
  },
  {
    title: 'Podman',
    names: ['podman'],
    package: 'podman',
    usedFor: 'the tests of servers in containers',
    usedIn: /'podman'/,
  },
  {
    title: 'tmux',
    names: ['tmux'],
    package: 'tmux',
    usedFor: 'the tests of the command line in a terminal',
    usedIn: /openTerminal/,
    version: '-V',
  },
]

/** The tools that some of these test files need. Those of the scripts only mention them. */
export function toolsFor(files) {
  const texts = new Set(files.filter((file) => !file.startsWith('scripts/')).flatMap(sourcesOf))
  return TOOLS.filter(({ usedIn }) => [...texts].some((text) => usedIn.test(text)))
}

/**
 * Looks for the programs that these test files need and installs the others, unless `mayInstall` is false.
 * @returns the variables that tell the tests where to find them, and the packages that are missing
 */
export async function findSystemTools(files = testFiles(), mayInstall = true) {
  const env = {}
  const missing = []
  for (const tool of toolsFor(files)) {
    const path = (await working(tool)) ?? (mayInstall ? await install(tool) : undefined)
    if (path && tool.variable) env[tool.variable] = path
    if (!path) missing.push(tool.package)
  }
  return { env, missing }
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
  say(
    `Installing ${tool.title} (apt-get install ${tool.package}) for ${tool.usedFor}; --no-install skips them …`,
  )
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
