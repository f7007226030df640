// A copy of the files that git knows or does not ignore, as a clone has them, with the packages for Windows.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { hashFiles, root, run, say } from '../lib.mjs'
import { findNpm } from '../prepare.mjs'

const INSTALL_DEADLINE_MS = 15 * 60_000
/** On the drive C: of Wine. */
const ON_WINDOWS = /^c:[\\/]toolroom[\\/]/i

/**
 * @param withBuild a clone has none; the files of a build are the same on every system
 * @returns the folder, and how paths in a report of it are read
 */
export async function makeCheckout(cache, arch, withBuild) {
  const folder = join(cache, 'checkout')
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder))
    if (name !== 'node_modules') rmSync(join(folder, name), { recursive: true, force: true })
  const { output } = await run('git', ['ls-files', '-z', '-co', '--exclude-standard'], { quiet: true })
  for (const file of output.split('\0').filter((name) => name !== '' && name !== 'node_modules')) {
    if (!existsSync(join(root, file))) continue // deleted, but not committed
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(root, file), join(folder, file))
  }
  if (withBuild) cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true })
  await installPackages(folder, arch)
  return {
    folder,
    pathOf: (name) => join(folder, name),
    asRelative: (path) => path.replace(ON_WINDOWS, '').replaceAll('\\', '/'),
  }
}

/** npm runs on this machine: Wine has no junctions, which npm needs for workspaces. */
async function installPackages(folder, arch) {
  const stamp = join(folder, 'node_modules/.for-windows')
  const wanted = `${arch} ${hashFiles(['package-lock.json', 'package.json'])}`
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  say('Installing the packages for Windows …')
  const [command, ...before] = findNpm() ?? []
  if (!command) throw new Error('npm was not found')
  const args = [
    'ci',
    `--prefix=${folder}`,
    '--os=win32',
    `--cpu=${arch}`,
    '--include=dev',
    '--include=optional',
  ]
  const { code, output } = await run(
    command,
    [...before, ...args, '--ignore-scripts', '--no-audit', '--no-fund'],
    { quiet: true, deadlineMs: INSTALL_DEADLINE_MS },
  )
  if (code !== 0) throw new Error(`The packages were not installed:\n${output.slice(-2000)}`)
  writeFileSync(stamp, wanted)
}
