// Shared by all scripts. Node built-ins only, because these files run before node_modules exists.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { outsideEnv } from './outside-env.mjs'

export const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')

/** Progress goes to stderr; stdout is reserved for the service's line with the address. */
export const say = (line) => process.stderr.write(`${line}\n`)

export function fail(line, exitCode = 1) {
  say(line)
  process.exit(exitCode)
}

/**
 * Runs a program to its end. `quiet` collects its output for the caller; otherwise it is inherited.
 * A signal to this process is passed on to the program first, so that no child keeps working on the checkout; as
 * `killSignal` for a program that ignores others.
 * @returns {Promise<{ code: number, output: string, ms: number }>}
 */
export function run(command, args, options = {}) {
  const { quiet = false, env = {}, deadlineMs, onSpawn, signals = SIGNALS, killSignal } = options
  return new Promise((done) => {
    const startedAt = performance.now()
    const output = []
    let received
    const child = spawn(command, args, {
      cwd: root,
      env: { ...outsideEnv(), ...env },
      stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
      timeout: deadlineMs,
      killSignal,
    })
    const pass = (signal) => {
      received = signal
      child.kill(killSignal ?? signal)
    }
    const end = (code, signal) => {
      for (const name of signals) process.off(name, pass)
      if (received) process.exit(128 + constants.signals[received])
      if (signal) output.push(`${command} was ended by ${signal}\n`)
      const ms = performance.now() - startedAt
      done({ code: code ?? 1, output: output.join(''), ms })
    }
    for (const name of signals) process.on(name, pass)
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => output.push(text))
    }
    child.on('error', (error) => {
      output.push(`${error.message}\n`)
      if (child.pid === undefined) end(127)
    })
    child.on('close', end)
    if (child.pid !== undefined) onSpawn?.(child.pid)
  })
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

/** Runs the command line tool of an installed package by path: no shell and no npx, also on Windows. */
export function runTool(name, args, options) {
  return run(process.execPath, [join(root, 'node_modules', TOOLS[name]), ...args], options)
}

const TOOLS = {
  biome: '@biomejs/biome/bin/biome',
  knip: 'knip/bin/knip.js',
  tsc: 'ts7/bin/tsc',
  vitest: 'vitest/vitest.mjs',
}

/** The full path of the first program found on PATH, or undefined. */
export function findOnPath(...names) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync)
}

/** Every file below a folder, as paths from the root with forward slashes, sorted. */
export function filesUnder(folder) {
  const start = join(root, folder)
  if (!existsSync(start)) return []
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)).replaceAll(sep, '/'))
    .sort()
}

/** One hash over names and contents. A missing file is part of the hash, not an error. */
export function hashFiles(paths, ...extra) {
  const hash = createHash('sha256')
  for (const text of extra) hash.update(`${text}\0`)
  for (const path of paths) {
    const full = join(root, path)
    hash.update(`${path}\0`)
    if (!existsSync(full)) continue
    const content = readFileSync(full)
    hash.update(`${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

/** The folders of the packages whose modules are in some chunks of a bundle, from the root. */
export function packagesOf(chunks) {
  const ids = chunks.flatMap(({ moduleIds = [] }) => moduleIds)
  const folders = ids.map((id) => /node_modules\/(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(id)?.[0])
  return [...new Set(folders.filter(Boolean))].sort()
}

export const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`

/** Lines of cells as text in columns. The last column is not filled up. */
export function alignedTable(lines) {
  const widths = lines[0]
    .slice(0, -1)
    .map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const text = (line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return lines.map((line) => text(line).trimEnd()).join('\n')
}
