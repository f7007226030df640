import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installSuite } from './install.mjs'
import { ask, checksIn, listScenarios, rowOf } from './suite.mjs'

const CLIENT = fileURLToPath(new URL('login-client.mjs', import.meta.url))
const SCENARIO_DEADLINE_MS = 60_000
/** The scenarios of 2025-03-26 belong to no later revision. The suite runs them with the protocol of its latest one. */
const BACK = '2025-03-26'
/** Of the scenario auth/basic-cimd. Nothing is fetched from there. */
export const DOCUMENT_URL = 'https://conformance-test.local/client-metadata.json'

/**
 * Runs the suite's auth scenarios of one revision against two running services, all scenarios at once.
 * @param {{ revision: string, address: string, documentAddress: string, token: string, scenario?: string }} options
 *   the second service has OAUTH_CLIENT_METADATA_URL: with it, no scenario would test a registration
 * @returns a row for each scenario; `happened` is what the client saw
 */
export async function runLoginSuite({ revision, address, documentAddress, token, scenario }) {
  const suite = await installSuite()
  const folder = mkdtempSync(join(tmpdir(), 'conformance-login-'))
  const clean = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', clean) // A signal skips the `finally`.
  try {
    const choice = scenario
      ? ['--scenario', scenario, '--force', ...(revision === BACK ? [] : ['--spec-version', revision])]
      : revision === BACK
        ? ['--suite', 'backcompat']
        : ['--requirements', revision]
    const command = [process.execPath, CLIENT].join(' ')
    const limits = ['--timeout', String(SCENARIO_DEADLINE_MS), '--output-dir', folder]
    const env = {
      TOOLROOM_ADDRESS: address,
      TOOLROOM_DOCUMENT_ADDRESS: documentAddress,
      TOOLROOM_TOKEN: token,
    }
    const args = ['client', '--command', command, ...choice, ...limits]
    const { output } = await ask(suite, args, 2 * SCENARIO_DEADLINE_MS, env)
    const found = foundIn(folder)
    const results = new Map([...found].map(([name, { checks }]) => [name, checks]))
    const listed = (await namesOf(revision, suite)).filter(({ name }) => !scenario || name === scenario)
    return listed.map((each) => ({
      ...rowOf(each, results, output),
      happened: found.get(each.name)?.happened ?? null,
    }))
  } finally {
    process.off('exit', clean)
    clean()
  }
}

async function namesOf(revision, suite) {
  if (revision === BACK)
    return ['metadata-backcompat', 'endpoint-fallback'].map((name) => ({
      name: `auth/2025-03-26-oauth-${name}`,
      required: false,
    }))
  return (await listScenarios(revision, suite, 'client')).filter(({ name }) => name.startsWith('auth/'))
}

/** The results of a scenario are in a folder auth/<name>-<time>. */
function foundIn(folder) {
  const files = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('checks.json'))
  return new Map(
    files.map((file) => {
      const name = dirname(file)
        .replaceAll('\\', '/')
        .replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '')
      return [
        name,
        { checks: checksIn(join(folder, file)), happened: happenedIn(join(folder, dirname(file))) },
      ]
    }),
  )
}

function happenedIn(folder) {
  const line = readFileSync(join(folder, 'stdout.txt'), 'utf8').trim().split('\n').at(-1)
  return line ? JSON.parse(line) : { error: readFileSync(join(folder, 'stderr.txt'), 'utf8') }
}
