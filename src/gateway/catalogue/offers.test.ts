import { expect, test } from 'vitest'
import { OFFER_DEFAULTS, type OfferSettings } from '../../upstreams/server-fields.ts'
import { type AgentTools, EVERYTHING } from '../visibility/visibility.schema.ts'
import { type Offer, type Offering, Offers } from './offers.ts'

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more })

const server = (id: string, names: readonly string[], settings: Partial<OfferSettings> = {}): Offering => ({
  id,
  tools: names.map((name) => tool(name)),
  settings: { ...OFFER_DEFAULTS, ...settings },
})

const off = { enabled: false, alias: null }
const as = (alias: string) => ({ enabled: true, alias })

const listed = (offer: Offer | undefined) =>
  JSON.parse(offer?.list.legacy ?? '{"tools":[]}').tools.map(({ name }: { name: string }) => name)

function offersOf(offered: readonly Offering[], sights: Record<string, Partial<AgentTools>> = {}) {
  const records = new Map(
    Object.entries(sights).map(([agent, sight]) => [agent, { ...EVERYTHING, ...sight }]),
  )
  return new Offers(
    () => offered,
    (agent) => records.get(agent),
  )
}

test('all tools come together under one roof, and one server alone under its own names', () => {
  const offers = offersOf([server('zoo', ['feed']), server('files', ['read', 'write'])])
  expect(listed(offers.of(undefined))).toEqual(['files__read', 'files__write', 'zoo__feed'])
  expect(listed(offers.of('files'))).toEqual(['read', 'write'])
  expect(offers.of('nobody')).toBeUndefined()
  expect(offers.of(undefined)?.find('files__read')).toMatchObject({ server_id: 'files', tool: 'read' })
})

test('a server that is not exposed is nowhere', () => {
  const offers = offersOf([server('files', ['read'], { expose: false }), server('zoo', ['feed'])])
  expect(listed(offers.of(undefined))).toEqual(['zoo__feed'])
  expect(offers.of('files')).toBeUndefined()
  expect(offers.namesOf('files').size).toBe(0)
})

test('a disabled tool is nowhere, and one with an alias is found by it alone', () => {
  const tools = { write: off, read: as('look') }
  const offers = offersOf([server('files', ['read', 'write', 'constructor'], { tools })])
  expect(listed(offers.of(undefined))).toEqual(['files__look', 'files__constructor'])
  expect(listed(offers.of('files'))).toEqual(['look', 'constructor'])
  for (const [path, prefix] of [
    [undefined, 'files__'],
    ['files', ''],
  ] as const) {
    const offer = offers.of(path)
    expect(offer?.find(`${prefix}look`)).toMatchObject({ server_id: 'files', tool: 'read' })
    expect(offer?.find(`${prefix}read`)).toBeUndefined()
    expect(offer?.find(`${prefix}write`)).toBeUndefined()
  }
  expect([...offers.namesOf('files')]).toEqual([
    ['read', 'files__look'],
    ['constructor', 'files__constructor'],
  ])
})

test('an alias changes the name and nothing else of a definition', () => {
  const definition = tool('read', {
    title: 'Read',
    _meta: { 'x.y/z': 1 },
    annotations: { readOnlyHint: true },
  })
  const settings = { expose: true, tools: { read: as('look') } }
  const offers = offersOf([{ id: 'files', tools: [definition], settings }])
  for (const [path, name] of [
    [undefined, 'files__look'],
    ['files', 'look'],
  ] as const)
    expect(JSON.parse(offers.of(path)?.list.modern ?? '')).toEqual({
      resultType: 'complete',
      tools: [{ ...definition, name }],
      ttlMs: expect.any(Number),
      cacheScope: 'private',
    })
})

test('an alias that is the name of another tool is not both of them', () => {
  const offers = offersOf([server('files', ['read', 'read_all'], { tools: { read_all: as('read') } })])
  expect(offers.of('files')?.find('read')?.tool).toBe('read')
  expect(listed(offers.of('files'))).toEqual(['read'])
  expect(offers.conflicts).toMatchObject([{ server_id: 'files', kind: 'tool', name: 'read_all' }])
})

test('a tool whose schema asks for a header that cannot be is left out, and it is said why', () => {
  const inputSchema = { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }
  const tools = [tool('good'), tool('bad', { inputSchema })]
  const offers = offersOf([{ id: 'files', tools, settings: OFFER_DEFAULTS }])
  expect(listed(offers.of(undefined))).toEqual(['files__good'])
  expect(listed(offers.of('files'))).toEqual(['good'])
  expect(offers.conflicts).toEqual([
    { server_id: 'files', kind: 'tool', name: 'bad', reason: expect.stringContaining('x-mcp-header') },
  ])
})

test('an agent sees its servers and its tools of them, and cannot find the others', () => {
  const offered = [server('files', ['read', 'write']), server('zoo', ['feed']), server('mail', ['send'])]
  const offers = offersOf(offered, {
    cursor: { servers: ['files', 'zoo', 'gone'], tools: { files: ['read'] } },
  })
  const offer = offers.of(undefined, 'cursor')
  expect(listed(offer)).toEqual(['files__read', 'zoo__feed'])
  expect(offer?.servers).toEqual(['files', 'zoo'])
  expect(offer?.find('files__write')).toBeUndefined()
  expect(listed(offers.of('files', 'cursor'))).toEqual(['read'])
  expect(offers.of('mail', 'cursor')).toBeUndefined()
  expect(listed(offers.of(undefined, 'codex'))).toHaveLength(4)
})

test('no tools of a server is not all of them, and what an alias hides is chosen by its own name', () => {
  const offered = [
    server('files', ['read', 'write'], { tools: { read: as('look') } }),
    server('zoo', ['feed']),
  ]
  const offers = offersOf(offered, {
    cursor: { tools: { files: [] } },
    codex: { tools: { files: ['read'] } },
  })
  expect(listed(offers.of(undefined, 'cursor'))).toEqual(['zoo__feed'])
  expect(listed(offers.of(undefined, 'codex'))).toEqual(['files__look', 'zoo__feed'])
})

test('who may see only the twin of another tool does not see it either: names mean the same to everybody', () => {
  const offered = [server('a-b', ['x']), server('a_b', ['x'])]
  const offers = offersOf(offered, { cursor: { servers: ['a_b'] } })
  expect(listed(offers.of(undefined, 'cursor'))).toEqual([])
  expect(offers.namesOf('a_b').size).toBe(0)
})

test('in search mode two tools are listed and all are found', () => {
  const offers = offersOf([server('files', ['read', 'write'])], { cursor: { tool_mode: 'search' } })
  const offer = offers.of(undefined, 'cursor')
  expect(offer?.mode).toBe('search')
  expect(listed(offer)).toEqual(['find_tools', 'call_tool'])
  expect(offer?.find('files__write')).toMatchObject({ tool: 'write' })
  expect(offer?.search('write', 10)).toMatchObject({ total: 1, tools: [{ name: 'files__write' }] })
})

test('what was prepared is kept until something changes', () => {
  const offered = [server('files', ['read'])]
  const sights = new Map<string, AgentTools>()
  const offers = new Offers(
    () => offered,
    (agent) => sights.get(agent),
  )
  const before = offers.of(undefined, 'cursor')
  expect(offers.of(undefined, 'cursor')).toBe(before)
  expect(offers.of(undefined, 'codex')).toBe(before)
  sights.set('cursor', { ...EVERYTHING, servers: [] })
  offers.settingsChanged('cursor')
  expect(listed(offers.of(undefined, 'cursor'))).toEqual([])
  expect(offers.of(undefined, 'codex')).toBe(before)
  offered.push(server('zoo', ['feed']))
  offers.changed()
  expect(listed(offers.of(undefined, 'codex'))).toEqual(['files__read', 'zoo__feed'])
})
