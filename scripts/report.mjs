// Reads vitest's JSON report.
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { root, runTool } from './lib.mjs'

const SHARED_MEMORY = '/dev/shm'
const TMPFS = 0x01021994
const LEAST_BYTES = 6 * 1024 ** 3

/**
 * Runs vitest, which prints as usual.
 * @returns its exit code and every test; `files` that could not be loaded have none and count as failed
 */
export async function runTests(args, env, isMeasured = false) {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-test-'))
  // What measures milliseconds needs the disk that people have.
  const inMemory = isMeasured ? undefined : memoryFolder()
  process.once('exit', () => {
    for (const each of [folder, inMemory]) if (each) rmSync(each, { recursive: true, force: true })
  })
  const [report, figures] = [join(folder, 'report.json'), join(folder, 'figures.jsonl')]
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  const { code } = await runTool('vitest', ['run', ...args, ...reporters], {
    env: { ...env, TOOLROOM_FIGURES: figures, ...(inMemory && { TOOLROOM_TEST_MEMORY: inMemory }) },
  })
  return { code, ...readReport(report, code), figures: linesOf(figures) }
}

/** A folder in memory for the files of the tests, most of which would wait for a disk. Undefined when there is too little. */
function memoryFolder() {
  try {
    const { type, bavail, bsize } = statfsSync(SHARED_MEMORY)
    if (type !== TMPFS || bavail * bsize < LEAST_BYTES || freemem() < LEAST_BYTES) return undefined
    return mkdtempSync(join(SHARED_MEMORY, 'toolroom-test-'))
  } catch {
    return undefined // not Linux, or not writable
  }
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
