import { describe, expect, test } from 'vitest'
import { OFFER_DEFAULTS, type OfferSettings } from '../../servers/shared/tool-settings.ts'
import { type AgentToolList, AgentToolLists, type ServerTools } from './agent-tool-lists.ts'
import { type AgentTools, DEFAULT_AGENT_TOOLS } from './visibility.schema.ts'

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more })

const server = (
  id: string,
  names: readonly string[],
  settings: Partial<OfferSettings> = {},
): ServerTools => ({
  id,
  tools: names.map((name) => tool(name)),
  settings: { ...OFFER_DEFAULTS, ...settings },
})

const off = { enabled: false, alias: null }
const aliased = (alias: string) => ({ enabled: true, alias })

const namesIn = (list: AgentToolList | undefined) =>
  JSON.parse(String(list?.result.legacy ?? '{"tools":[]}')).tools.map(({ name }: { name: string }) => name)

function toolListsOf(
  servers: readonly ServerTools[],
  settingsByAgent: Record<string, Partial<AgentTools>> = {},
) {
  const records = new Map(
    Object.entries(settingsByAgent).map(([agent, settings]) => [
      agent,
      { ...DEFAULT_AGENT_TOOLS, ...settings },
    ]),
  )
  return new AgentToolLists(
    () => servers,
    (agent) => records.get(agent),
  )
}

test('tools have gateway names at /mcp, and their own names at the endpoint of one server', () => {
  const toolLists = toolListsOf([server('zoo', ['feed']), server('files', ['read', 'write'])])
  expect(namesIn(toolLists.of(undefined))).toEqual(['files__read', 'files__write', 'zoo__feed'])
  expect(namesIn(toolLists.of('files'))).toEqual(['read', 'write'])
  expect(toolLists.of('unknown')).toBeUndefined()
  expect(toolLists.of(undefined)?.find('files__read')).toMatchObject({ server_id: 'files', tool: 'read' })
})

test('a server that is not exposed offers no tools', () => {
  const toolLists = toolListsOf([server('files', ['read'], { expose: false }), server('zoo', ['feed'])])
  expect(namesIn(toolLists.of(undefined))).toEqual(['zoo__feed'])
  expect(toolLists.of('files')).toBeUndefined()
  expect(toolLists.namesOf('files').size).toBe(0)
})

test('a disabled tool is not offered, and a tool with an alias is found only by its alias', () => {
  const tools = { write: off, read: aliased('view') }
  const toolLists = toolListsOf([server('files', ['read', 'write', 'constructor'], { tools })])
  expect(namesIn(toolLists.of(undefined))).toEqual(['files__view', 'files__constructor'])
  expect(namesIn(toolLists.of('files'))).toEqual(['view', 'constructor'])
  for (const [path, prefix] of [
    [undefined, 'files__'],
    ['files', ''],
  ] as const) {
    const list = toolLists.of(path)
    expect(list?.find(`${prefix}view`)).toMatchObject({ server_id: 'files', tool: 'read' })
    expect(list?.find(`${prefix}read`)).toBeUndefined()
    expect(list?.find(`${prefix}write`)).toBeUndefined()
  }
  expect([...toolLists.namesOf('files')]).toEqual([
    ['read', 'files__view'],
    ['constructor', 'files__constructor'],
  ])
})

test('an alias changes only the name in a definition', () => {
  const definition = tool('read', {
    title: 'Read',
    _meta: { 'x.y/z': 1 },
    annotations: { readOnlyHint: true },
  })
  const settings = { expose: true, tools: { read: aliased('view') } }
  const toolLists = toolListsOf([{ id: 'files', tools: [definition], settings }])
  for (const [path, name] of [
    [undefined, 'files__view'],
    ['files', 'view'],
  ] as const)
    expect(JSON.parse(String(toolLists.of(path)?.result.modern))).toEqual({
      resultType: 'complete',
      tools: [{ ...definition, name }],
      ttlMs: expect.any(Number),
      cacheScope: 'private',
    })
})

test('an alias that equals the name of another tool is a conflict, and the other tool keeps its name', () => {
  const toolLists = toolListsOf([
    server('files', ['read', 'read_all'], { tools: { read_all: aliased('read') } }),
  ])
  expect(toolLists.of('files')?.find('read')?.tool).toBe('read')
  expect(namesIn(toolLists.of('files'))).toEqual(['read'])
  expect(toolLists.conflicts).toMatchObject([{ server_id: 'files', kind: 'tool', name: 'read_all' }])
})

test('a tool with an invalid x-mcp-header is not offered, and the conflict gives the reason', () => {
  const inputSchema = { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }
  const tools = [tool('good'), tool('bad', { inputSchema })]
  const toolLists = toolListsOf([{ id: 'files', tools, settings: OFFER_DEFAULTS }])
  expect(namesIn(toolLists.of(undefined))).toEqual(['files__good'])
  expect(namesIn(toolLists.of('files'))).toEqual(['good'])
  expect(toolLists.conflicts).toEqual([
    { server_id: 'files', kind: 'tool', name: 'bad', reason: expect.stringContaining('x-mcp-header') },
  ])
})

test('an agent sees and finds only the servers and tools that are selected for it', () => {
  const servers = [server('files', ['read', 'write']), server('zoo', ['feed']), server('mail', ['send'])]
  const toolLists = toolListsOf(servers, {
    cursor: { servers: ['files', 'zoo', 'gone'], tools: { files: ['read'] } },
  })
  const list = toolLists.of(undefined, 'cursor')
  expect(namesIn(list)).toEqual(['files__read', 'zoo__feed'])
  expect(list?.servers).toEqual(['files', 'zoo'])
  expect(list?.find('files__write')).toBeUndefined()
  expect(namesIn(toolLists.of('files', 'cursor'))).toEqual(['read'])
  expect(toolLists.of('mail', 'cursor')).toBeUndefined()
  expect(namesIn(toolLists.of(undefined, 'codex'))).toHaveLength(4)
})

test('an empty selection hides all tools of a server, and a tool with an alias is selected by its own name', () => {
  const servers = [
    server('files', ['read', 'write'], { tools: { read: aliased('view') } }),
    server('zoo', ['feed']),
  ]
  const toolLists = toolListsOf(servers, {
    cursor: { tools: { files: [] } },
    codex: { tools: { files: ['read'] } },
  })
  expect(namesIn(toolLists.of(undefined, 'cursor'))).toEqual(['zoo__feed'])
  expect(namesIn(toolLists.of(undefined, 'codex'))).toEqual(['files__view', 'zoo__feed'])
})

test('a tool with a conflicting name is hidden from all agents, even from one that sees only that tool', () => {
  const servers = [server('a-b', ['x']), server('a_b', ['x'])]
  const toolLists = toolListsOf(servers, { cursor: { servers: ['a_b'] } })
  expect(namesIn(toolLists.of(undefined, 'cursor'))).toEqual([])
  expect(toolLists.namesOf('a_b').size).toBe(0)
})

test('in search mode two tools are listed, and all tools are found', () => {
  const toolLists = toolListsOf([server('files', ['read', 'write'])], { cursor: { tool_mode: 'search' } })
  const list = toolLists.of(undefined, 'cursor')
  expect(list?.mode).toBe('search')
  expect(namesIn(list)).toEqual(['find_tools', 'call_tool'])
  expect(list?.find('files__write')).toMatchObject({ tool: 'write' })
  expect(list?.search('write', 10)).toMatchObject({ total: 1, tools: [{ name: 'files__write' }] })
})

test('tool lists are cached until something changes', () => {
  const servers = [server('files', ['read'])]
  const settingsByAgent = new Map<string, AgentTools>()
  const toolLists = new AgentToolLists(
    () => servers,
    (agent) => settingsByAgent.get(agent),
  )
  const before = toolLists.of(undefined, 'cursor')
  expect(toolLists.of(undefined, 'cursor')).toBe(before)
  expect(toolLists.of(undefined, 'codex')).toBe(before)
  settingsByAgent.set('cursor', { ...DEFAULT_AGENT_TOOLS, servers: [] })
  toolLists.settingsChanged('cursor')
  expect(namesIn(toolLists.of(undefined, 'cursor'))).toEqual([])
  expect(toolLists.of(undefined, 'codex')).toBe(before)
  servers.push(server('zoo', ['feed']))
  toolLists.changed()
  expect(namesIn(toolLists.of(undefined, 'codex'))).toEqual(['files__read', 'zoo__feed'])
})

describe('pages of MCP Apps', () => {
  const app = (visibility?: string[]) => ({ _meta: { ui: { resourceUri: 'ui://x/view.html', visibility } } })
  const servers = ['one', 'two'].map((id) => ({
    ...server(id, []),
    tools: [
      tool('show', app()),
      tool('refresh', app(['app'])),
      tool('both', app(['model', 'app'])),
      tool('call_tool'),
    ],
  }))
  const lists = toolListsOf([...servers, server('zoo', ['feed'])], { searcher: { tool_mode: 'search' } })
  const namesOf = (list: AgentToolList | undefined, name: string) =>
    list?.ownNamed(name).map((each) => each.name)

  test('tools are found by the names that they have on their servers, at /mcp only', () => {
    expect(namesOf(lists.of(undefined), 'show')).toEqual(['one__show', 'two__show'])
    expect(namesOf(lists.of(undefined), 'feed')).toEqual(['zoo__feed'])
    expect(namesOf(lists.of(undefined), 'zoo__feed')).toEqual([])
    expect(namesOf(lists.of('zoo'), 'feed')).toEqual([])
    // In search mode this name is that of our own tool.
    expect(namesOf(lists.of(undefined), 'call_tool')).toHaveLength(2)
    expect(namesOf(lists.of(undefined, 'searcher'), 'call_tool')).toEqual([])
    expect(namesOf(lists.of(undefined, 'searcher'), 'show')).toHaveLength(2)
  })

  test('the pages of tools have our URIs at /mcp, and their own at the endpoint of the server', () => {
    const pageAt = (path: string | undefined) =>
      JSON.parse(String(lists.of(path)?.result.legacy)).tools[0]._meta.ui.resourceUri
    expect(pageAt(undefined)).toBe('ui://one/x/view.html')
    expect(pageAt('two')).toBe('ui://x/view.html')
  })

  test('a search does not find tools that are for a page alone, which hosts hide from the model', () => {
    const found = (query: string) =>
      lists
        .of(undefined, 'searcher')
        ?.search(query, 5)
        .tools.map(({ name }) => name)
    expect(found('refresh')).toEqual([])
    expect(found('show')).toEqual(['one__show', 'two__show'])
    expect(found('both')).toEqual(['one__both', 'two__both'])
    expect(namesIn(lists.of('one'))).toEqual(['show', 'refresh', 'both', 'call_tool'])
  })
})

test('a search finds no tool of a stopped server and no held one, and a tool that is not known yet is found only by agents that may call it', () => {
  const stopped = { ...server('files', ['read']), isStopped: true }
  const servers = [stopped, server('zoo', ['feed', 'clean'])]
  const settings = { ...DEFAULT_AGENT_TOOLS, servers: ['zoo'], tools: { zoo: ['feed'] } }
  const toolLists = new AgentToolLists(
    () => servers,
    (agent) => (agent === 'limited' ? settings : undefined),
    (_, { name }) => name === 'clean',
  )
  const list = toolLists.of(undefined)
  for (const query of ['read', 'clean']) expect(list?.search(query, 10).tools).toEqual([])
  expect(list?.search('feed', 10).tools).toHaveLength(1)
  expect(toolLists.unlisted('files', 'read', 'other')).toMatchObject({ server_id: 'files', tool: 'read' })
  expect(toolLists.unlisted('files', 'read', 'limited')).toBeUndefined()
  expect(toolLists.unlisted('zoo', 'clean', 'limited')).toBeUndefined()
  expect(toolLists.unlisted('zoo', 'feed', 'limited')).toMatchObject({ tool: 'feed' })
})
