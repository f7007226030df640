// Agents that accept a URL: connected through the API, then checked with their own list command.
import { join } from 'node:path'
import { root } from '../lib.mjs'
import { AGENTS } from '../verify-agents/agents.mjs'
import { askAgent } from '../verify-agents/cli.mjs'
import { put } from '../verify-agents/trial.mjs'
import { connect } from './connection.mjs'
import { missingTools } from './report.mjs'
import { trySession } from './sessions.mjs'

const ECHO = join(root, 'test/fixtures/servers/echo.mjs')

/** Only agents whose list command connects: the others would only read the entry back. */
export const CLIENTS = AGENTS.filter(({ connects }) => connects).map((agent) => ({
  name: agent.type,
  install: agent,
  trials: [
    {
      remark: 'its own list command',
      run: (cli, bed, expect) => tryAgent(agent, cli, bed, expect, { bridge: false }),
    },
    {
      remark: 'its own list command, via toolroom connect',
      run: (cli, bed, expect) => tryAgent(agent, cli, bed, expect, { bridge: true }),
    },
    {
      remark: 'a session with a local test model',
      run: (cli, bed, expect) => trySession(agent, cli, bed, expect),
    },
  ],
}))

async function tryAgent(agent, cli, bed, expect, how) {
  const { home, project, wire, offered, toolroom } = bed
  put(home, agent.own?.(project) ?? {})
  const inNone = (isTrue, text) => expect(isTrue, `without a file, ${text}`)
  const alone = await connect(agent, bed, inNone, how)
  await alone.disconnect()

  put(home, Object.fromEntries(agent.beside(ECHO).map((text, index) => [agent.files[index], text])))
  const first = await askAgent(agent, cli, bed) // some complete their file at the first start
  expect(first.problem === null, `before, ${first.problem}`)
  const { disconnect } = await connect(agent, bed, expect, how)
  const { value: answer, error, traffic } = await wire.during(() => askAgent(agent, cli, bed))
  if (error) throw error
  expect(answer.problem === null, answer.problem)
  const ours = answer.servers.find(({ name }) => name === 'toolroom')
  const isConnected = ours?.state === 'connected'
  expect(isConnected, `toolroom is ${ours?.state ?? 'not listed'}`)
  const target = how.bridge ? 'dist/main.js connect' : `${toolroom.address}/mcp`
  expect(!ours || ours.target.includes(target), 'it shows a wrong command or URL')
  const theirs = answer.servers.find(({ name }) => name === 'theirs')
  expect(theirs?.state === 'connected', `the existing entry is ${theirs?.state ?? 'not listed'}`)
  const tools = ours?.tools ?? traffic.tools
  if (ours?.tools || traffic.methods.includes('tools/list')) {
    const missing = missingTools(offered, tools)
    expect(missing === null, missing)
  }
  const { isRewritten } = await disconnect()
  if (isRewritten) await (await connect(agent, bed, expect, how)).disconnect() // compares the bytes in a round without the agent
  const after = await askAgent(agent, cli, bed)
  expect(!after.servers.some(({ name }) => name === 'toolroom'), 'it still lists toolroom after disconnect')
  return { connected: isConnected, tools, traffic, remark: isRewritten ? 'rewrites its own file' : null }
}
