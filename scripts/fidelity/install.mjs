// Installs packages once below node_modules/.cache. They are not dependencies, and none of their scripts runs.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, run, say } from '../lib.mjs'
import { findNpm } from '../prepare.mjs'

const CACHE = join(root, 'node_modules/.cache/fidelity')
const DEADLINE_MS = 5 * 60_000

/** @returns the folder that has the packages in its node_modules */
export async function installPackages(name, dependencies) {
  const versions = Object.values(dependencies).join('-')
  const folder = join(CACHE, `${name.replaceAll('/', '+')}-${versions}`)
  if (!existsSync(folder)) await install(folder, dependencies)
  return folder
}

/** Installs into a temporary folder and renames it, so that a folder with the right name is complete. */
async function install(folder, dependencies) {
  const npm = findNpm()
  if (!npm) throw new Error('npm was not found')
  const [command, ...before] = npm
  mkdirSync(CACHE, { recursive: true })
  const beside = mkdtempSync(join(CACHE, 'installing-'))
  try {
    const names = Object.entries(dependencies).map(([name, version]) => `${name} ${version}`)
    say(`Installing ${names.join(', ')} …`)
    writeFileSync(join(beside, 'package.json'), JSON.stringify({ private: true, dependencies }, null, 2))
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--engine-strict=false']
    // An explicit prefix: inside `npm run`, npm's environment variables point to the checkout.
    const args = [...before, 'install', '--prefix', beside, ...flags]
    const { code, output } = await run(command, args, { quiet: true, deadlineMs: DEADLINE_MS })
    if (code !== 0) throw new Error(`installation failed (${output.trim().split('\n').at(-1)})`)
    renameSync(beside, folder)
  } catch (error) {
    // If another run was first, it installed the same.
    if (!existsSync(folder)) throw error
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

/** The file of a package's program: the named one, the only one, or the one with the name of the package. */
export function programOf(folder, name, wanted) {
  const home = join(folder, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  if (typeof bin === 'string') return join(home, bin)
  const file = bin[wanted ?? name.split('/').at(-1)] ?? Object.values(bin)[0]
  return join(home, file)
}
