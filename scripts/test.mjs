// npm test: prepares a new machine, then runs every test. Arguments are passed to vitest.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findChromium } from './chromium.mjs'
import { runTool, say } from './lib.mjs'
import { prepare } from './prepare.mjs'

await prepare()
const chromium = await findChromium()
const env = chromium ? { TOOLROOM_CHROMIUM: chromium } : { TOOLROOM_NO_CHROMIUM: '1' }
const folder = mkdtempSync(join(tmpdir(), 'toolroom-test-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

const report = join(folder, 'report.json')
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
const { code } = await runTool('vitest', ['run', ...reporters, ...process.argv.slice(2)], { env })

const { passed, failed } = count()
if (code !== 0 && failed === 0) say(`vitest ended with exit code ${code}; the reason is above`)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = code

function count() {
  try {
    const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'))
    // A file that could not be loaded has no tests, and counts as one failure.
    const broken = testResults.filter(
      ({ status, assertionResults }) =>
        status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
    )
    return { passed: numPassedTests, failed: numFailedTests + broken.length }
  } catch {
    return { passed: 0, failed: code === 0 ? 0 : 1 } // vitest ended before it could report
  }
}
