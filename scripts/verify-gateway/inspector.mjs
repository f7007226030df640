// The MCP Inspector's CLI, in both eras, with the file that Toolroom wrote for Claude Code and with the URL.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { NODE_VERSION, nodePackage } from '../../test/conformance/install.mjs'
import { AGENTS } from '../verify-agents/agents.mjs'
import { runCli } from '../verify-agents/cli.mjs'
import { connect } from './connection.mjs'
import { missingTools } from './report.mjs'
import { eraOf } from './wire.mjs'

/** The Inspector needs an entry with `type`; it takes an entry like Cursor's for a command. */
const OWNER = AGENTS.find(({ type }) => type === 'claude-code')
const NODE_MIN = [22, 19]
const QUIET = { MCP_INSPECTOR_SECRET_STORE: 'memory' }

export const INSPECTOR = {
  name: 'inspector',
  install: {
    type: 'inspector',
    package: '@modelcontextprotocol/inspector',
    bin: 'clients/launcher/build/index.js',
  },
  /** A newer Node, if this one is too old for the Inspector. */
  node: isOldNode() ? { type: 'node', package: nodePackage(), bin: 'bin/node', wanted: NODE_VERSION } : null,
  trials: ['legacy', 'modern'].map((era) => ({
    remark: `--cli --protocol-era ${era}`,
    run: (cli, bed, expect) => tryInspector(era, cli, bed, expect),
  })),
}

async function tryInspector(era, cli, bed, expect) {
  const { home, wire, offered } = bed
  const { disconnect } = await connect(OWNER, bed, expect)
  const file = join(home, OWNER.files[0])
  const { url, headers } = JSON.parse(readFileSync(file, 'utf8')).mcpServers.toolroom
  const byFile = ['--config', file, '--server', 'toolroom']
  const byAddress = [
    '--server-url',
    url,
    '--transport',
    'http',
    '--header',
    `Authorization: ${headers.Authorization}`,
  ]

  async function ask(where, ...words) {
    const args = ['--cli', ...where, '--protocol-era', era, '--format', 'json', ...words]
    const answer = await runCli(cli, { args, env: QUIET }, bed)
    // Not the whole command line, because it contains the key.
    expect(
      answer.problem === null,
      `${words[1]} ${answer.problem?.slice(answer.problem.lastIndexOf("' ") + 2)}`,
    )
    return answer.problem === null ? JSON.parse(answer.stdout).result : undefined
  }

  const { value, error, traffic } = await wire.during(async () => {
    const listed = await ask(byFile, '--method', 'tools/list')
    const call = ['--method', 'tools/call', '--tool-name', 'echo__echo', '--tool-args-json', '{"text":"hi"}']
    const called = await ask(byFile, ...call)
    const again = await ask(byAddress, '--method', 'tools/list')
    return { listed, called, again }
  })
  expect(error === null, error?.message)
  const tools = namesIn(value?.listed)
  for (const names of [tools, namesIn(value?.again)]) {
    const missing = missingTools(offered, names)
    expect(missing === null, missing)
  }
  const called = value?.called?.content?.[0]?.text === 'hi'
  expect(called, 'the call returned a wrong result')
  expect(eraOf(traffic) === era, `it used ${traffic.revisions.join(', ') || 'no protocol version'}`)
  await disconnect()
  return { connected: tools.length > 0, tools, called, traffic, remark: null }
}

const namesIn = (result) => (result?.tools ?? []).map(({ name }) => name)

function isOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1])
}
