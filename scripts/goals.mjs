// npm run goals: the reliability goals at full length, and a table of their figures. `npm test` runs a short version of the
// same files. Needs a machine that does nothing else, for about an hour; with --night, some goals run for hours. Other
// arguments are passed to vitest; a file name selects its goals.
import { judgeSkipped } from './allowed-skips.mjs'
import { GOALS, goalsIn, scriptsOfGoals } from './goal-list.mjs'
import { prepare } from './prepare.mjs'
import { runTests } from './report.mjs'
import { findSystemTools } from './system-tools.mjs'
import { ownSourceOf, testFiles } from './test-files.mjs'

const PATIENCE_MS = 30 * 60_000
/**
 * Beside the goals: every test with a long form, such as property tests with more cases than `npm test` tries, every command
 * without a service, the service under a real systemd, and the checks of the dashboard with times in milliseconds.
 */
const alsoLong = () => testFiles().filter((file) => /full-or-short\.ts'/.test(ownSourceOf(file)))
const ALSO = ['test/goals', 'test/cli', 'test/web']

await prepare()
const scripts = scriptsOfGoals()
const filesOfGoals = [...scripts.values()].flat()
const given = process.argv.slice(2).filter((arg) => arg !== '--night')
const { env } = await findSystemTools()
const form = { ...env, TOOLROOM_GOALS: process.argv.includes('--night') ? 'night' : 'full' }
const limits = [`--testTimeout=${PATIENCE_MS}`, `--hookTimeout=${PATIENCE_MS}`]
const alone = [...limits, '--no-file-parallelism', ...given]
const rounds = given.some((arg) => !arg.startsWith('-'))
  ? [await runTests(alone, form, true)]
  : await runAll()
const tests = rounds.flatMap((round) => round.tests)
const figures = rounds.flatMap((round) => round.figures)

const rows = Object.keys(GOALS).flatMap(rowsOf)
print([['Goal', 'Promise', 'Script', 'Figure', 'Measured', 'Limit', 'Result'], ...rows])
process.exitCode = rounds.find(({ code }) => code !== 0)?.code ?? (isIncomplete() ? 1 : 0)

/** Those that only have more cases run beside each other, as in `npm test`; the goals and the dashboard one by one. */
async function runAll() {
  const all = testFilesIn([...ALSO, ...alsoLong(), ...filesOfGoals])
  const isMeasured = (file) => /^test\/(?:goals|web)\//.test(file) || filesOfGoals.includes(file)
  return [
    await runTests([...all.filter((file) => !isMeasured(file)), ...limits, ...given], form),
    await runTests([...all.filter(isMeasured), ...alone], form, true),
  ]
}

/** The test files with these names, or in these folders. */
function testFilesIn(paths) {
  return testFiles().filter((file) => paths.some((path) => file === path || file.startsWith(`${path}/`)))
}

/** In CI, a goal without a test that passed is a failure, and so is a skipped test that a new machine can run. */
function isIncomplete() {
  if (!process.env.CI || given.some((arg) => !arg.startsWith('-'))) return false
  const isProven = (goal) => testsOf(goal).some(({ status }) => status === 'passed')
  const { lines, unexpected } = judgeSkipped(tests, true)
  for (const line of lines) console.log(line)
  return unexpected > 0 || !Object.keys(GOALS).every(isProven)
}

/** One row per figure; a goal without figures has one row with the number of its tests. */
function rowsOf(goal) {
  const own = testsOf(goal)
  const head = (n) => (n === 0 ? [goal, GOALS[goal], scriptNames(goal)] : ['', '', ''])
  const measured = figures.filter((figure) => figure.goal === goal)
  if (scriptNames(goal) === '') return [[goal, GOALS[goal], 'NONE', '', '', '', 'NO SCRIPT']]
  if (own.length === 0) return [[...head(0), '', '', '', 'not run']]
  const passed = own.filter(({ status }) => status === 'passed').length
  const summary = ['tests that passed', String(passed), `exactly ${own.length}`, resultOf(own)]
  const cells = measured.map(({ what, is, limit, ok }) => [what, String(is), limit, ok ? 'pass' : 'FAIL'])
  return [summary, ...cells].map((cell, n) => [...head(n), ...cell])
}

/** The tests with the goal in their title; if a file has none, all of its tests. */
function testsOf(goal) {
  return (scripts.get(goal) ?? []).flatMap((file) => {
    const all = tests.filter((test) => test.file === file)
    const titled = all.filter(({ name }) => goalsIn(name).includes(goal))
    return titled.length > 0 ? titled : all
  })
}

function resultOf(own) {
  if (own.some(({ status }) => status === 'failed')) return 'FAIL'
  return own.every(({ status }) => status === 'passed') ? 'pass' : 'SKIPPED'
}

function scriptNames(goal) {
  const names = (scripts.get(goal) ?? []).map((path) =>
    path.replace(/^test\//, '').replace(/\.test\.ts$/, ''),
  )
  return names.join(', ')
}

function print(table) {
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)))
  console.log()
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('  ')
        .trimEnd(),
    )
}
