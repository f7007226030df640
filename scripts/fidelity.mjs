// npm run fidelity: compares real servers, started directly, with the same servers behind the gateway. Not part of `npm test`,
// which compares only our own fixtures and a few real servers, because it installs more than thirty packages.
//   npm run fidelity -- exact tavily-mcp      only these
//   npm run fidelity -- --json=found.json     writes every difference into a file
import { writeFileSync } from 'node:fs'
import { FIXTURES, INSTALLED } from './fidelity/fixtures.mjs'
import { counts, judge, sentence, stale, table } from './fidelity/report.mjs'
import { loadSdks } from './fidelity/sdk-clients.mjs'
import { installServer, SERVERS } from './fidelity/servers.mjs'
import { compareAlone } from './fidelity/suite.mjs'
import { fail, say, seconds } from './lib.mjs'
import { prepare } from './prepare.mjs'

const args = process.argv.slice(2)
const json = args.find((arg) => arg.startsWith('--json='))?.slice('--json='.length)
const names = args.filter((arg) => !arg.startsWith('--'))

if (process.platform === 'win32')
  fail('fidelity needs Linux or macOS: it ends servers by their process groups')
await prepare()
const all = [...FIXTURES, ...INSTALLED(), ...SERVERS]
const unknown = names.filter((name) => !all.some((server) => server.name === name))
if (unknown.length > 0)
  fail(`Unknown: ${unknown.join(', ')}. Choose from: ${all.map(({ name }) => name).join(', ')}`)
const chosen = names.length === 0 ? all : all.filter(({ name }) => names.includes(name))

const sdks = await loadSdks()
const rows = []
const found = []
const failures = []
for (const server of chosen) {
  const startedAt = performance.now()
  try {
    const result = await compareAlone(await installServer(server), sdks)
    rows.push(judge(server, result))
    found.push(...result.differences)
    say(`${server.name}: ${result.comparisons} comparisons in ${seconds(performance.now() - startedAt)}`)
  } catch (error) {
    // One server that cannot be compared must not hide the results of the others.
    failures.push(`${server.name} ${server.version}: ${error.message}`)
    say(failures.at(-1))
  }
}

const unexplained = rows.flatMap((row) => row.unexplained)
const outdated = names.length === 0 ? stale(rows) : []
console.log(table(rows))
console.log(`\n${counts(rows).join('\n')}`)
for (const difference of unexplained) console.log(`unexplained: ${sentence(difference)}`)
for (const { what } of outdated) console.log(`listed, but no longer found: ${what}`)
for (const failure of failures) console.log(`not compared: ${failure}`)
if (json) writeFileSync(json, JSON.stringify(found, null, 2))
if (unexplained.length + outdated.length + failures.length > 0) process.exitCode = 1
