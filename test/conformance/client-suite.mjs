import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { root } from '../../scripts/lib.mjs'
import { installSuite } from './install.mjs'
import { ask, checksIn, listScenarios, reportOf, rowOf } from './suite.mjs'

const CLIENT = fileURLToPath(new URL('client.mjs', import.meta.url))
const PARTS = {
  'http-mcp-client': 'src/mcp/transports/http/http-mcp-client.ts',
  'x-mcp-header': 'src/protocol/x-mcp-header.ts',
}
const SCENARIO_DEADLINE_MS = 30_000

/**
 * Runs the suite's client scenarios of one revision against our client for HTTP servers, one after the other. All at once,
 * as the suite itself runs them, they delay each other until a slow server looks silent.
 * @returns the same report as for the server scenarios; `ok` ignores auth/…, because OAuth is not supported yet
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
    const scenarios = []
    for (const each of chosen) scenarios.push(await runOne(suite, each, revision, folder))
    const report = reportOf({
      url: 'test/conformance/client.mjs',
      revision,
      suite,
      ms: performance.now() - startedAt,
      scenarios,
    })
    const decisive = scenarios.filter(({ name, required }) => required && !name.startsWith('auth/'))
    return { ...report, ok: (scenario ? scenarios : decisive).every(({ passed }) => passed) }
  } finally {
    process.off('exit', clean)
    clean()
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
