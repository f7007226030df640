import { expect, test } from 'vitest'
import { computer } from '../../../test/support/test-computer.ts'
import { AGENTS, configFilesOf, findAgent } from './agent-catalogue.ts'
import type { Agent } from './agent-record.ts'
import { switchOf } from './enable-switch.ts'
import type { Json } from './json-value.ts'
import { type Definition, NotSupported } from './server-definition.ts'
import { writeEntry } from './write-entry.ts'

const args = ['-y', 'pkg']
const env = { KEY: 'v' }
const headers = { Authorization: 'Bearer x' }
const url = 'https://host/mcp'
const STDIO: Definition = { type: 'stdio', command: 'npx', args, env, cwd: null }
const remote = (type: 'http' | 'sse'): Definition => ({ type, url, headers })

const home = '/home/ada'
const inEntry = (field: string, value: boolean) => ({ field, value })
const inFile = (path: string, at: readonly Json[], value: Json) => ({ path, at, value })

interface Expected {
  readonly stdio: Record<string, Json>
  /** Null if it is refused. */
  readonly http: Record<string, Json> | null
  readonly sse: Record<string, Json> | null
  /** How the user's server `docs` is disabled; null if only the agent itself can. */
  readonly off: Record<string, Json> | null
}

const command = { command: 'npx', args, env }
const cmd = { command: 'cmd', args: ['/c', 'npx', '-y', 'pkg'], env }
const address = { url, headers }
const typed = {
  stdio: { type: 'stdio', ...command },
  http: { type: 'http', ...address },
  sse: { type: 'sse', ...address },
}
const carried = {
  stdio: { transport: 'stdio', ...command },
  http: { transport: 'http', ...address },
  sse: { transport: 'sse', ...address },
}
const plain = { stdio: command, http: address, sse: address }

/** The documented entries of every agent. Written by hand and not by the tested code. */
const EXPECTED: Record<string, Expected> = {
  'claude-code': {
    ...typed,
    off: inFile(`${home}/.claude.json`, ['projects', '/p', 'disabledMcpServers', { item: 'docs' }], 'docs'),
  },
  'claude-desktop': { stdio: command, http: null, sse: null, off: null },
  cursor: { ...plain, off: null },
  vscode: { ...typed, off: null },
  'vscode-insiders': { ...typed, off: null },
  codex: {
    stdio: command,
    http: { url, http_headers: headers },
    sse: null,
    off: inEntry('enabled', false),
  },
  'github-copilot-cli': {
    stdio: { type: 'local', ...command, tools: ['*'] },
    http: { type: 'http', ...address, tools: ['*'] },
    sse: { type: 'sse', ...address, tools: ['*'] },
    off: inFile(`${home}/.copilot/settings.json`, ['disabledMcpServers', { item: 'docs' }], 'docs'),
  },
  'gemini-cli': {
    stdio: command,
    http: { url, type: 'http', headers },
    sse: { url, type: 'sse', headers },
    off: inFile(`${home}/.gemini/mcp-server-enablement.json`, ['docs'], { enabled: false }),
  },
  antigravity: {
    stdio: command,
    http: { serverUrl: url, headers },
    sse: { serverUrl: url, headers },
    off: inEntry('disabled', true),
  },
  opencode: {
    stdio: { type: 'local', command: ['npx', '-y', 'pkg'], environment: env, enabled: true },
    http: { type: 'remote', ...address, enabled: true },
    sse: { type: 'remote', ...address, enabled: true },
    off: inEntry('enabled', false),
  },
  'devin-desktop': {
    stdio: command,
    http: { serverUrl: url, headers },
    sse: { serverUrl: url, headers },
    off: inEntry('disabled', true),
  },
  zed: { stdio: command, http: address, sse: null, off: inEntry('enabled', false) },
  cline: {
    stdio: { ...command, disabled: false, autoApprove: [] },
    http: { type: 'streamableHttp', ...address, disabled: false, autoApprove: [] },
    sse: { type: 'sse', ...address, disabled: false, autoApprove: [] },
    off: inEntry('disabled', true),
  },
  kiro: {
    stdio: { ...command, disabled: false, autoApprove: [] },
    http: address,
    sse: address,
    off: inEntry('disabled', true),
  },
  'qwen-code': {
    stdio: command,
    http: { httpUrl: url, headers },
    sse: address,
    off: inFile(`${home}/.qwen/settings.json`, ['mcp', 'excluded', { item: 'docs' }], 'docs'),
  },
  goose: {
    stdio: {
      name: 'docs',
      type: 'stdio',
      enabled: true,
      description: '',
      cmd: 'npx',
      args,
      envs: env,
      env_keys: [],
      timeout: 300,
      bundled: null,
      available_tools: [],
    },
    http: {
      name: 'docs',
      type: 'streamable_http',
      enabled: true,
      description: '',
      uri: url,
      headers,
      envs: {},
      env_keys: [],
      timeout: 300,
    },
    sse: null,
    off: inEntry('enabled', false),
  },
  'kilo-code': {
    stdio: { type: 'local', command: ['npx', '-y', 'pkg'], environment: env, enabled: true },
    http: { type: 'remote', ...address, enabled: true },
    sse: { type: 'remote', ...address, enabled: true },
    off: inEntry('enabled', false),
  },
  'jetbrains-ai-assistant': { ...plain, off: null },
  junie: { stdio: command, http: null, sse: null, off: null },
  'visual-studio': { ...typed, stdio: { type: 'stdio', ...cmd }, off: null },
  'lm-studio': { ...plain, off: null },
  warp: { ...plain, off: null },
  amp: { ...plain, off: null },
  'factory-droid': {
    stdio: { type: 'stdio', ...command, disabled: false },
    http: { type: 'http', ...address, disabled: false },
    sse: { type: 'sse', ...address, disabled: false },
    off: inEntry('disabled', true),
  },
  auggie: { ...typed, off: null },
  crush: { ...typed, off: inEntry('disabled', true) },
  trae: { ...plain, off: null },
  'grok-build': {
    stdio: { command: 'npx', args, enabled: true, env },
    http: { url, enabled: true, headers },
    sse: { url, enabled: true, headers },
    off: inEntry('enabled', false),
  },
  'hermes-agent': { ...plain, sse: carried.sse, off: inEntry('enabled', false) },
  'amazon-q': { stdio: command, http: typed.http, sse: null, off: inEntry('disabled', true) },
  'roo-code': {
    stdio: command,
    http: { type: 'streamable-http', ...address },
    sse: typed.sse,
    off: inEntry('disabled', true),
  },
  continue: {
    stdio: { name: 'docs', ...typed.stdio },
    http: { name: 'docs', type: 'streamable-http', url, requestOptions: { headers } },
    sse: { name: 'docs', type: 'sse', url, requestOptions: { headers } },
    off: null,
  },
  'kimi-code': { ...carried, off: inEntry('enabled', false) },
  'mistral-vibe': {
    stdio: { name: 'docs', ...carried.stdio },
    http: { name: 'docs', transport: 'streamable-http', ...address },
    sse: null,
    off: inEntry('disabled', true),
  },
  'rovo-dev': {
    ...carried,
    off: inFile(`${home}/.rovodev/config.yml`, ['mcp', 'disabledMcpServers', { item: 'docs' }], 'docs'),
  },
  mcporter: { ...plain, off: null },
  sema4: { stdio: carried.stdio, http: null, sse: null, off: null },
}

/** Agents that start commands without a shell on Windows. */
const WITH_CMD = ['claude-code', 'claude-desktop', 'cursor', 'cline', 'visual-studio']

test('every agent of the catalogue is in the table', () => {
  expect(Object.keys(EXPECTED).toSorted()).toEqual(AGENTS.map(({ type }) => type).toSorted())
})

test.each(Object.entries(EXPECTED))('%s: entries are as documented, field by field', (type, expected) => {
  const agent = agentOf(type)
  const os = type === 'visual-studio' ? 'win32' : 'linux'
  // As text, so that the order of the fields counts too.
  expect(JSON.stringify(writeEntry(agent, 'docs', STDIO, os))).toBe(JSON.stringify(expected.stdio))
  for (const kind of ['http', 'sse'] as const) {
    const write = () => writeEntry(agent, 'docs', remote(kind), os)
    if (expected[kind]) expect(JSON.stringify(write())).toBe(JSON.stringify(expected[kind]))
    else expect(write).toThrow(NotSupported)
  }
})

test.each(Object.entries(EXPECTED))('%s: a server is disabled as documented', (type, { off }) => {
  const agent = agentOf(type)
  const platform = computer({ os: type === 'visual-studio' ? 'win32' : 'linux' })
  const config = configFilesOf(agent, platform).find(({ scope }) => scope === 'user')
  if (!config) throw new Error('no config file')
  const found = switchOf({ agent, config, platform, project: '/p' }, 'docs', false)

  if (off) expect(found).toMatchObject(off)
  else expect(found).toEqual({ kind: 'none', reason: expect.stringMatching(/\w/) })
})

test.each(Object.keys(EXPECTED))(
  '%s: npx is wrapped in cmd on Windows if the agent starts commands without a shell',
  (type) => {
    const agent = agentOf(type)
    const text = JSON.stringify(writeEntry(agent, 'docs', STDIO, 'win32'))
    expect(text.includes('["/c","npx","-y","pkg"]')).toBe(WITH_CMD.includes(type))

    const uvx = writeEntry(agent, 'docs', { ...STDIO, command: 'uvx' }, 'win32')
    expect(JSON.stringify(uvx)).not.toContain('/c')
  },
)

test('empty fields are left out unless the agent needs them', () => {
  const bare: Definition = { type: 'stdio', command: 'x', args: [], env: {}, cwd: null }
  expect(writeEntry(agentOf('cursor'), 'docs', bare, 'linux')).toEqual({ command: 'x' })
  expect(writeEntry(agentOf('zed'), 'docs', bare, 'linux')).toEqual({ command: 'x', args: [] })
  expect(writeEntry(agentOf('goose'), 'docs', bare, 'linux')).toMatchObject({ cmd: 'x', args: [] })
  const open: Definition = { type: 'http', url, headers: {} }
  expect(writeEntry(agentOf('continue'), 'docs', open, 'linux')).toEqual({
    name: 'docs',
    type: 'streamable-http',
    url,
  })
})

test('the refusal of an unsupported definition says what to do', () => {
  const desktop = () => writeEntry(agentOf('claude-desktop'), 'docs', remote('http'), 'linux')
  expect(desktop).toThrow(
    'Claude Desktop does not support Streamable HTTP in its file. Add the server in the app under Settings > Connectors',
  )
  const folder = () => writeEntry(agentOf('cursor'), 'docs', { ...STDIO, cwd: '/srv' }, 'linux')
  expect(folder).toThrow('Cursor does not support a working folder')
  expect(writeEntry(agentOf('codex'), 'docs', { ...STDIO, cwd: '/srv' }, 'linux')).toMatchObject({
    cwd: '/srv',
  })
})

function agentOf(type: string): Agent {
  const agent = findAgent(type)
  if (!agent) throw new Error(`no agent ${type}`)
  return agent
}
