// Programs that agents start because they take only local commands: our own bridge, and the one that many use.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AGENTS } from '../verify-agents/agents.mjs'
import { environment } from '../verify-agents/cli.mjs'
import { connect } from './connection.mjs'
import { withLines } from './lines.mjs'
import { lackOf } from './report.mjs'
import { eraOf } from './wire.mjs'

const CLAUDE_DESKTOP = {
  type: 'claude-desktop',
  files: [
    process.platform === 'darwin'
      ? 'Library/Application Support/Claude/claude_desktop_config.json'
      : '.config/Claude/claude_desktop_config.json',
  ],
}
const OWNER = AGENTS.find(({ type }) => type === 'claude-code')
const CLIENT_INFO = { name: 'toolroom-verify', version: '1' }
const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
}

export const TOOLROOM_CONNECT = {
  name: 'toolroom connect',
  trials: ['legacy', 'modern'].map((era) => ({
    remark: `the command of Claude Desktop's entry, ${era}`,
    run: (_, house, expect) =>
      tryBridge({ agent: CLAUDE_DESKTOP, say: era, reach: era, commandOf: ownCommand }, house, expect),
  })),
}

/** It speaks to its agent as in the old days; with `auto` it speaks to us in the new way. */
export const MCP_REMOTE = {
  name: 'mcp-remote',
  install: { type: 'mcp-remote', package: 'mcp-remote', bin: 'dist/proxy.js' },
  trials: ['legacy', 'auto'].map((protocol) => ({
    remark: `--protocol ${protocol}`,
    run: (cli, house, expect) => {
      const commandOf = (entry) => remoteCommand(cli, entry, protocol)
      const reach = protocol === 'auto' ? 'modern' : 'legacy'
      return tryBridge({ agent: OWNER, say: 'legacy', reach, commandOf }, house, expect)
    },
  })),
}

const ownCommand = ({ command, args, env }) => ({ command: [command, ...args], env })

function remoteCommand({ command }, { url, headers }, protocol) {
  const header = ['--header', `Authorization: ${headers.Authorization}`]
  return { command: [...command, url, ...header, '--protocol', protocol], env: {} }
}

async function tryBridge({ agent, say, reach, commandOf }, house, expect) {
  const { home, project, wire, offered } = house
  const { disconnect } = await connect(agent, house, expect)
  const entry = JSON.parse(readFileSync(join(home, agent.files[0]), 'utf8')).mcpServers.toolroom
  const { command, env } = commandOf(entry)
  const place = { cwd: project, env: { ...environment(home), ...env } }
  const talk = say === 'modern' ? talkModern : talkLegacy
  const { value, error, heard } = await wire.during(() => withLines(command, place, talk))
  expect(error === null, error?.message)
  const { tools, text } = value?.value ?? { tools: [] }
  const lack = lackOf(offered, tools)
  expect(lack === null, lack)
  expect(text === 'hi', 'the call gave something else')
  expect(!value || value.ended, 'it did not end with its input')
  expect(eraOf(heard) === reach, `it spoke ${heard.revisions.join(', ') || 'no revision'}`)
  await disconnect()
  return { connected: tools.length > 0, tools, called: text === 'hi', heard, remark: null }
}

async function talkLegacy({ ask, tell }) {
  await ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT_INFO })
  tell('notifications/initialized')
  const { tools } = await ask('tools/list')
  const { content } = await ask('tools/call', { name: 'echo__echo', arguments: { text: 'hi' } })
  return { tools: tools.map(({ name }) => name), text: content[0].text }
}

async function talkModern({ ask }) {
  const _meta = MODERN
  await ask('server/discover', { _meta })
  const { tools } = await ask('tools/list', { _meta })
  const { content } = await ask('tools/call', { name: 'echo__echo', arguments: { text: 'hi' }, _meta })
  return { tools: tools.map(({ name }) => name), text: content[0].text }
}
