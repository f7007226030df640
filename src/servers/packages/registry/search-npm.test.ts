import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type Fault,
  openRegistry,
  type TestPackage,
  toolPackage,
} from '../../../../test/support/registry/registry.ts'
import { Registry } from './npm-registry.ts'
import { npmSettings } from './npm-settings.ts'
import { FACTS } from './trust-facts.ts'

const NOW = Date.parse('2026-06-01T00:00:00Z')
const open = { credentials: false }
type Options = Parameters<typeof openRegistry>[2]

const plain = (name: string, description: string, keywords: string[] = []) =>
  toolPackage(name, '1.0.0', { manifest: { description, keywords } })

describe('search', () => {
  test('the exact name comes first, then packages about MCP and the query', async () => {
    const registry = await service([
      plain('github-utils', 'Helpers for github'),
      plain('octo', 'Talks to github over the Model Context Protocol'),
      plain('github-mcp-server', 'A github server', ['mcp']),
      plain('github', 'The API of github'),
    ])
    const { items, total, next_from } = await registry.search({ query: 'github' }, open)
    expect(items.map(({ name }) => name)).toEqual(['github', 'github-mcp-server', 'octo', 'github-utils'])
    expect({ total, next_from }).toEqual({ total: 4, next_from: null })
  })

  test('a package that matches the query ranks above a tool server for another purpose', async () => {
    const registry = await service([
      plain('mcp-server-weather', 'An MCP server', ['mcp']),
      plain('pg-helpers', 'Helpers for postgres'),
      plain('db-tools', 'MCP tools for postgres'),
    ])
    const { items } = await registry.search({ query: 'postgres' }, open)
    expect(items.map(({ name }) => name)).toEqual(['db-tools', 'pg-helpers', 'mcp-server-weather'])
  })

  test('mcp_only keeps packages that mention MCP in name, keywords or description', async () => {
    const registry = await service([
      plain('github', 'The API of github'),
      plain('github-mcp', 'Tools'),
      plain('octo', 'github, for MCP clients'),
      plain('cat', 'github', ['model-context-protocol']),
      plain('ghfastmcp', 'github'),
      plain('github-mcpherson', 'A person on github'),
    ])
    const { items } = await registry.search({ query: 'github', mcp_only: true }, open)
    expect(items.map(({ name }) => name).sort()).toEqual(['cat', 'ghfastmcp', 'github-mcp', 'octo'])
  })

  test('pages do not overlap, and they end', async () => {
    const registry = await service(
      Array.from({ length: 45 }, (_, index) => plain(`notes-mcp-${index}`, 'Notes')),
    )
    const names: string[] = []
    let from: number | null = 0
    for (let pages = 0; from !== null && pages < 9; pages += 1) {
      const page = await registry.search({ query: 'notes mcp', from, size: 20 }, open)
      expect(page.total).toBe(45)
      names.push(...page.items.map(({ name }) => name))
      from = page.next_from
    }
    expect(from).toBeNull()
    expect(new Set(names).size).toBe(45)
    expect(names).toHaveLength(45)
  })

  test('a page has 20 items by default and 50 at most', async () => {
    const registry = await service(
      Array.from({ length: 60 }, (_, index) => plain(`notes-mcp-${index}`, 'Notes')),
    )
    expect((await registry.search({ query: 'mcp' }, open)).items).toHaveLength(20)
    expect((await registry.search({ query: 'mcp', size: 1000 }, open)).items).toHaveLength(50)
    expect((await registry.search({ query: 'mcp', from: 1000 }, open)).items).toEqual([])
  })

  test('a search without matches is an empty list', async () => {
    const registry = await service([plain('a', 'b')])
    expect(await registry.search({ query: 'zzz yyy' }, open)).toEqual({
      items: [],
      total: 0,
      next_from: null,
      search_available: true,
    })
  })

  test('a missing version is taken from the tag latest', async () => {
    const registry = await service([plain('notes-mcp', 'Notes')], {}, { search: 'no_version' })
    expect((await registry.search({ query: 'notes mcp' }, open)).items[0]).toMatchObject({ version: '1.0.0' })
  })

  test('the exact name is found even when the search of the registry omits it', async () => {
    const registry = await service([plain('unlisted', 'Nothing')])
    const { items } = await registry.search({ query: 'unlisted' }, open)
    expect(items[0]?.name).toBe('unlisted')
  })

  test('a failed lookup of the exact name does not fail the search', async () => {
    const registry = await service([plain('notes', 'x'), plain('notes-mcp', 'x')], { notes: 'server_error' })
    expect((await registry.search({ query: 'notes' }, open)).items.map(({ name }) => name)).toContain(
      'notes-mcp',
    )
  })
})

describe('a registry without search', () => {
  const off: Options = { search: 'off' }

  test('an exact name is found without search, and search_available is false', async () => {
    const registry = await service([plain('notes', 'x')], {}, off)
    const result = await registry.search({ query: ' notes ' }, open)
    expect(result).toMatchObject({
      items: [{ name: 'notes', version: '1.0.0' }],
      total: 1,
      search_available: false,
    })
  })

  test.each(['nothing-like-it', 'two words', '@scope', 'Upper'])(
    'without search, the hint for %s is to type an exact name',
    async (query) => {
      const registry = await service([plain('notes', 'x')], {}, off)
      await expect(registry.search({ query }, open)).rejects.toMatchObject({
        code: 'search_unavailable',
        hint: 'Enter the exact package name',
      })
    },
  )

  test('without search, the hint suggests similar names', async () => {
    const registry = await service([], {}, off)
    await expect(registry.search({ query: 'firecrawl-mpc' }, open)).rejects.toMatchObject({
      code: 'search_unavailable',
      hint: expect.stringContaining("'firecrawl-mcp'"),
    })
  })

  test('without search, a failed lookup is the error of the search', async () => {
    const registry = await service([plain('notes', 'x')], { notes: 'unauthorized' }, off)
    await expect(registry.search({ query: 'notes' }, open)).rejects.toMatchObject({
      code: 'registry_refused',
    })
  })
})

describe('trust', () => {
  test('facts that the registry does not provide are unknown', async () => {
    const registry = await service([plain('notes-mcp', 'Notes'), plain('other', 'Notes')])
    const { items } = await registry.search({ query: 'notes mcp' }, open)
    const [first] = items
    expect(first?.trust.map(({ fact }) => fact)).toEqual([...FACTS])
    expect(statesOf(first?.trust)).toMatchObject({
      deprecated: 'unknown',
      install_scripts: 'unknown',
      package_age: 'unknown',
      provenance: 'unknown',
      repository: 'unknown',
      downloads: 'unknown',
      publisher: 'good',
    })
  })

  test('the trust facts of a suspicious package are look', async () => {
    const name = 'firecrawl-rncp'
    const registry = await service([
      toolPackage(name, '1.0.0', {
        postinstall: true,
        deprecated: 'gone\u202e bad',
        publishedAt: '2026-05-29T00:00:00.000Z',
        downloadsWeekly: 3,
        manifest: { license: 'UNLICENSED' },
      }),
    ])
    const { items } = await registry.search({ query: name }, open)
    expect(statesOf(items[0]?.trust)).toEqual({
      near_name: 'look',
      deprecated: 'look',
      install_scripts: 'look',
      published_recently: 'look',
      package_age: 'look',
      publisher: 'good',
      provenance: 'unknown',
      license: 'look',
      repository: 'unknown',
      downloads: 'look',
    })
    expect(items[0]?.trust.map(({ detail }) => detail).join(' ')).not.toContain('\u202e')
  })

  test('the trust facts of a good package are good, and contain no login', async () => {
    const repository = { url: 'git+https://jo:s3cret@code.example/notes.git' }
    const registry = await service([
      toolPackage('notes-mcp', '1.0.0', {
        provenance: true,
        downloadsWeekly: 5000,
        manifest: { repository },
      }),
    ])
    const { items } = await registry.search({ query: 'notes-mcp' }, open)
    expect(new Set(items[0]?.trust.map(({ state }) => state))).toEqual(new Set(['good']))
    expect(JSON.stringify(items)).not.toContain('s3cret')
    expect(items[0]).toMatchObject({
      downloads_weekly: 5000,
      license: 'MIT',
      date: '2025-03-01T10:00:00.000Z',
    })
  })

  test('without search, the trust facts are the same except for downloads', async () => {
    const registry = await service(
      [toolPackage('notes-mcp', '1.0.0', { postinstall: true })],
      {},
      { search: 'off' },
    )
    const { items } = await registry.search({ query: 'notes-mcp' }, open)
    expect(statesOf(items[0]?.trust)).toMatchObject({
      install_scripts: 'look',
      deprecated: 'good',
      downloads: 'unknown',
    })
  })
})

async function service(
  packages: readonly TestPackage[],
  faults: Record<string, Fault> = {},
  options: Options = {},
) {
  const server = await openRegistry(packages, faults, options)
  onTestFinished(server.close)
  const settings = npmSettings(JSON.stringify({ registry: server.url }), [], {})
  return new Registry({ settings: async () => settings, now: () => NOW, deadlineMs: 60_000 })
}

const statesOf = (trust: readonly { fact: string; state: string }[] = []) =>
  Object.fromEntries(trust.map(({ fact, state }) => [fact, state]))
