// Checks the lock file: complete for every platform, independent of a registry, each dependency justified.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './lib.mjs'

const read = (path) => readFileSync(join(root, path), 'utf8')
const text = read('package-lock.json')
const lock = JSON.parse(text)
const problems = [
  ...(lock.lockfileVersion === 3 ? [] : [`lockfileVersion is ${lock.lockfileVersion}, not 3`]),
  ...missingPlatforms(),
  ...registryHosts(),
  ...unjustified(),
]
for (const problem of problems) console.log(problem)
process.exitCode = problems.length === 0 ? 0 : 1

/** npm drops an optional package that a registry lacks; then the next `npm ci` fails on that platform. */
function missingPlatforms() {
  return Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !placesFor(path, name).some((place) => place in lock.packages))
      .map((name) => `package-lock.json: ${path} names the optional package ${name}, which has no entry`),
  )
}

/** Where Node resolves a package that is required from `path`: its own node_modules, then each one above. */
function placesFor(path, name) {
  const parts = path.split('/node_modules/')
  const above = parts.map((_, depth) => parts.slice(0, depth + 1).join('/node_modules/'))
  return [`node_modules/${name}`, ...above.map((folder) => `${folder}/node_modules/${name}`)]
}

function registryHosts() {
  const count = text.match(/"resolved": "http/g)?.length ?? 0
  return count === 0 ? [] : [`package-lock.json: ${count} entries contain the host they were downloaded from`]
}

function unjustified() {
  const page = 'docs/dependencies.md'
  const lines = existsSync(join(root, page)) ? read(page).split('\n') : []
  const { dependencies, optionalDependencies, devDependencies } = JSON.parse(read('package.json'))
  return Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies })
    .filter((name) => !lines.some((line) => line.includes(`\`${name}\``)))
    .map((name) => `${page}: the dependency \`${name}\` has no line`)
}
