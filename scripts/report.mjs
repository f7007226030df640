// Reads vitest's JSON report.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { root, runTool } from './lib.mjs'

/**
 * Runs vitest, which prints as usual.
 * @returns its exit code and every test; `files` that could not be loaded have none and count as failed
 */
export async function runTests(args, env) {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-test-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const [report, figures] = [join(folder, 'report.json'), join(folder, 'figures.jsonl')]
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const { code } = await runTool('vitest', ['run', ...args, ...reporters], {
    env: { ...env, TOOLROOM_FIGURES: figures },
  })
  return { code, ...readReport(report, code), figures: linesOf(figures) }
}

/** Every test of a report. `asRelative` turns the path of a test file into one from the root. */
export function readReport(report, code, asRelative = (path) => relative(root, path).replaceAll('\\', '/')) {
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
    const files = testResults.map(({ name, status, assertionResults }) => {
      const file = asRelative(name)
      const tests = assertionResults.map(({ fullName, status }) => ({ file, name: fullName, status }))
      return { file, status, tests }
    })
    const tests = files.flatMap((each) => each.tests)
    const broken = files.filter((each) => {
      return each.status === 'failed' && !each.tests.some(({ status }) => status === 'failed')
    })
    return { tests, broken: broken.map(({ file }) => file) }
  } catch {
    return { tests: [], broken: code === 0 ? [] : ['vitest ended before it could report'] }
  }
}

function linesOf(file) {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
