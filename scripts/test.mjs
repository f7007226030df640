// npm test: prepares a new machine, then runs every test. Arguments are passed to vitest; the names of files select tests.
// --no-install  installs no system package; the tests that need one are skipped, with its name
// --quick       npm run test:quick: the tests without a service, a browser or other processes
import { judgeSkipped } from './allowed-skips.mjs'
import { fail, say } from './lib.mjs'
import { prepare } from './prepare.mjs'
import { runTests } from './report.mjs'
import { findSystemTools } from './system-tools.mjs'
import { filesFor, reasonItIsSlow } from './test-files.mjs'

const inCi = Boolean(process.env.CI)
const given = process.argv.slice(2)
const isQuick = given.includes('--quick')
const mayInstall = !isQuick && !given.includes('--no-install')
const own = given.filter((arg) => arg !== '--quick' && arg !== '--no-install')
/** With a name filter, vitest reports all other tests as skipped. */
const isFiltered = own.some((arg) => /^(-t|--testNamePattern)(=|$)/.test(arg))

const chosen = filesFor(own)
const files = isQuick ? chosen.filter((file) => reasonItIsSlow(file) === undefined) : chosen
if (isQuick && files.length === 0) fail('None of these tests is quick: see the list of npm run test:quick')
await prepare({ build: !isQuick })
const { env, missing } = await findSystemTools(files, mayInstall)
const args = isQuick ? [...own.filter((arg) => !chosen.some((file) => file.includes(arg))), ...files] : own
const { code, tests, broken } = await runTests(args, env)

const skipped = isFiltered
  ? { lines: [], unexpected: 0 }
  : judgeSkipped(tests, inCi, process.platform, missing)
for (const line of skipped.lines) console.log(line)
for (const file of broken) say(`${file}: could not be loaded; the reason is above`)
const count = (status) => tests.filter((test) => test.status === status).length
const failed = count('failed') + broken.length
if (code !== 0 && failed === 0) say(`vitest ended with exit code ${code}; the reason is above`)
console.log(`${count('passed')} passed, ${failed} failed, ${skipped.lines.length} skipped`)
if (isQuick) sayWhatIsLeftOut()
const isMissing = inCi && skipped.unexpected > 0
if (isMissing)
  console.log(`${skipped.unexpected} skipped tests must run in CI: see scripts/allowed-skips.mjs`)
process.exitCode = code === 0 && isMissing ? 1 : code

function sayWhatIsLeftOut() {
  const reasons = chosen.map(reasonItIsSlow).filter((why) => why !== undefined)
  const parts = [...new Set(reasons)].map(
    (why) => `${reasons.filter((each) => each === why).length} that ${why}`,
  )
  console.log(
    `${files.length} of ${chosen.length} files. Left out: ${parts.join(', ') || 'none'}. npm test runs all`,
  )
}
