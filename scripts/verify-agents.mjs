// npm run verify:agents: do the real agents see what Toolroom writes into their files?
// Not part of the checks, because it installs five programs of others, more than a gigabyte.
//   npm run verify:agents -- codex gemini-cli@0.61.0     only these, in these versions
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fail, root, say, seconds } from './lib.mjs'
import { findNpm, prepare } from './prepare.mjs'
import { AGENTS } from './verify-agents/agents.mjs'
import { installCli } from './verify-agents/cli.mjs'
import { reportOf, table } from './verify-agents/report.mjs'
import { tryAgent } from './verify-agents/trial.mjs'

const CHECKED = join(root, 'docs/agents-checked.json')

if (process.platform === 'win32')
  fail('This needs Linux or macOS: on Windows an agent has no home to be moved')
const chosen = choose(process.argv.slice(2))
await prepare()
const npm = findNpm() ?? fail('npm was not found, and the agents are installed with it')

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
    say(`${agent.type} ${cli.version}: an empty home …`)
    const alone = await tryAgent(agent, cli, { beside: false })
    say(`${agent.type} ${cli.version}: beside what somebody else wrote …`)
    const beside = await tryAgent(agent, cli, { beside: true })
    say(`${agent.type} ${cli.version}: done in ${seconds(performance.now() - startedAt)}`)
    return reportOf(agent, cli.version, alone, beside)
  } catch (error) {
    // One agent that cannot be installed or started must not hide what the others say.
    return { agent: agent.type, version: null, saw: [], facts: [], failures: [error.message] }
  }
}

/** Rows of agents that were not asked this time stay as they are. */
function keep(fresh) {
  const before = existsSync(CHECKED) ? JSON.parse(readFileSync(CHECKED, 'utf8')) : []
  const rows = AGENTS.flatMap(({ type }) => {
    const found = fresh.find(({ agent }) => agent === type)
    return found ? [rowOf(found)] : before.filter(({ agent }) => agent === type)
  })
  writeFileSync(CHECKED, `${JSON.stringify(rows, null, 2)}\n`)
}

function rowOf({ agent, version, saw, facts, failures }) {
  return { agent, version, saw, note: [...facts, ...failures.map((text) => `Failed: ${text}`)].join('. ') }
}

function choose(args) {
  if (args.length === 0) return AGENTS.map((agent) => ({ agent, wanted: 'latest' }))
  return args.map((arg) => {
    const [type, wanted = 'latest'] = arg.split('@')
    const agent = AGENTS.find((each) => each.type === type)
    return agent
      ? { agent, wanted }
      : fail(`'${type}' is none of ${AGENTS.map((each) => each.type).join(', ')}`)
  })
}
