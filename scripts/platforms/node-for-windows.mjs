// A Node for Windows with npm beside it, as its installer leaves them. Both come from the registry that npm uses.
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { run, say } from '../lib.mjs'
import { findNpm } from '../prepare.mjs'

const NODE = '22'
const NPM = '10' // the one that comes with Node 22
const DEADLINE_MS = 10 * 60_000

/** @returns the folder; made by the first call */
export async function nodeForWindows(cache, arch) {
  const folder = join(cache, `node-${NODE}-win-${arch}`)
  if (existsSync(folder)) return folder
  say(`Downloading Node ${NODE} for Windows on ${arch} …`)
  const [command, ...before] = findNpm() ?? []
  if (!command) throw new Error('npm was not found')
  const made = mkdtempSync(`${folder}.new-`)
  try {
    const options = ['--force', '--ignore-scripts', '--no-audit', '--no-fund', `--prefix=${made}`]
    const { code, output } = await run(
      command,
      [...before, 'install', `node-win-${arch}@${NODE}`, `npm@${NPM}`, ...options],
      { quiet: true, deadlineMs: DEADLINE_MS },
    )
    if (code !== 0) throw new Error(`Node for Windows was not installed:\n${output.slice(-2000)}`)
    const modules = join(made, 'node_modules')
    renameSync(join(modules, `node-win-${arch}`, 'bin', 'node.exe'), join(made, 'node.exe'))
    for (const name of ['npm', 'npx', 'npm.cmd', 'npx.cmd'])
      copyFileSync(join(modules, 'npm', 'bin', name), join(made, name))
    for (const name of [`node-win-${arch}`, '.bin', '.package-lock.json'])
      rmSync(join(modules, name), { recursive: true, force: true })
    renameSync(made, folder)
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
  return folder
}
