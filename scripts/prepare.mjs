// Installs the packages and builds dist. Does nothing when both are up to date.
import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fail, filesUnder, findOnPath, hashFiles, root, run, say } from './lib.mjs'
import { withLock } from './lock.mjs'

const STAMP = join(root, 'node_modules/.toolroom-installed')
const INSTALL_DEADLINE_MS = 15 * 60_000
const BUILD_DEADLINE_MS = 5 * 60_000

export async function prepare({ build = true } = {}) {
  const ready = () => isInstalled() && (!build || isBuilt())
  if (ready()) return
  await withLock(async (onSpawn) => {
    if (!isInstalled()) await install(onSpawn)
    if (build && !isBuilt()) await runBuild(onSpawn)
  })
}

/** Builds for `npm run dev`, which continues after a failed build and handles signals itself. */
export async function rebuild() {
  const options = { quiet: true, deadlineMs: BUILD_DEADLINE_MS, signals: [] }
  return withLock((onSpawn) => run(process.execPath, [BUILD], { ...options, onSpawn }))
}

// Installing

function isInstalled() {
  const wanted = installStamp()
  const found = readOr(STAMP, '')
  if (found === wanted) return true
  // npm was run by hand. Packages installed on another machine or by another Node are never accepted.
  const sameMachine = found === '' || found.split('\n')[0] === machine()
  if (!sameMachine || !isInstalledByHand()) return false
  keepStamp(wanted)
  return true
}

async function install(onSpawn) {
  if (lstatSync(join(root, 'node_modules'), { throwIfNoEntry: false })?.isSymbolicLink())
    fail('Cannot install packages: node_modules is a link, and npm would delete what it points to')
  const npm = findNpm()
  if (!npm) fail('Cannot install packages: npm was not found. Install npm, which comes with Node')
  say(`Installing packages (${reasonToInstall()}) …`)
  // The build needs the dev packages, even if NODE_ENV=production or npm's settings omit them.
  const args = ['ci', '--no-audit', '--no-fund', '--include=dev', '--include=optional']
  const [command, ...before] = npm
  const { code, output } = await run(command, [...before, ...args], {
    quiet: true,
    deadlineMs: INSTALL_DEADLINE_MS,
    onSpawn,
  })
  if (code !== 0) fail(`${output.trimEnd()}\nInstalling packages failed; npm's output is above`)
  keepStamp(installStamp())
}

function reasonToInstall() {
  const found = readOr(STAMP, '')
  if (found === '') return 'first start'
  return found.split('\n')[0] === machine() ? 'dependencies changed' : 'other Node or system'
}

function installStamp() {
  return `${machine()}\n${hashFiles(['package-lock.json', 'package.json'])}`
}

function machine() {
  const major = process.versions.node.split('.')[0]
  return `node${major} abi${process.versions.modules} ${process.platform} ${process.arch} ${libc()}`
}

function libc() {
  if (process.platform !== 'linux') return '-'
  // process.report contains it too, but does network lookups first and may take seconds.
  return readOr('/proc/self/maps', '').includes('musl') ? 'musl' : 'glibc'
}

/** npm writes its hidden lock file at the end of an install, so its contents are complete. */
function isInstalledByHand() {
  const installed = packagesOf('node_modules/.package-lock.json')
  const locked = packagesOf('package-lock.json')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  if (!installed || !locked) return false
  const { '': top, ...packages } = locked
  const sameNames = ['dependencies', 'optionalDependencies', 'devDependencies'].every(
    (kind) => JSON.stringify(manifest[kind]) === JSON.stringify(top?.[kind]),
  )
  const wanted = Object.entries(packages).filter(([, entry]) => isForThisMachine(entry))
  return (
    sameNames &&
    wanted.every(
      ([path, { version }]) => installed[path]?.version === version && existsSync(join(root, path)),
    )
  )
}

function isForThisMachine({ optional, os, cpu, libc: libcs }) {
  if (optional && !os && !cpu) return false // part of another optional package, which decides
  const allows = (list, value) =>
    !list ||
    list.includes(value) ||
    (list.every((item) => item.startsWith('!')) && !list.includes(`!${value}`))
  return allows(os, process.platform) && allows(cpu, process.arch) && allows(libcs, libc())
}

function packagesOf(path) {
  try {
    return JSON.parse(readFileSync(join(root, path), 'utf8')).packages
  } catch {
    return undefined // absent or incomplete: npm reports more when it runs
  }
}

/** The npm that started this script, the one on PATH, or the one that came with this Node; as the start of a command. */
export function findNpm() {
  const bin = dirname(process.execPath)
  const scripts = [
    /npm-cli\.js$/.test(process.env.npm_execpath ?? '') ? process.env.npm_execpath : '',
    join(bin, '../lib/node_modules/npm/bin/npm-cli.js'),
    join(bin, 'node_modules/npm/bin/npm-cli.js'),
  ]
  const script = scripts.find((path) => path && existsSync(path))
  if (script) return [process.execPath, script]
  const onPath = process.platform === 'win32' ? undefined : findOnPath('npm')
  return onPath ? [onPath] : undefined
}

function keepStamp(text) {
  try {
    writeFileSync(STAMP, text)
  } catch {
    // The checkout is read-only: the next start checks again, which takes milliseconds.
  }
}

// Building

const BUILD = join(root, 'scripts/build.mjs')

function isBuilt() {
  const entries = ['main.js', 'web/index.html']
  if (!entries.every((file) => existsSync(join(root, 'dist', file)))) return false
  return JSON.stringify(readBuilt()?.hashes) === JSON.stringify(buildHashes())
}

async function runBuild(onSpawn) {
  say('Building …')
  const options = { quiet: true, deadlineMs: BUILD_DEADLINE_MS, onSpawn }
  const { code, output } = await run(process.execPath, [BUILD], options)
  if (code !== 0) fail(`${output.trimEnd()}\nThe build failed; the reason is above`)
}

const DOCS_SCRIPTS = ['scripts/build-docs.mjs', 'scripts/markdown.mjs']

/** Based on contents: a checkout, a copy or a branch switch changes file times without changing the build. */
export function buildHashes() {
  const shared = ['scripts/build.mjs', 'package-lock.json', 'package.json']
  const isSource = (path) => !path.endsWith('.test.ts') && !path.startsWith('web/generated/')
  const service = [...filesUnder('src').filter(isSource), 'tsconfig.json']
  const web = [
    ...filesUnder('web').filter(isSource),
    ...filesUnder('src/api/client'),
    'scripts/build-web.mjs',
  ]
  const docs = [...filesUnder('docs').filter((path) => path.endsWith('.md')), ...DOCS_SCRIPTS]
  return {
    service: hashFiles([...service, ...shared]),
    web: hashFiles([...web, ...shared]),
    docs: hashFiles([...docs, ...shared]),
  }
}

/** The hashes and the files of the last finished build. */
export function readBuilt() {
  try {
    return JSON.parse(readFileSync(join(root, 'dist/.built'), 'utf8'))
  } catch {
    return undefined // never built, or interrupted: build again
  }
}

function readOr(path, otherwise) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return otherwise
  }
}
