// npm run verify:agents: checks that real agents see what Toolroom writes into their files.
// Not part of `npm run check`, because it installs five third-party programs, more than a gigabyte.
//   npm run verify:agents -- codex gemini-cli@0.61.0     only these, in these versions
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stamp } from './checked.mjs'
import { fail, root, say, seconds } from './lib.mjs'
import { findNpm, prepare } from './prepare.mjs'
import { AGENTS } from './verify-agents/agents.mjs'
import { installCli } from './verify-agents/cli.mjs'
import { reportOf, table } from './verify-agents/report.mjs'
import { tryAgent } from './verify-agents/trial.mjs'

const CHECKED = join(root, 'docs/agents-checked.json')

if (process.platform === 'win32')
  fail('verify:agents needs Linux or macOS: on Windows the home directory of an agent cannot be replaced')
const chosen = choose(process.argv.slice(2))
await prepare()
const npm = findNpm() ?? fail('Cannot install the agents: npm was not found')

const reports = []
for (const { agent, wanted } of chosen) reports.push(await check(agent, wanted))
console.log(table(reports))
keep(reports.filter(({ version }) => version !== null))
if (reports.some(({ failures }) => failures.length > 0)) process.exitCode = 1

async function check(agent, wanted) {
  const startedAt = performance.now()
  try {
    say(`${agent.type}: installing …`)
    const cli = await installCli(npm, agent, wanted)
    say(`${agent.type} ${cli.version}: with an empty home directory …`)
    const alone = await tryAgent(agent, cli, { beside: false })
    say(`${agent.type} ${cli.version}: with existing entries …`)
    const beside = await tryAgent(agent, cli, { beside: true })
    say(`${agent.type} ${cli.version}: done in ${seconds(performance.now() - startedAt)}`)
    return reportOf(agent, cli.version, alone, beside)
  } catch (error) {
    // A failure to install or start one agent must not hide the results of the others.
    return { agent: agent.type, version: null, saw: [], facts: [], failures: [error.message] }
  }
}

/** Keeps the rows of agents that were not part of this run. */
function keep(fresh) {
  const before = existsSync(CHECKED) ? JSON.parse(readFileSync(CHECKED, 'utf8')) : []
  const rows = AGENTS.flatMap(({ type }) => {
    const found = fresh.find(({ agent }) => agent === type)
    return found ? [rowOf(found)] : before.filter(({ agent }) => agent === type)
  })
  writeFileSync(CHECKED, `${JSON.stringify(rows, null, 2)}\n`)
}

function rowOf({ agent, version, saw, facts, failures }) {
  const made = stamp('docs/agents-checked.json')
  return {
    agent,
    version,
    ...made,
    saw,
    note: [...facts, ...failures.map((text) => `Failed: ${text}`)].join('. '),
  }
}

function choose(args) {
  if (args.length === 0) return AGENTS.map((agent) => ({ agent, wanted: 'latest' }))
  return args.map((arg) => {
    const [type, wanted = 'latest'] = arg.split('@')
    const agent = AGENTS.find((each) => each.type === type)
    return agent
      ? { agent, wanted }
      : fail(`Unknown agent '${type}'. Choose from: ${AGENTS.map((each) => each.type).join(', ')}`)
  })
}
