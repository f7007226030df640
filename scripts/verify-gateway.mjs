// npm run verify:gateway: checks that real clients reach every tool through the entry that Toolroom wrote into their files.
// Not part of `npm run check`, because it installs third-party programs, more than a gigabyte.
//   npm run verify:gateway -- codex inspector@2.12.0     only these, in these versions
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stamp } from './checked.mjs'
import { fail, root, runTool, say, seconds } from './lib.mjs'
import { findNpm, prepare } from './prepare.mjs'
import { installCli } from './verify-agents/cli.mjs'
import { CLIENTS as AGENTS } from './verify-gateway/agents.mjs'
import { MCP_REMOTE, TOOLROOM_CONNECT } from './verify-gateway/bridges.mjs'
import { INSPECTOR } from './verify-gateway/inspector.mjs'
import { rowOf, table } from './verify-gateway/report.mjs'
import { openTestBed } from './verify-gateway/test-bed.mjs'

const CLIENTS = [...AGENTS, INSPECTOR, MCP_REMOTE, TOOLROOM_CONNECT]
const CHECKED = join(root, 'docs/gateway-checked.json')

if (process.platform === 'win32')
  fail('verify:gateway needs Linux or macOS: on Windows the home directory of an agent cannot be replaced')
const chosen = choose(process.argv.slice(2))
await prepare()
const npm = findNpm() ?? fail('Cannot install the clients: npm was not found')

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
    // A failure to install one client must not hide the results of the others.
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

/** Each trial has its own home directory and its own service. */
async function tryOne(name, cli, trial) {
  const failures = []
  let bed
  let found = null
  try {
    bed = await openTestBed()
    found = await trial.run(cli, bed, (isTrue, text) => isTrue || failures.push(text))
    // A refused GET is fine: some clients probe for OAuth. No POST may be refused.
    const refused = found.traffic.refused.filter((each) => each.startsWith('POST'))
    failures.push(...refused.map((each) => `refused: ${each}`))
  } catch (error) {
    failures.push(bed ? error.message.replaceAll(bed.home, '~') : error.message)
  } finally {
    if (bed && failures.length > 0)
      say(`The recorded traffic is in ${bed.keepRecord(`${name} ${trial.remark}`)}`)
    await bed?.close()
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

/** Keeps the rows of clients that were not part of this run. */
async function keep(fresh) {
  const before = existsSync(CHECKED) ? JSON.parse(readFileSync(CHECKED, 'utf8')) : []
  const kept = CLIENTS.flatMap(({ name }) => {
    const found = fresh.filter(({ client }) => client === name)
    return found.length > 0 ? found.map(stamped) : before.filter(({ client }) => client === name)
  })
  writeFileSync(CHECKED, `${JSON.stringify(kept, null, 2)}\n`)
  await runTool('biome', ['format', '--write', CHECKED], { quiet: true })
}

function stamped({ client, version, ...row }) {
  return { client, version, ...stamp('docs/gateway-checked.json'), ...row }
}

function choose(args) {
  if (args.length === 0) return CLIENTS.map((client) => ({ client, wanted: 'latest' }))
  return args.map((arg) => {
    const [word, wanted = 'latest'] = arg.split('@')
    const client = CLIENTS.find(({ name }) => name.replace(' ', '-') === word)
    const names = CLIENTS.map(({ name }) => name.replace(' ', '-')).join(', ')
    return client ? { client, wanted } : fail(`Unknown client '${word}'. Choose from: ${names}`)
  })
}
