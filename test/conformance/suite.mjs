import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../scripts/lib.mjs'
import { startForwarder } from './forwarder.mjs'
import { installSuite } from './install.mjs'

export const REVISIONS = ['2025-11-25', '2026-07-28']
const DEADLINE_MS = 3 * 60_000
const SCENARIO_DEADLINE_MS = 15_000

/**
 * Runs the suite's server scenarios of one revision against a URL.
 * @param {{ url: string, revision: string, headers?: Record<string, string>, scenario?: string, deadlineMs?: number }} options
 * @returns the report: `ok` when every required scenario passed, and a row per scenario
 */
export async function runSuite({ url, revision, headers = {}, scenario, deadlineMs = DEADLINE_MS }) {
  const suite = await installSuite()
  const listed = await listScenarios(revision, suite)
  if (scenario && !listed.some(({ name }) => name === scenario))
    throw new Error(`${revision} has no server scenario '${scenario}'`)
  const forwarder = Object.keys(headers).length > 0 ? await startForwarder(url, headers) : undefined
  const folder = mkdtempSync(join(tmpdir(), 'conformance-'))
  const clean = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', clean) // A signal skips the `finally`.
  try {
    // A single scenario is selected by name with the revision's wire format (an extension belongs to none, hence the
    // force option); otherwise the revision's own set runs.
    const choice = scenario
      ? ['--scenario', scenario, '--spec-version', revision, '--force']
      : ['--requirements', revision]
    const limits = ['--timeout', String(SCENARIO_DEADLINE_MS), '--output-dir', folder]
    const args = ['server', '--url', forwarder?.url ?? url, ...choice, ...limits]
    const { output, ms } = await ask(suite, args, deadlineMs)
    const results = resultsIn(folder)
    const chosen = scenario ? listed.filter(({ name }) => name === scenario) : listed
    const scenarios = chosen.map((each) => rowOf(each, results, output))
    return reportOf({ url, revision, suite, ms, scenarios })
  } finally {
    process.off('exit', clean)
    clean()
    await forwarder?.close()
  }
}

/** @returns the scenarios of a revision for one side: the required ones, then those that are only reported */
export async function listScenarios(revision, suite, side = 'server') {
  const output = await listOf(revision, suite ?? (await installSuite()), side)
  const rows = scenariosIn(output, side)
  if (rows.length === 0)
    throw new Error(`The suite lists no ${side} scenario for ${revision}: ${output.trim()}`)
  return rows
}

/** The list of an installed suite never changes, and the suite takes a second to print it, so it is kept beside the suite. */
async function listOf(revision, suite, side) {
  const file = join(suite.folder, `list-${side}-${revision}.txt`)
  if (existsSync(file)) return readFileSync(file, 'utf8')
  const { output } = await ask(suite, ['list', `--${side}`, '--requirements', revision], 30_000)
  if (scenariosIn(output, side).length === 0) return output
  const beside = mkdtempSync(join(suite.folder, 'listing-'))
  writeFileSync(join(beside, 'list.txt'), output)
  renameSync(join(beside, 'list.txt'), file) // complete, even with two runs
  rmSync(beside, { recursive: true })
  return output
}

function scenariosIn(output, side) {
  const sections = output.split(/\n(?=\S)/)
  const required =
    sections.find((text) => text.startsWith(side === 'server' ? 'Server scenarios' : 'Client scenarios')) ??
    ''
  const others = sections.find((text) => text.startsWith('Run and reported')) ?? ''
  return [
    ...[...required.matchAll(/^ +- (\S+)/gm)].map(([, name]) => ({ name, required: true })),
    ...[...others.matchAll(/^ +- (\S+) \[(\w+)\]/gm)]
      .filter(([, , of]) => of === side)
      .map(([, name]) => ({ name, required: false })),
  ]
}

/**
 * The suite stays on this computer: it needs none of the certificates for outside, which make the start of every Node process
 * below it slower.
 */
export const ask = ({ command: [program, ...before], folder }, args, deadlineMs, env = {}) =>
  run(program, [...before, ...args], {
    quiet: true,
    deadlineMs,
    env: {
      NO_COLOR: '1',
      NODE_EXTRA_CA_CERTS: undefined,
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      ...env,
    },
  })

/** @returns the checks by scenario; the folders are named server-<scenario>-<time> */
function resultsIn(folder) {
  const found = readdirSync(folder).map((each) => [
    each.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, ''),
    checksIn(join(folder, each, 'checks.json')),
  ])
  return new Map(found)
}

/** The file is written at the end of a scenario: one that threw or was interrupted has none, or an incomplete one. */
export function checksIn(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

export function rowOf({ name, required }, results, output) {
  const checks = results.get(name)
  if (!checks) return { name, required, passed: false, reason: whyNot(name, output), warnings: [], checks: 0 }
  const failures = checks.filter(({ status }) => status === 'FAILURE')
  // The suite counts checks it could not run as passed. They are listed here, because they prove nothing.
  const warnings = checks.filter(({ status }) => status === 'WARNING' || status === 'SKIPPED')
  return {
    name,
    required,
    passed: failures.length === 0,
    reason: failures.length > 0 ? failures.map(sentenceOf).join(' | ') : null,
    warnings: warnings.map(sentenceOf),
    checks: checks.filter(({ status }) => status === 'SUCCESS').length,
  }
}

const sentenceOf = ({ id, description, errorMessage }) => `${id}: ${errorMessage ?? description}`

/** A scenario without results threw an error, or did not run. */
function whyNot(name, output) {
  const thrown = output.split(`Failed to run scenario ${name}:`)[1]
  const last = output.trim().split('\n').at(-1)
  return thrown ? thrown.trim().split('\n')[0] : `It did not run. The suite's last output: ${last}`
}

export function reportOf({ url, revision, suite, ms, scenarios }) {
  const required = scenarios.filter((each) => each.required)
  const passed = required.filter((each) => each.passed)
  // A scenario that was selected explicitly counts even if it is not required.
  const decisive = required.length > 0 ? required : scenarios
  return {
    ok: decisive.every((each) => each.passed),
    revision,
    url,
    suite_version: suite.suite_version,
    node_version: suite.node_version,
    duration_ms: Math.round(ms),
    required: { passed: passed.length, total: required.length },
    scenarios,
  }
}
