// npm run verify:gateway: do real clients reach every tool through what Toolroom wrote into their files?
// Not part of the checks, because it installs programs of others, more than a gigabyte.
//   npm run verify:gateway -- codex inspector@2.12.0     only these, in these versions
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail, root, runTool, say, seconds } from './lib.mjs'
import { findNpm, prepare } from './prepare.mjs'
import { installCli } from './verify-agents/cli.mjs'
import { CLIENTS as AGENTS } from './verify-gateway/agents.mjs'
import { MCP_REMOTE, TOOLROOM_CONNECT } from './verify-gateway/bridges.mjs'
import { openHouse } from './verify-gateway/house.mjs'
import { INSPECTOR } from './verify-gateway/inspector.mjs'
import { rowOf, table } from './verify-gateway/report.mjs'

const CLIENTS = [...AGENTS, INSPECTOR, MCP_REMOTE, TOOLROOM_CONNECT]
const CHECKED = join(root, 'docs/gateway-checked.json')

if (process.platform === 'win32')
  fail('This needs Linux or macOS: on Windows an agent has no home to be moved')
const chosen = choose(process.argv.slice(2))
await prepare()
const npm = findNpm() ?? fail('npm was not found, and the clients are installed with it')

const rows = []
for (const { client, wanted } of chosen) rows.push(...(await check(client, wanted)))
console.log(table(rows))
await keep(rows.filter(({ version }) => version !== null))
if (rows.some(({ failures }) => failures.length > 0)) process.exitCode = 1

async function check(client, wanted) {
  const { name, trials } = client
  const startedAt = performance.now()
  let cli
  try {
    if (client.install) say(`${name}: installing …`)
    cli = await install(client, wanted)
  } catch (error) {
    // One that cannot be installed must not hide what the others say.
    return [rowOf(name, null, trials[0], null, [error.message])]
  }
  const found = []
  for (const trial of trials) {
    say(`${name} ${cli.version}: ${trial.remark} …`)
    found.push(await tryOne(name, cli, trial))
  }
  say(`${name} ${cli.version}: done in ${seconds(performance.now() - startedAt)}`)
  return found
}

/** A home and a service of its own for each. */
async function tryOne(name, cli, trial) {
  const failures = []
  let house
  let found = null
  try {
    house = await openHouse()
    found = await trial.run(cli, house, (isTrue, text) => isTrue || failures.push(text))
    // A GET may be refused, and some clients look for OAuth there. What is posted is meant.
    const refused = found.heard.refused.filter((each) => each.startsWith('POST'))
    failures.push(...refused.map((each) => `refused: ${each}`))
  } catch (error) {
    failures.push(house ? error.message.replaceAll(house.home, '~') : error.message)
  } finally {
    if (house && failures.length > 0)
      say(`What was said is in ${house.keepRecord(`${name} ${trial.remark}`)}`)
    await house?.close()
  }
  return rowOf(name, cli.version, trial, found, failures)
}

async function install({ install: what, node }, wanted) {
  if (!what) return { version: JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version }
  const cli = await installCli(npm, what, wanted)
  if (!node) return cli
  const [program] = (await installCli(npm, node, node.wanted)).command
  return { ...cli, command: [program, ...cli.command.slice(1)] }
}

/** Rows of clients that were not asked this time stay as they are. */
async function keep(fresh) {
  const before = existsSync(CHECKED) ? JSON.parse(readFileSync(CHECKED, 'utf8')) : []
  const kept = CLIENTS.flatMap(({ name }) => {
    const found = fresh.filter(({ client }) => client === name)
    return found.length > 0 ? found : before.filter(({ client }) => client === name)
  })
  writeFileSync(CHECKED, `${JSON.stringify(kept, null, 2)}\n`)
  await runTool('biome', ['format', '--write', CHECKED], { quiet: true })
}

function choose(args) {
  if (args.length === 0) return CLIENTS.map((client) => ({ client, wanted: 'latest' }))
  return args.map((arg) => {
    const [word, wanted = 'latest'] = arg.split('@')
    const client = CLIENTS.find(({ name }) => name.replace(' ', '-') === word)
    const names = CLIENTS.map(({ name }) => name.replace(' ', '-')).join(', ')
    return client ? { client, wanted } : fail(`'${word}' is none of ${names}`)
  })
}
