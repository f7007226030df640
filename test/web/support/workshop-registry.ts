import { onTestFinished } from 'vitest'
import { openRegistry, toolPackage } from '../../support/registry/registry.ts'

const DAY_MS = 86_400_000
const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString()
const about = (description: string, license = 'MIT') => ({
  description,
  license,
  keywords: ['mcp', 'browser'],
})

const OLD = toolPackage('@modelcontextprotocol/server-memory', '2025.9.25', {
  tools: ['create_entities', 'read_graph', 'search_nodes', 'open_nodes'],
  manifest: { description: 'A knowledge graph as memory', license: 'MIT', keywords: ['mcp', 'memory'] },
  publisher: 'modelcontextprotocol',
  publishedAt: ago(400),
  downloadsWeekly: 46_000,
})

/** What a search for browser automation finds: good facts, unknown ones and warnings. */
const PACKAGES = [
  toolPackage('@playwright/mcp', '0.0.62', {
    manifest: about('Playwright tools for MCP', 'Apache-2.0'),
    publishedAt: ago(600),
  }),
  toolPackage('@playwright/mcp', '0.0.83', {
    manifest: about('Playwright tools for MCP: navigate, click, read pages as text.', 'Apache-2.0'),
    publisher: 'microsoft',
    provenance: true,
    publishedAt: ago(47),
    downloadsWeekly: 1_900_000,
  }),
  toolPackage('browser-pilot-mcp', '0.7.2', {
    manifest: about('Drive a local browser: tabs, forms, screenshots.'),
    publisher: 'northfield',
    publishedAt: ago(580),
    downloadsWeekly: 21_000,
  }),
  toolPackage('@lanternlabs/mcp-browser', '2.4.1', {
    manifest: about('A browser in the cloud, one session per agent.', 'Apache-2.0'),
    publisher: 'lanternlabs',
    provenance: true,
    publishedAt: ago(120),
    downloadsWeekly: 8_400,
  }),
  toolPackage('playwrigth-mcp', '1.0.0', {
    manifest: { description: 'Playwright MCP for the browser.', keywords: ['mcp'], license: undefined },
    publisher: 'anon4711',
    publishedAt: ago(3),
    postinstall: true,
  }),
  OLD,
]

export async function openWorkshopRegistry() {
  const registry = await openRegistry(PACKAGES, { 'browser-pilot-mcp': 'silent_tarball' })
  onTestFinished(() => registry.close())
  return {
    ...registry,
    publishUpdate: () =>
      registry.publish({
        ...OLD,
        ...toolPackage(OLD.name, '2026.8.31', {
          tools: ['create_entities', 'read_graph', 'search_nodes', 'search_relations'],
          manifest: {
            description: 'A knowledge graph as memory',
            license: 'MIT',
            keywords: ['mcp', 'memory'],
          },
        }),
        publishedAt: ago(70),
      }),
  }
}
