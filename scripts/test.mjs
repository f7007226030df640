// npm test: prepares a new machine, then runs every test. Arguments are passed to vitest.
import { judgeSkipped } from './allowed-skips.mjs'
import { say } from './lib.mjs'
import { prepare } from './prepare.mjs'
import { runTests } from './report.mjs'
import { findSystemTools } from './system-tools.mjs'

const inCi = Boolean(process.env.CI)
const args = process.argv.slice(2)
/** With a name filter, vitest reports all other tests as skipped. */
const isFiltered = args.some((arg) => /^(-t|--testNamePattern)(=|$)/.test(arg))

await prepare()
const { code, tests, broken } = await runTests(args, await findSystemTools())

const skipped = isFiltered ? { lines: [], unexpected: 0 } : judgeSkipped(tests, inCi)
for (const line of skipped.lines) console.log(line)
for (const file of broken) say(`${file}: could not be loaded; the reason is above`)
const count = (status) => tests.filter((test) => test.status === status).length
const failed = count('failed') + broken.length
if (code !== 0 && failed === 0) say(`vitest ended with exit code ${code}; the reason is above`)
console.log(`${count('passed')} passed, ${failed} failed, ${skipped.lines.length} skipped`)
const isMissing = inCi && skipped.unexpected > 0
if (isMissing)
  console.log(`${skipped.unexpected} skipped tests must run in CI: see scripts/allowed-skips.mjs`)
process.exitCode = code === 0 && isMissing ? 1 : code
