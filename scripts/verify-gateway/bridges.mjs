// Bridges for agents that accept only local commands: toolroom connect and mcp-remote.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AGENTS } from '../verify-agents/agents.mjs'
import { environment } from '../verify-agents/cli.mjs'
import { connect } from './connection.mjs'
import { withLines } from './lines.mjs'
import { missingTools } from './report.mjs'
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
    run: (_, bed, expect) =>
      tryBridge({ agent: CLAUDE_DESKTOP, send: era, reach: era, commandOf: ownCommand }, bed, expect),
  })),
}

/** Always legacy towards its agent; with `auto` it uses the modern era towards the gateway. */
export const MCP_REMOTE = {
  name: 'mcp-remote',
  install: { type: 'mcp-remote', package: 'mcp-remote', bin: 'dist/proxy.js' },
  trials: ['legacy', 'auto'].map((protocol) => ({
    remark: `--protocol ${protocol}`,
    run: (cli, bed, expect) => {
      const commandOf = (entry) => remoteCommand(cli, entry, protocol)
      const reach = protocol === 'auto' ? 'modern' : 'legacy'
      return tryBridge({ agent: OWNER, send: 'legacy', reach, commandOf }, bed, expect)
    },
  })),
}

const ownCommand = ({ command, args, env }) => ({ command: [command, ...args], env })

function remoteCommand({ command }, { url, headers }, protocol) {
  const header = ['--header', `Authorization: ${headers.Authorization}`]
  return { command: [...command, url, ...header, '--protocol', protocol], env: {} }
}

async function tryBridge({ agent, send, reach, commandOf }, bed, expect) {
  const { home, project, wire, offered } = bed
  const { disconnect } = await connect(agent, bed, expect)
  const entry = JSON.parse(readFileSync(join(home, agent.files[0]), 'utf8')).mcpServers.toolroom
  const { command, env } = commandOf(entry)
  const options = { cwd: project, env: { ...environment(home), ...env } }
  const exchange = send === 'modern' ? exchangeModern : exchangeLegacy
  const { value, error, traffic } = await wire.during(() => withLines(command, options, exchange))
  expect(error === null, error?.message)
  const { tools, text } = value?.value ?? { tools: [] }
  const missing = missingTools(offered, tools)
  expect(missing === null, missing)
  expect(text === 'hi', 'the call returned a wrong result')
  expect(!value || value.ended, 'it did not exit when its input ended')
  expect(eraOf(traffic) === reach, `it used ${traffic.revisions.join(', ') || 'no protocol version'}`)
  await disconnect()
  return { connected: tools.length > 0, tools, called: text === 'hi', traffic, remark: null }
}

async function exchangeLegacy({ request, notify }) {
  await request('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT_INFO })
  notify('notifications/initialized')
  const { tools } = await request('tools/list')
  const { content } = await request('tools/call', { name: 'echo__echo', arguments: { text: 'hi' } })
  return { tools: tools.map(({ name }) => name), text: content[0].text }
}

async function exchangeModern({ request }) {
  const _meta = MODERN
  await request('server/discover', { _meta })
  const { tools } = await request('tools/list', { _meta })
  const { content } = await request('tools/call', { name: 'echo__echo', arguments: { text: 'hi' }, _meta })
  return { tools: tools.map(({ name }) => name), text: content[0].text }
}
