import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AGENTS, findAgent } from './agent-catalogue.ts'
import type { Json } from './json-value.ts'
import { readEntry } from './read-entry.ts'
import type { Definition } from './server-definition.ts'
import { writeEntry } from './write-entry.ts'

const NASTY = [
  '',
  ' ',
  '"',
  '\\',
  "'",
  '\n\t\r',
  '$' + '{HOME}',
  '$(id)',
  '%PATH%',
  '<command>',
  '#',
  '漢字 🦄',
  '=',
  'null',
]
const text = fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: 'binary' }))
const map = fc.dictionary(fc.oneof(fc.constantFrom('__proto__', 'toString', 'a.b', 'type'), text), text, {
  noNullPrototype: true,
})
const command = fc.oneof(fc.constantFrom('npx', 'npm', 'uvx', 'C:\\a b\\c.exe'), fc.string({ minLength: 1 }))

describe.each(AGENTS.map((agent) => [agent.type, agent] as const))('%s', (_, agent) => {
  const hasFolder = Object.values(agent.stdio.entry).includes('<cwd>')
  const back = (definition: Definition, os: 'linux' | 'win32') => {
    const read = readEntry(agent, 'docs', writeEntry(agent, 'docs', definition, os))
    expect(read).toMatchObject({ problem: null })
    expect(read.enabled).toBe(agent.disabled.kind === 'entry-flag' ? true : null)
    return read.definition
  }

  test('a command that is written for this agent is read back unchanged', () => {
    const cwd = hasFolder ? fc.option(fc.string({ minLength: 1 })) : fc.constant(null)
    const definitions = fc.record({
      type: fc.constant('stdio' as const),
      command,
      args: fc.array(text),
      env: map,
      cwd,
    })
    fc.assert(
      fc.property(definitions, fc.constantFrom('linux', 'win32'), (definition, os) => {
        expect(back(definition, os)).toEqual(definition)
      }),
      { numRuns: 30 },
    )
  })

  test('a URL that is written for this agent is read back unchanged', () => {
    const kinds = (['http', 'sse'] as const).filter((kind) => agent[kind])
    for (const type of kinds) {
      // If the agent detects the transport, both are written the same and read as HTTP.
      const alike = JSON.stringify(agent.sse?.entry) === JSON.stringify(agent.http?.entry)
      const definitions = fc.record({ type: fc.constant(type), url: text, headers: map })
      fc.assert(
        fc.property(definitions, (definition) => {
          expect(back(definition, 'linux')).toEqual({ ...definition, type: alike ? 'http' : type })
        }),
        { numRuns: 20 },
      )
    }
  })
})

const url = 'https://host/mcp'
const stdio = (more: Partial<Definition> = {}) => ({
  type: 'stdio',
  command: 'npx',
  args: ['x'],
  env: {},
  cwd: null,
  ...more,
})
const remote = (type: 'http' | 'sse', headers = {}) => ({ type, url, headers })

describe('other notations', () => {
  test.each<[string, Json, object]>([
    ['claude-code', { command: 'npx', args: ['x'] }, stdio()],
    ['claude-code', { type: 'streamable-http', url }, remote('http')],
    ['claude-code', { command: 'CMD.exe', args: ['/C', 'npx', 'x'] }, stdio()],
    ['github-copilot-cli', { type: 'stdio', command: 'npx', args: ['x'] }, stdio()],
    ['gemini-cli', { httpUrl: url, url: 'https://other' }, remote('http')],
    ['gemini-cli', { url }, remote('http')],
    ['gemini-cli', { url, type: 'sse' }, remote('sse')],
    ['cline', { url }, remote('sse')],
    ['cline', { transport: { type: 'stdio', command: 'npx', args: ['x'] } }, stdio()],
    [
      'cline',
      { transport: { type: 'streamableHttp', url, headers: { A: 'b' } } },
      remote('http', { A: 'b' }),
    ],
    ['cursor', { type: 'sse', url }, remote('sse')],
    ['kiro', { type: 'streamable-http', url }, remote('http')],
    ['devin-desktop', { url }, remote('http')],
    ['devin-desktop', { serverUrl: url }, remote('http')],
    ['warp', { serverUrl: url }, remote('http')],
    ['vscode', { url }, remote('http')],
    ['kilo-code', { type: 'local', command: ['npx', 'x'], env: { A: 'b' } }, stdio({ env: { A: 'b' } })],
    ['qwen-code', { url }, remote('sse')],
    ['codex', { url, bearer_token_env_var: 'T', startup_timeout_sec: 3 }, remote('http')],
    ['hermes-agent', { command: 'npx', args: ['x'], env: { PORT: 80 } }, stdio({ env: { PORT: '80' } })],
    ['continue', { name: 'docs', url }, remote('http')],
    ['mistral-vibe', { name: 'docs', transport: 'http', url }, remote('http')],
  ])('%s reads the entry %j', (type, entry, definition) => {
    expect(read(type, entry)).toMatchObject({ definition, problem: null })
  })
})

describe('ignored entries', () => {
  const secret = 's3cret'
  test.each<[string, Json, string, object | null]>([
    ['claude-code', { url }, "ignores an entry without 'type'", remote('http')],
    ['claude-code', { type: 'streamableHttp', url }, "does not support this value of 'type'", remote('http')],
    ['claude-code', { type: secret, url }, "does not support this value of 'type'", remote('http')],
    ['claude-code', { type: 'http', command: 'npx', args: ['x'] }, 'contradicts the other fields', stdio()],
    ['opencode', { type: 'local', command: 'npx', args: ['x'] }, 'its command must be a list', stdio()],
    ['cursor', { command: ['npx', 'x'] }, 'its command must be a string', stdio()],
    ['codex', { url, headers: { A: secret } }, "it reads 'http_headers'", remote('http')],
    ['codex', { url, bearer_token: secret }, 'rejects its whole file', remote('http')],
    ['codex', { url, command: 'npx', args: ['x'] }, 'has a command and a URL', stdio()],
    ['codex', { url, type: 'sse' }, 'does not support SSE', remote('sse')],
    ['claude-desktop', { url, type: 'http' }, 'Settings > Connectors', remote('http')],
    ['qwen-code', { url, type: 'http' }, 'contradicts the other fields', remote('sse')],
    ['gemini-cli', { command: 'npx', args: ['x'], disabled: true }, 'error at every start', stdio()],
    [
      'goose',
      { name: 'docs', type: 'sse', enabled: true, uri: url },
      'no longer supports SSE',
      remote('sse'),
    ],
    [
      'goose',
      { name: 'docs', type: 'stdio', enabled: true, command: 'npx', args: ['x'] },
      "from 'cmd'",
      stdio(),
    ],
    ['antigravity', { url }, "it reads the URL from 'serverUrl'", remote('http')],
    ['cursor', { command: 'npx', args: [{ a: secret }] }, "cannot read this entry's command", null],
    [
      'cursor',
      { command: 'npx', args: ['x'], env: { A: [secret] } },
      "cannot read this entry's environment",
      stdio(),
    ],
    ['cursor', { url, headers: secret }, "cannot read this entry's headers", remote('http')],
    ['cursor', { note: secret }, 'no command and no URL', null],
    ['cline', { transport: { type: secret } }, "does not support the 'type'", null],
    ['cursor', secret, 'requires an object with named fields', null],
  ])('%s ignores %j, and the problem says why', (type, entry, sentence, definition) => {
    const { problem, ...found } = read(type, entry)
    expect(problem).toContain(sentence)
    expect(problem).not.toContain(secret)
    expect(found.definition).toEqual(definition)
  })
})

test.each<[string, string, Json]>([
  ['claude-code', 'docs', { type: 'ws', url: 'wss://host/ws' }],
  ['goose', 'developer', { type: 'builtin', name: 'developer', enabled: true, timeout: 300 }],
  ['zed', 'some-extension', { source: 'extension', settings: {} }],
  ['zed', 'some-extension', { settings: { token: 'x' } }],
  ['opencode', 'servers', { docs: { type: 'local', command: ['npx'] } }],
  ['opencode', 'docs', { enabled: false }],
])('%s: %s is not a tool server and not a problem', (type, name, entry) => {
  expect(read(type, entry, name)).toMatchObject({ definition: null, problem: null })
})

test.each<[string, Json, boolean | null]>([
  ['codex', { command: 'a', enabled: false }, false],
  ['codex', { command: 'a' }, true],
  ['cline', { command: 'a', disabled: true }, false],
  ['cline', { transport: { type: 'stdio', command: 'a' }, disabled: true }, false],
  ['opencode', { type: 'local', command: ['a'], disabled: true }, false],
  ['claude-code', { command: 'a', disabled: true }, null],
])('%s reads whether %j is enabled', (type, entry, enabled) => {
  expect(read(type, entry).enabled).toBe(enabled)
})

function read(type: string, entry: Json, name = 'docs') {
  const agent = findAgent(type)
  if (!agent) throw new Error(`no agent ${type}`)
  return readEntry(agent, name, entry)
}
