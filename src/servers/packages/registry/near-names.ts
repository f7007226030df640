import { editsBetween } from '../../../kernel/did-you-mean.ts'

/** Widely used tool servers and related packages. A similar name is reported as the trust fact `near_name`. */
export const WELL_KNOWN: readonly string[] = [
  '@modelcontextprotocol/inspector',
  '@modelcontextprotocol/sdk',
  '@modelcontextprotocol/server-brave-search',
  '@modelcontextprotocol/server-everything',
  '@modelcontextprotocol/server-filesystem',
  '@modelcontextprotocol/server-gdrive',
  '@modelcontextprotocol/server-github',
  '@modelcontextprotocol/server-gitlab',
  '@modelcontextprotocol/server-google-maps',
  '@modelcontextprotocol/server-memory',
  '@modelcontextprotocol/server-postgres',
  '@modelcontextprotocol/server-puppeteer',
  '@modelcontextprotocol/server-redis',
  '@modelcontextprotocol/server-sequential-thinking',
  '@modelcontextprotocol/server-slack',
  '@agentdeskai/browser-tools-mcp',
  '@angular/cli',
  '@apify/actors-mcp-server',
  '@azure-devops/mcp',
  '@azure/mcp',
  '@benborla29/mcp-server-mysql',
  '@brave/brave-search-mcp-server',
  '@browsermcp/mcp',
  '@browserbasehq/mcp-server-browserbase',
  '@cloudflare/mcp-server-cloudflare',
  '@contentful/mcp-server',
  '@elastic/mcp-server-elasticsearch',
  '@executeautomation/playwright-mcp-server',
  '@gongrzhe/server-gmail-autoauth-mcp',
  '@hubspot/mcp-server',
  '@launchdarkly/mcp-server',
  '@mapbox/mcp-server',
  '@mendable/firecrawl-mcp',
  '@microsoft/clarity-mcp-server',
  '@mongodb-js/mongodb-mcp-server',
  '@neondatabase/mcp-server-neon',
  '@notionhq/notion-mcp-server',
  '@paypal/mcp',
  '@playwright/mcp',
  '@postman/postman-mcp-server',
  '@sentry/mcp-server',
  '@shopify/dev-mcp',
  '@smithery/cli',
  '@stripe/mcp',
  '@supabase/mcp-server-supabase',
  '@upstash/context7-mcp',
  '@wonderwhy-er/desktop-commander',
  '@zereight/mcp-gitlab',
  'chrome-devtools-mcp',
  'exa-mcp-server',
  'fastmcp',
  'figma-developer-mcp',
  'firecrawl-mcp',
  'mcp-fetch-server',
  'mcp-framework',
  'mcp-mermaid',
  'mcp-obsidian',
  'mcp-proxy',
  'mcp-remote',
  'mongodb-mcp-server',
  'n8n-mcp',
  'prisma',
  'puppeteer-mcp-server',
  'shadcn',
  'supergateway',
  'tavily-mcp',
  'task-master-ai',
  'xcodebuildmcp',
]

/** A package name with its weekly downloads. */
interface NamedPackage {
  readonly name: string
  readonly downloads: number | null
}

const KNOWN = new Set(WELL_KNOWN)
const MANY_WEEKLY = 1000
const FAR_MORE_USED = 10

/** The well-known or far more used package whose name could be confused with this one. */
export function nearName(one: NamedPackage, results: readonly NamedPackage[] = []): string | undefined {
  if (KNOWN.has(one.name)) return undefined
  const known = WELL_KNOWN.find((name) => isNear(one.name, name))
  return known ?? results.find((other) => isMoreUsed(other, one) && isNear(one.name, other.name))?.name
}

/** Suggestions for a name that does not exist. */
export function similarNames(name: string, names: readonly string[] = WELL_KNOWN): string[] {
  return names.filter((other) => other !== name && isAlike(name, other)).slice(0, 3)
}

function isMoreUsed(other: NamedPackage, { name, downloads }: NamedPackage): boolean {
  if (other.name === name || other.downloads === null || other.downloads < MANY_WEEKLY) return false
  return downloads !== null && other.downloads >= Math.max(1, downloads) * FAR_MORE_USED
}

/** Similar names in the same scope are harmless: they have the same owner. */
function isNear(name: string, known: string): boolean {
  const { scope } = partsOf(name)
  return name !== known && (scope === '' || scope !== partsOf(known).scope) && isAlike(name, known)
}

/** Looks the same, differs in one or two letters, or is the same name in another scope. */
function isAlike(name: string, known: string): boolean {
  const [looks, original] = [lookOf(name), lookOf(known)]
  if (looks === original) return true
  const { short } = partsOf(known)
  if (partsOf(name).short === short && coreOf(short).length >= 4) return true
  const core = coreOf(known).length
  const allowed = core >= 8 ? 2 : core >= 4 ? 1 : 0
  return allowed > 0 && editsBetween(looks, original, allowed) !== undefined
}

function partsOf(name: string): { scope: string; short: string } {
  const [, scope = '', short = name] = /^@([^/]+)\/(.+)$/.exec(name) ?? []
  return { scope, short }
}

/** The name without separators and with look-alike letters unified. */
function lookOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/[@/._-]/g, '')
    .replace(/rn/g, 'm')
    .replace(/vv/g, 'w')
    .replace(/[0135]/g, (digit) => ({ 0: 'o', 1: 'l', 3: 'e', 5: 's' })[digit] ?? digit)
    .replace(/i/g, 'l')
}

/** The distinctive part of a name: `github` of `mcp-server-github`. */
function coreOf(name: string): string {
  return name
    .split(/[@/._-]/)
    .filter((word) => !/^(?:mcp|servers?|tools?|cli|sdk|modelcontextprotocol)$/.test(word))
    .join('')
}
