// Agents that take an address: connected by our API, then asked by their own command what they see.
import { join } from 'node:path'
import { root } from '../lib.mjs'
import { AGENTS } from '../verify-agents/agents.mjs'
import { askAgent } from '../verify-agents/cli.mjs'
import { put } from '../verify-agents/trial.mjs'
import { connect } from './connection.mjs'
import { lackOf } from './report.mjs'
import { trySession } from './sessions.mjs'

const ECHO = join(root, 'test/fixtures/servers/echo.mjs')

/** Only those whose list command connects: the others would only read the entry back. */
export const CLIENTS = AGENTS.filter(({ connects }) => connects).map((agent) => ({
  name: agent.type,
  install: agent,
  trials: [
    {
      remark: 'its own list command',
      run: (cli, house, expect) => tryAgent(agent, cli, house, expect, { bridge: false }),
    },
    {
      remark: 'its own list command, by toolroom connect',
      run: (cli, house, expect) => tryAgent(agent, cli, house, expect, { bridge: true }),
    },
    {
      remark: 'a session with a model of ours',
      run: (cli, house, expect) => trySession(agent, cli, house, expect),
    },
  ],
}))

async function tryAgent(agent, cli, house, expect, how) {
  const { home, project, wire, offered, toolroom } = house
  put(home, agent.own?.(project) ?? {})
  const inNone = (isTrue, text) => expect(isTrue, `without a file, ${text}`)
  const alone = await connect(agent, house, inNone, how)
  await alone.disconnect()

  put(home, Object.fromEntries(agent.beside(ECHO).map((text, index) => [agent.files[index], text])))
  const first = await askAgent(agent, cli, house) // some complete their file when they first see it
  expect(first.problem === null, `before, ${first.problem}`)
  const { disconnect } = await connect(agent, house, expect, how)
  const { value: answer, error, heard } = await wire.during(() => askAgent(agent, cli, house))
  if (error) throw error
  expect(answer.problem === null, answer.problem)
  const ours = answer.servers.find(({ name }) => name === 'toolroom')
  const isConnected = ours?.state === 'connected'
  expect(isConnected, `toolroom is ${ours?.state ?? 'not listed'}`)
  const target = how.bridge ? 'dist/main.js connect' : `${toolroom.address}/mcp`
  expect(!ours || ours.target.includes(target), 'it shows another command or address')
  const theirs = answer.servers.find(({ name }) => name === 'theirs')
  expect(theirs?.state === 'connected', `the entry beside ours is ${theirs?.state ?? 'not listed'}`)
  const tools = ours?.tools ?? heard.tools
  if (ours?.tools || heard.methods.includes('tools/list')) {
    const lack = lackOf(offered, tools)
    expect(lack === null, lack)
  }
  const { isRewritten } = await disconnect()
  if (isRewritten) await (await connect(agent, house, expect, how)).disconnect() // the bytes, in a round without it
  const after = await askAgent(agent, cli, house)
  expect(!after.servers.some(({ name }) => name === 'toolroom'), 'it still lists toolroom after the end')
  return { connected: isConnected, tools, heard, remark: isRewritten ? 'it writes its file by itself' : null }
}
