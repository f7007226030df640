import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AppError } from '../../../kernel/errors.ts'
import { slugOf } from '../../../kernel/rest-parts.ts'
import { addUnderFreeName, nameOfPackage } from './server-name.ts'

/** What people call the servers of these packages: popular ones first, then odd ones. */
const NAMES = {
  '@stripe/mcp': 'stripe',
  '@playwright/mcp': 'playwright',
  '@hubspot/mcp-server': 'hubspot',
  'mcp-server-kubernetes': 'kubernetes',
  '@modelcontextprotocol/server-memory': 'memory',
  '@modelcontextprotocol/server-sequential-thinking': 'sequential-thinking',
  '@modelcontextprotocol/server-filesystem@2026.8.31': 'filesystem',
  '@modelcontextprotocol/server-brave-search': 'brave-search',
  '@azure/mcp@latest': 'azure',
  '@azure-devops/mcp': 'azure-devops',
  '@sentry/mcp-server': 'sentry',
  '@notionhq/notion-mcp-server': 'notion',
  '@upstash/context7-mcp': 'context7',
  '@supabase/mcp-server-supabase': 'supabase',
  '@cloudflare/mcp-server-cloudflare': 'cloudflare',
  '@browserbasehq/mcp-server-browserbase': 'browserbase',
  '@elastic/mcp-server-elasticsearch': 'elasticsearch',
  '@mongodb-js/mongodb-mcp-server': 'mongodb',
  '@executeautomation/playwright-mcp-server': 'playwright',
  '@wonderwhy-er/desktop-commander': 'desktop-commander',
  '@perplexity-ai/mcp-server': 'perplexity',
  '@tavily-ai/mcp': 'tavily',
  '@e2b/mcp-server': 'e2b',
  '@heroku/mcp-server': 'heroku',
  '@salesforce/mcp': 'salesforce',
  '@pinecone-database/mcp': 'pinecone-database',
  '@apify/actors-mcp-server': 'actors',
  '@21st-dev/magic': 'magic',
  '@eslint/mcp': 'eslint',
  'tavily-mcp@0.1.3': 'tavily',
  'exa-mcp-server': 'exa',
  'firecrawl-mcp': 'firecrawl',
  'figma-developer-mcp': 'figma',
  'chrome-devtools-mcp': 'chrome-devtools',
  'mcp-server-docker': 'docker',
  'puppeteer-mcp-server': 'puppeteer',
  'obsidian-mcp': 'obsidian',
  'kubernetes-mcp-server': 'kubernetes',
  'mcp-remote': 'remote',
  'mcp-server-fetch==2025.4.7': 'fetch',
  mcp_server_git: 'git',
  'mcp-server-sqlite[cli]>=1': 'sqlite',
  '@acme-ai/developer-mcp-servers': 'acme',
  '@MCP/Weather_Server': 'Weather',
  '@modelcontextprotocol/server': 'modelcontextprotocol',
  'mcp-server': 'mcp-server',
  mcp: 'mcp',
  '@mcp/mcp': 'mcp',
  '@acme/mcp-2': 'acme',
  'server-2': 'server-2',
  my__mcp__tool: 'my__tool',
  '@_x/mcp': 'x',
  [`${'long-'.repeat(40)}mcp`]: `${'long-'.repeat(12)}long`,
} as const

test.each(Object.entries(NAMES))('a server of the package %s is called %s', (spec, name) => {
  expect(nameOfPackage(spec)).toBe(name)
})

const word = fc.constantFrom(
  'mcp',
  'server',
  'servers',
  'developer',
  'acme',
  'ai',
  '2',
  'é',
  '_',
  '.',
  '@',
  '/',
  '-',
)

test('any package gets a valid name', () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      expect(nameOfPackage(words.join(''))).toMatch(/^[A-Za-z0-9][\w .-]{0,63}$/)
    }),
  )
})

test('servers whose packages have the same name get numbers, and other errors are not hidden', async () => {
  const taken = new Set<string>()
  const add = async (name: string) => {
    if (taken.has(slugOf(name))) throw new AppError('server_exists', name)
    taken.add(slugOf(name))
    return name
  }
  const packages = ['@stripe/mcp', 'stripe-mcp', 'mcp-server-stripe', '@stripe/mcp']
  const names: string[] = []
  for (const each of packages) names.push(await addUnderFreeName(nameOfPackage(each), add))
  expect(names).toEqual(['stripe', 'stripe-2', 'stripe-3', 'stripe-4'])
  const full = async () => Promise.reject(new AppError('limit_reached', 'full'))
  await expect(addUnderFreeName('x', full)).rejects.toMatchObject({ code: 'limit_reached' })
})
