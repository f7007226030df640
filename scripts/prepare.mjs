// Brings a checkout to where it can run: packages installed, dist built. Does nothing when both are.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
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

/** Builds for `npm run dev`, which lives on after a failed build and has its own answer to signals. */
export async function rebuild() {
  const options = { quiet: true, deadlineMs: BUILD_DEADLINE_MS, signals: [] }
  return withLock((onSpawn) => run(process.execPath, [BUILD], { ...options, onSpawn }))
}

// Installing

function isInstalled() {
  const wanted = installStamp()
  const found = readOr(STAMP, '')
  if (found === wanted) return true
  // Somebody ran npm themselves. Packages of another machine or another Node are never taken over.
  const sameMachine = found === '' || found.split('\n')[0] === machine()
  if (!sameMachine || !isInstalledByHand()) return false
  keepStamp(wanted)
  return true
}

async function install(onSpawn) {
  const npm = findNpm()
  if (!npm) fail('npm was not found, and packages must be installed first: install npm (it comes with Node)')
  say(`Installing packages (${reasonToInstall()}) …`)
  // The build needs the dev packages, also where NODE_ENV=production or npm's own settings leave them out.
  const args = ['ci', '--no-audit', '--no-fund', '--include=dev', '--include=optional']
  const [command, ...before] = npm
  const { code, output } = await run(command, [...before, ...args], {
    quiet: true,
    deadlineMs: INSTALL_DEADLINE_MS,
    onSpawn,
  })
  if (code !== 0) fail(`${output.trimEnd()}\nInstalling packages failed; npm's answer is above`)
  keepStamp(installStamp())
}

function reasonToInstall() {
  const found = readOr(STAMP, '')
  if (found === '') return 'first start'
  return found.split('\n')[0] === machine() ? 'they changed' : 'for this Node and system'
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
  // process.report says it too, but asks the network first and may take seconds.
  return readOr('/proc/self/maps', '').includes('musl') ? 'musl' : 'glibc'
}

/** npm writes its hidden lock at the end of an install: what it names was complete. */
function isInstalledByHand() {
  const installed = packagesOf('node_modules/.package-lock.json')
  const locked = packagesOf('package-lock.json')
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  if (!installed || !locked) return false
  const { '': top, ...packages } = locked
  const sameNames = ['dependencies', 'devDependencies'].every(
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
  if (optional && !os && !cpu) return false // it comes with another optional package, which decides
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
    return undefined // absent or half written: npm will say more when it runs
  }
}

/** The npm that started us, the one on PATH, or the one that came with this Node; as the start of a command. */
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
    // A checkout we may only read: the next start looks again, which costs milliseconds.
  }
}

// Building

const BUILD = join(root, 'scripts/build.mjs')

function isBuilt() {
  return existsSync(join(root, 'dist/main.js')) && readBuilt()?.hash === buildHash()
}

async function runBuild(onSpawn) {
  say('Building …')
  const options = { quiet: true, deadlineMs: BUILD_DEADLINE_MS, onSpawn }
  const { code, output } = await run(process.execPath, [BUILD], options)
  if (code !== 0) fail(`${output.trimEnd()}\nThe build failed; the reason is above`)
}

/** By contents: a checkout, a copy or a branch switch changes times without changing what is built. */
export function buildHash() {
  const sources = filesUnder('src').filter((path) => !path.endsWith('.test.ts'))
  const others = ['scripts/build.mjs', 'package-lock.json', 'package.json', 'tsconfig.json']
  return hashFiles([...sources, ...others])
}

/** What the last finished build wrote about itself: its hash and its files. */
export function readBuilt() {
  try {
    return JSON.parse(readFileSync(join(root, 'dist/.built'), 'utf8'))
  } catch {
    return undefined // never built, or stopped in the middle: either way it is built again
  }
}

function readOr(path, otherwise) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return otherwise
  }
}
