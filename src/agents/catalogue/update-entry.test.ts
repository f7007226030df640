import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { computer } from '../../../test/support/test-computer.ts'
import { AGENTS, configFilesOf, findAgent } from './agent-catalogue.ts'
import type { Agent } from './agent-record.ts'
import { switchOf } from './enable-switch.ts'
import type { Json } from './json-value.ts'
import { readEntry } from './read-entry.ts'
import type { Definition } from './server-definition.ts'
import { type FieldChange, updateOf } from './update-entry.ts'
import { writeEntry } from './write-entry.ts'

const url = 'https://host/mcp'
const http: Definition = { type: 'http', url, headers: {} }
const sse: Definition = { type: 'sse', url, headers: { A: 'b' } }
const stdio: Definition = { type: 'stdio', command: 'npx', args: ['x'], env: {}, cwd: null }

describe.each(AGENTS.map((agent) => [agent.type, agent] as const))('%s', (_, agent) => {
  const alike = JSON.stringify(agent.sse?.entry) === JSON.stringify(agent.http?.entry)
  const definitions = definitionsFor(agent)
  const extra = { timeout: 7, oauth: { token: 't' }, trust: true, x_note: ['kept'] }
  const os = fc.constantFrom('linux' as const, 'win32' as const)

  test('an update turns any entry into any other and keeps unknown fields', () => {
    fc.assert(
      fc.property(definitions, definitions, os, (before, after, system) => {
        const old = { ...writeEntry(agent, 'docs', before, system), ...extra }
        const changed = apply(old, updateOf(agent, 'docs', old, after, system))
        const type = after.type === 'sse' && alike ? 'http' : after.type
        expect(readEntry(agent, 'docs', changed)).toMatchObject({ problem: null })
        expect(readEntry(agent, 'docs', changed).definition).toEqual({ ...after, type })
        expect(changed).toMatchObject(extra)
        // A second update has nothing to change.
        expect(updateOf(agent, 'docs', changed, after, system)).toEqual([])
      }),
      { numRuns: 40 },
    )
  })

  test('an entry with the same definition is not changed, even if another system wrote it', () => {
    fc.assert(
      fc.property(definitions, os, os, (definition, here, there) => {
        const old = { ...writeEntry(agent, 'docs', definition, there), ...extra }
        expect(updateOf(agent, 'docs', old, definition, here)).toEqual([])
      }),
      { numRuns: 20 },
    )
  })
})

test.each<[string, string, Record<string, Json>, Definition, readonly FieldChange[]]>([
  ['cursor', 'one argument', { command: 'npx', args: ['y'] }, stdio, [set(['args'], ['x'])]],
  ['cursor', 'no arguments', { command: 'npx', args: ['y'] }, { ...stdio, args: [] }, [set(['args'])]],
  [
    'cursor',
    'variables one by one',
    { command: 'npx', args: ['x'], env: { OLD: '1', SAME: '2' } },
    { ...stdio, env: { SAME: '2', NEW: '3' } },
    [set(['env', 'NEW'], '3'), set(['env', 'OLD'])],
  ],
  ['cursor', 'the last variable', { command: 'npx', args: ['x'], env: { A: '1' } }, stdio, [set(['env'])]],
  ['cursor', 'an empty map', { command: 'npx', args: ['x'], env: {} }, stdio, []],
  [
    'cursor',
    'a type that contradicts the transport',
    { type: 'stdio', command: 'npx', args: ['x'] },
    http,
    [set(['type']), set(['url'], url), set(['command']), set(['args'])],
  ],
  [
    'codex',
    'command to URL',
    { command: 'npx', env: { A: '1' }, cwd: '/', tool_timeout_sec: 5 },
    http,
    [set(['url'], url), set(['command']), set(['env']), set(['cwd'])],
  ],
  [
    'codex',
    'URL to command',
    { url, http_headers: { A: 'b' }, bearer_token_env_var: 'T' },
    stdio,
    [set(['command'], 'npx'), set(['args'], ['x']), set(['url']), set(['http_headers'])],
  ],
  ['gemini-cli', 'an old field name', { httpUrl: 'https://old' }, http, [set(['httpUrl'], url)]],
  [
    'gemini-cli',
    'an old field name that takes precedence',
    { httpUrl: url },
    sse,
    [set(['type'], 'sse'), set(['url'], url), set(['headers'], { A: 'b' }), set(['httpUrl'])],
  ],
  [
    'qwen-code',
    'a URL in the field of another transport',
    { type: 'http', url },
    http,
    [set(['httpUrl'], url), set(['url'])],
  ],
  ['devin-desktop', 'an alias of a field', { url: 'https://old' }, http, [set(['url'], url)]],
  ['claude-code', 'a missing type', { url }, http, [set(['type'], 'http')]],
  ['claude-code', 'an alias of the type', { type: 'streamable-http', url }, http, []],
  ['visual-studio', 'a type that SSE needs', { url, headers: { A: 'b' } }, sse, [set(['type'], 'sse')]],
  [
    'opencode',
    'a command that is not a list',
    { type: 'local', command: 'npx' },
    stdio,
    [set(['command'], ['npx', 'x'])],
  ],
  [
    'kilo-code',
    'an alias of a field',
    { type: 'local', command: ['npx', 'x'], env: { A: '1' } },
    stdio,
    [set(['env'])],
  ],
  [
    'cline',
    'inside transport',
    { transport: { type: 'stdio', command: 'npx' }, autoApprove: ['t'] },
    http,
    [
      set(['transport', 'type'], 'streamableHttp'),
      set(['transport', 'url'], url),
      set(['transport', 'command']),
    ],
  ],
  [
    'continue',
    'headers with their parent',
    { name: 'docs', type: 'sse', url, requestOptions: { headers: { A: 'b' } } },
    stdio,
    [
      set(['type'], 'stdio'),
      set(['command'], 'npx'),
      set(['args'], ['x']),
      set(['url']),
      set(['requestOptions']),
    ],
  ],
  [
    'continue',
    'headers without their neighbour',
    { name: 'docs', type: 'sse', url, requestOptions: { timeout: 1, headers: { A: 'b' } } },
    { ...sse, headers: {} },
    [set(['requestOptions', 'headers'])],
  ],
  [
    'goose',
    'a required field',
    { type: 'stdio', cmd: 'npx', args: ['x'] },
    stdio,
    [set(['name'], 'docs'), set(['enabled'], true)],
  ],
  [
    'goose',
    'the shown name',
    { name: 'Do cs', type: 'stdio', enabled: false, cmd: 'npx', args: ['x'] },
    stdio,
    [],
  ],
  [
    'claude-desktop',
    'fields of an unsupported transport',
    { url, headers: {} },
    stdio,
    [set(['command'], 'npx'), set(['args'], ['x']), set(['url']), set(['headers'])],
  ],
  [
    'hermes-agent',
    'a number equal to the string',
    { command: 'npx', args: ['x'], env: { PORT: 80 } },
    { ...stdio, env: { PORT: '80' } },
    [],
  ],
])('an entry of %s is updated with the fewest changes: %s', (type, _, old, definition, expected) => {
  expect(updateOf(agentOf(type), 'docs', old, definition, 'linux')).toEqual(expected)
})

test('an existing cmd /c on Windows is kept', () => {
  const old = { command: 'cmd', args: ['/c', 'npx', 'y'] }
  const update = (os: 'win32' | 'linux') => updateOf(agentOf('warp'), 'docs', old, stdio, os)
  expect(update('win32')).toEqual([set(['args'], ['/c', 'npx', 'x'])])
  expect(update('linux')).toEqual([set(['command'], 'npx'), set(['args'], ['x'])])
})

describe('switch', () => {
  const platform = computer({ os: 'linux' })
  const turn = (
    type: string,
    enabled: boolean,
    more: { scope?: string; project?: string; keyPath?: string[] } = {},
  ) => {
    const { scope = 'user', project = '/p', keyPath } = more
    const config = configFilesOf(agentOf(type), platform, '/p').find((each) => each.scope === scope)
    if (!config) throw new Error(`no config file ${scope}`)
    const at = keyPath ? { ...config, keyPath } : config
    return switchOf(
      { agent: agentOf(type), config: at, platform, project: project || undefined },
      'My Docs',
      enabled,
    )
  }

  test('enabling a disabled entry restores it exactly', () => {
    expect(turn('codex', true)).toEqual({ kind: 'in_entry', field: 'enabled', value: undefined })
    expect(turn('goose', true)).toEqual({ kind: 'in_entry', field: 'enabled', value: true })
    expect(turn('cline', true)).toEqual({ kind: 'in_entry', field: 'disabled', value: false })
  })

  test('the flag depends on the key path of the entry', () => {
    expect(turn('opencode', false, { keyPath: ['mcp', 'servers'] })).toEqual({
      kind: 'in_entry',
      field: 'disabled',
      value: true,
    })
  })

  test('enabling removes the name from the list in another file', () => {
    expect(turn('gemini-cli', true)).toMatchObject({ at: ['my docs'], value: undefined })
    expect(turn('github-copilot-cli', true)).toMatchObject({
      at: ['disabledMcpServers', { item: 'My Docs' }],
      value: undefined,
    })
  })

  test('Claude Code disables servers per project, with another list for servers of the project', () => {
    expect(turn('claude-code', false, { scope: 'project' })).toMatchObject({
      at: ['projects', '/p', 'disabledMcpjsonServers', { item: 'My Docs' }],
    })
    expect(turn('claude-code', false, { project: '' })).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining('project'),
    })
  })

  test('an entry in a read-only file cannot be disabled', () => {
    expect(turn('opencode', false, { scope: 'managed' }).kind).toBe('none')
  })
})

function set(field: readonly string[], value?: Json): FieldChange {
  return { field, value }
}

function definitionsFor(agent: Agent): fc.Arbitrary<Definition> {
  const map = fc.dictionary(fc.constantFrom('A', 'B', '__proto__', 'a.b'), fc.constantFrom('', '1', '2'), {
    noNullPrototype: true,
  })
  const words = fc.constantFrom('npx', 'uvx', '-y', 'a b', '/c')
  const hasFolder = Object.values(agent.stdio.entry).includes('<cwd>')
  const cwd = hasFolder ? fc.constantFrom(null, '/srv') : fc.constant(null)
  const local = fc.record({
    type: fc.constant('stdio' as const),
    command: words,
    args: fc.array(words),
    env: map,
    cwd,
  })
  const kinds = (['http', 'sse'] as const).filter((kind) => agent[kind])
  const remote = kinds.map((kind) =>
    fc.record({ type: fc.constant(kind), url: fc.constantFrom(url, 'https://b'), headers: map }),
  )
  return fc.oneof<fc.Arbitrary<Definition>[]>(local, ...remote)
}

/** Applies the changes to a parsed entry. */
function apply(entry: Record<string, Json>, changes: readonly FieldChange[]): Record<string, Json> {
  return changes.reduce((value, change) => put(value, change.field, change.value), entry)
}

function put(
  map: Record<string, Json>,
  [name = '', ...rest]: readonly string[],
  value: Json | undefined,
): Record<string, Json> {
  const inner = Object.hasOwn(map, name) ? map[name] : {}
  const next = rest.length === 0 ? value : put(inner as Record<string, Json>, rest, value)
  const others = Object.entries(map).filter(([key]) => key !== name)
  return Object.fromEntries(next === undefined ? others : [...others, [name, next]])
}

function agentOf(type: string): Agent {
  const agent = findAgent(type)
  if (!agent) throw new Error(`no agent ${type}`)
  return agent
}
