// npm test: prepares a new machine, then runs every test. Arguments are passed to vitest.
import { reasonToSkip } from './allowed-skips.mjs'
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

const unexpected = isFiltered ? [] : printSkipped()
for (const file of broken) say(`${file}: could not be loaded; the reason is above`)
const count = (status) => tests.filter((test) => test.status === status).length
const failed = count('failed') + broken.length
if (code !== 0 && failed === 0) say(`vitest ended with exit code ${code}; the reason is above`)
const skipped = isFiltered ? '' : `, ${tests.length - count('passed') - count('failed')} skipped`
console.log(`${count('passed')} passed, ${failed} failed${skipped}`)
if (unexpected.length > 0 && inCi)
  console.log(`${unexpected.length} skipped tests are expected to run in CI: see scripts/allowed-skips.mjs`)
process.exitCode = code !== 0 ? code : unexpected.length > 0 && inCi ? 1 : 0

/** Prints each skipped test with the reason. @returns those without one */
function printSkipped() {
  const skipped = tests.filter(({ status }) => status !== 'passed' && status !== 'failed')
  const judged = skipped.map((test) => ({ ...test, why: reasonToSkip(test, inCi) }))
  for (const { file, name, why } of judged)
    console.log(`skipped  ${file} > ${name}: ${why ?? 'no reason is known'}`)
  return judged.filter(({ why }) => why === undefined)
}
