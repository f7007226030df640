// npm run platforms: the tests of processes and files on the three systems, all on this machine. Linux runs here, the
// code for macOS runs here with this machine's `ps`, and Windows is Wine with a Node for Windows: see docs/platforms.md.
import { judgeSkipped } from './allowed-skips.mjs'
import { fail, say, seconds } from './lib.mjs'
import { makeCheckout } from './platforms/checkout.mjs'
import { chosenSuites } from './platforms/suites.mjs'
import { openWine } from './platforms/wine.mjs'
import { prepare } from './prepare.mjs'
import { readReport, runTests } from './report.mjs'

const VITEST = ['node_modules/vitest/vitest.mjs', 'run', '--config=test/platforms/vitest.config.ts']
/** Wine starts a process in about a second. */
const UNDER_WINE_DEADLINE_MS = 90 * 60_000

const suites = chosenSuites(process.argv.slice(2))
if (suites.length === 0) fail('Usage: npm run platforms [linux] [darwin] [windows] [windows-start]')

await prepare()
const rows = []
let wine
for (const suite of suites) {
  const startedAt = performance.now()
  say(`\n${suite.name}: ${suite.title}`)
  const { tests, broken } = suite.onWindows ? await underWine(suite) : await here(suite)
  rows.push({ suite, tests, broken, ms: performance.now() - startedAt })
}
report()

async function here({ files, env = {} }) {
  return runTests(['--config=test/platforms/vitest.config.ts', ...files], env)
}

async function underWine({ files, name, isClone = false }) {
  wine ??= await openWine().catch((error) => fail(`Windows cannot be tested here: ${error.message}`))
  const checkout = await makeCheckout(wine.folder, wine.arch, !isClone)
  const report = `platforms-${name}.json`
  const { code, output } = await wine.run(
    [
      'node',
      ...VITEST,
      ...files,
      ...(isClone ? ['--no-file-parallelism'] : []),
      '--no-color',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ],
    { checkout: checkout.folder, deadlineMs: UNDER_WINE_DEADLINE_MS },
  )
  console.log(output.trimEnd())
  return readReport(checkout.pathOf(report), code, checkout.asRelative)
}

function report() {
  const count = (tests, status) => tests.filter((test) => test.status === status).length
  console.log(
    `\n${'suite'.padEnd(14)} ${'passed'.padStart(6)} ${'failed'.padStart(6)} ${'skipped'.padStart(7)}`,
  )
  let isFailed = false
  const lines = []
  for (const { suite, tests, broken, ms } of rows) {
    const skipped = judgeSkipped(tests, true, suite.system)
    const failed = count(tests, 'failed') + broken.length
    const passed = count(tests, 'passed')
    lines.push(...skipped.lines.map((line) => `${suite.name}: ${line}`))
    lines.push(...broken.map((file) => `${suite.name}: ${file} could not be loaded`))
    isFailed ||= failed > 0 || passed === 0 || skipped.unexpected > 0
    const numbers = [passed, failed, skipped.lines.length].map((n, at) =>
      String(n).padStart(at === 2 ? 7 : 6),
    )
    console.log(`${suite.name.padEnd(14)} ${numbers.join(' ')}   ${seconds(ms)}`)
  }
  for (const line of lines) console.log(line)
  process.exitCode = isFailed ? 1 : 0
}
