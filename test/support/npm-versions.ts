import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, join } from 'node:path'
import { outsideEnv } from '../../scripts/outside-env.mjs'
import { findNpm } from '../../scripts/prepare.mjs'
import { npmEnvironment } from '../../src/servers/packages/npm-install.ts'

/** npm as Node 20 ships it, which lacks the `--allow-…` options, and one that has them. */
export const NPMS = ['10.8.2', '11.19.1'] as const

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/toolroom')
const DIGESTS: Readonly<Record<Version, string>> = {
  '10.8.2': 'sha512-x/AIjFIKRllrhcb48dqUNAAZl0ig9+qMuN91RpZo3Cb2+zuibfh+KISl6+kVVyktDz230JKc208UkQwwMqyB+w==',
  '11.19.1':
    'sha512-ztsxKxt/kkIaAs+2i0GU6I+DRmUdrNasxTZKJe9TCdSjKxlhah/4r/hl5ygMD6XAg1qZ9c2TNomR4qgOydp10g==',
}

/** A batch file as npm writes it for a program of a package. */
const SHIM = '@node "%~dp0\\..\\node_modules\\npm\\bin\\npm-cli.js" %*\r\n'

type Version = (typeof NPMS)[number]

/** A PATH on which `npm` is this version. */
export const pathWithNpm = (version: Version): string =>
  [join(npmFolder(version), '../../bin'), process.env.PATH].join(delimiter)

/**
 * The folder of this version of npm. It is downloaded once, by the npm of this machine, and kept in node_modules. As a
 * development package it would cost every first `npm start` 35 MB, and take the place of the npm that runs `npm test`.
 */
export function npmFolder(version: Version): string {
  const folder = join(CACHE, `npm-${version}`)
  if (!existsSync(folder)) download(version, folder)
  return join(folder, 'node_modules/npm')
}

function download(version: Version, folder: string): void {
  mkdirSync(CACHE, { recursive: true })
  const temp = mkdtempSync(join(CACHE, 'new-'))
  try {
    writeFileSync(join(temp, 'package.json'), JSON.stringify({ dependencies: { npm: version } }))
    const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund']
    const [command = 'npm', ...before] = findNpm() ?? []
    const env = npmEnvironment(outsideEnv())
    execFileSync(command, [...before, ...args], { cwd: temp, stdio: 'pipe', env })
    const lock = JSON.parse(readFileSync(join(temp, 'package-lock.json'), 'utf8'))
    const { integrity } = lock.packages['node_modules/npm']
    if (integrity !== DIGESTS[version]) throw new Error(`npm ${version} has the digest ${integrity}`)
    mkdirSync(join(temp, 'bin'))
    if (process.platform === 'win32') writeFileSync(join(temp, 'bin/npm.cmd'), SHIM)
    else symlinkSync('../node_modules/npm/bin/npm-cli.js', join(temp, 'bin/npm'))
    if (!existsSync(folder)) renameSync(temp, folder)
  } finally {
    rmSync(temp, { recursive: true, force: true })
  }
}
