// npm run check: all checks besides the tests. Every check runs, even after a failure.
import { join } from 'node:path'
import { root, run, runTool, seconds } from './lib.mjs'
import { prepare } from './prepare.mjs'

const quiet = { quiet: true }
const script = (name) => run(process.execPath, [join(root, 'scripts', name)], quiet)
const CHECKS = {
  'format and lint': () => runTool('biome', ['check', '--error-on-warnings', '.'], quiet),
  types: () => checkTypes(),
  architecture: () => runTool('vitest', ['run', 'test/architecture.test.ts'], quiet),
  'unused code': () => runTool('knip', ['--no-progress'], quiet),
  'lock file': () => script('check-lock.mjs'),
  words: () => script('check-words.mjs'),
  // Warns and does not fail: the results of real agents can be renewed only on a machine that can install them. A release fails.
  'verified clients': () => script('check-results.mjs'),
}

/** The types of the API, which the command line and the dashboard use, come from the built service: it is built first. */
async function checkTypes() {
  let last = await script('api-types.mjs')
  for (const project of ['.', 'web', 'test/web'])
    if (last.code === 0) last = await runTool('tsc', ['-p', project], quiet)
  return last
}

await prepare({ build: false })
const rows = []
for (const [name, check] of Object.entries(CHECKS)) {
  const { code, output, ms } = await check()
  const warns = code === 0 && name === 'verified clients' && output !== ''
  if (code !== 0 || warns) console.log(`\n${name}\n${output.trimEnd()}\n`)
  rows.push({ name, state: code !== 0 ? 'FAILED' : warns ? 'warns' : 'ok', ms })
}

console.log()
for (const { name, state, ms } of rows) {
  console.log(`${state.padEnd(6)}  ${name.padEnd(16)} ${seconds(ms).padStart(7)}`)
}
process.exitCode = rows.some(({ state }) => state === 'FAILED') ? 1 : 0
