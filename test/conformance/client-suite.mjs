import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { root } from '../../scripts/lib.mjs'
import { installSuite } from './install.mjs'
import { DOCUMENT_URL, runLoginSuite } from './login-suite.mjs'
import { startService } from './service.mjs'
import { ask, checksIn, listScenarios, reportOf, rowOf } from './suite.mjs'

const CLIENT = fileURLToPath(new URL('client.mjs', import.meta.url))
const PARTS = {
  'http-mcp-client': 'src/mcp/transports/http/http-mcp-client.ts',
  'x-mcp-header': 'src/mcp/protocol/mcp-headers.ts',
}
const SCENARIO_DEADLINE_MS = 30_000

/**
 * Runs the suite's client scenarios of one revision. Those named auth/… log in through a running service. The others use
 * our client for HTTP servers, one after the other: all at once, they delay each other until a slow server looks silent.
 * @returns the same report as for the server scenarios
 */
export async function runClientSuite({ revision, scenario }) {
  const suite = await installSuite()
  const listed = await listScenarios(revision, suite, 'client')
  const chosen = scenario ? listed.filter(({ name }) => name === scenario) : listed
  if (chosen.length === 0) throw new Error(`${revision} has no client scenario '${scenario}'`)
  const folder = mkdtempSync(join(tmpdir(), 'conformance-client-'))
  const clean = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', clean) // A signal skips the `finally`.
  const startedAt = performance.now()
  try {
    await bundle(join(folder, 'bundle'))
    const logins = chosen.some(isLogin) ? await runLogins(revision, scenario) : []
    const scenarios = []
    for (const each of chosen) {
      const row =
        logins.find(({ name }) => name === each.name) ?? (await runOne(suite, each, revision, folder))
      scenarios.push(row)
    }
    const ms = performance.now() - startedAt
    return reportOf({ url: 'test/conformance/client.mjs', revision, suite, ms, scenarios })
  } finally {
    process.off('exit', clean)
    clean()
  }
}

const isLogin = ({ name }) => name.startsWith('auth/')

async function runLogins(revision, scenario) {
  const token = randomBytes(32).toString('hex')
  const plain = await startService(token)
  const withDocument = await startService(token, { OAUTH_CLIENT_METADATA_URL: DOCUMENT_URL })
  try {
    const addresses = { address: plain.address, documentAddress: withDocument.address }
    return await runLoginSuite({ revision, token, scenario, ...addresses })
  } finally {
    await plain.close()
    await withDocument.close()
  }
}

async function runOne(suite, each, revision, folder) {
  const results = join(folder, each.name)
  const command = [process.execPath, CLIENT, join(folder, 'bundle')].join(' ')
  const choice = ['--scenario', each.name, '--spec-version', revision, '--force']
  const limits = ['--timeout', String(SCENARIO_DEADLINE_MS), '--output-dir', results]
  const args = ['client', '--command', command, ...choice, ...limits]
  const { output } = await ask(suite, args, 2 * SCENARIO_DEADLINE_MS)
  return rowOf(each, new Map([[each.name, checksUnder(results)]]), output)
}

/** A scenario named auth/x has its results in a folder auth. */
function checksUnder(folder) {
  try {
    const file = readdirSync(folder, { recursive: true }).find((path) => path.endsWith('checks.json'))
    return file && checksIn(join(folder, file))
  } catch {
    return undefined // it did not run
  }
}

async function bundle(dir) {
  const bundler = await rolldown({
    cwd: root,
    input: PARTS,
    platform: 'node',
    tsconfig: join(root, 'tsconfig.json'),
  })
  await bundler.write({
    dir,
    format: 'esm',
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  })
  await bundler.close()
}
