// npm run check: all checks besides the tests. Every check runs, even after a failure.
import { join } from 'node:path'
import { root, run, runTool, seconds } from './lib.mjs'
import { prepare } from './prepare.mjs'

const quiet = { quiet: true }
const script = (name) => run(process.execPath, [join(root, 'scripts', name)], quiet)
const CHECKS = {
  'format and lint': () => runTool('biome', ['check', '--error-on-warnings', '.'], quiet),
  types: () => runTool('tsc', ['-p', '.'], quiet),
  architecture: () => runTool('vitest', ['run', 'test/architecture.test.ts'], quiet),
  'unused code': () => runTool('knip', ['--no-progress'], quiet),
  'lock file': () => script('check-lock.mjs'),
  words: () => script('check-words.mjs'),
}

await prepare({ build: false })
const rows = []
for (const [name, check] of Object.entries(CHECKS)) {
  const { code, output, ms } = await check()
  if (code !== 0) console.log(`\n${name}\n${output.trimEnd()}\n`)
  rows.push({ name, code, ms })
}

console.log()
for (const { name, code, ms } of rows) {
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'}  ${name.padEnd(16)} ${seconds(ms).padStart(7)}`)
}
process.exitCode = rows.some(({ code }) => code !== 0) ? 1 : 0
