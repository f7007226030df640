// Real servers from npm, in fixed versions. Each starts without an account, or with invented credentials, and without network.
import { installPackages, programOf } from './install.mjs'

/** @returns the entry with the program in its arguments; an entry without a package is complete */
export async function installServer(server) {
  if (!server.package) return server
  const folder = await installPackages(server.package, { [server.package]: server.version })
  return { ...server, args: [programOf(folder, server.package, server.bin), ...(server.arguments ?? [])] }
}

const server = (name, version, more = {}) => ({ name, package: name, version, ...more })
const withEnv = (...names) => ({ env: Object.fromEntries(names.map((name) => [name, 'none'])) })

/** `badCalls: false`: the server does not check arguments, and would use the network. */
export const SERVERS = [
  server('@modelcontextprotocol/server-sequential-thinking', '2026.8.31', {
    calls: [
      ['sequentialthinking', { thought: 'ß', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }],
    ],
    isStateful: true,
  }),
  server('@modelcontextprotocol/server-github', '2025.4.8', withEnv('GITHUB_PERSONAL_ACCESS_TOKEN')),
  server('@modelcontextprotocol/server-gitlab', '2025.4.25', withEnv('GITLAB_PERSONAL_ACCESS_TOKEN')),
  server('@modelcontextprotocol/server-slack', '2025.4.25', withEnv('SLACK_BOT_TOKEN', 'SLACK_TEAM_ID')),
  server('@modelcontextprotocol/server-brave-search', '0.6.2', withEnv('BRAVE_API_KEY')),
  server('@modelcontextprotocol/server-google-maps', '0.6.2', {
    ...withEnv('GOOGLE_MAPS_API_KEY'),
    badCalls: false,
  }),
  server('@modelcontextprotocol/server-everart', '0.6.2', { ...withEnv('EVERART_API_KEY'), badCalls: false }),
  server('@modelcontextprotocol/server-postgres', '0.6.2', { arguments: ['postgres://127.0.0.1:9/none'] }),
  server('@modelcontextprotocol/server-map', '2.0.3', {
    arguments: ['--stdio'],
    calls: [['show-map', { west: 13, south: 52, east: 14, north: 53 }]],
  }),
  server('@modelcontextprotocol/server-pdf', '2.0.4', {
    arguments: ['--stdio'],
    calls: [['list_pdfs', {}]],
  }),
  server('@antv/mcp-server-chart', '0.9.10'),
  server('@brave/brave-search-mcp-server', '2.1.4', withEnv('BRAVE_API_KEY')),
  server('@eslint/mcp', '0.3.13', { calls: [['lint-files', { filePaths: ['/no/such/file.js'] }]] }),
  server('@hubspot/mcp-server', '0.4.0', withEnv('PRIVATE_APP_ACCESS_TOKEN')),
  server('@launchdarkly/mcp-server', '0.6.2', { arguments: ['start', '--api-key', 'none'] }),
  server('@magicuidesign/mcp', '2.0.0'),
  server('@mui/mcp', '0.1.5', { badCalls: false }),
  server('@notionhq/notion-mcp-server', '2.5.2', { ...withEnv('NOTION_TOKEN'), badCalls: false }),
  server('@sentry/mcp-server', '0.36.0', withEnv('SENTRY_ACCESS_TOKEN')),
  server('@zereight/mcp-gitlab', '2.1.64', withEnv('GITLAB_PERSONAL_ACCESS_TOKEN')),
  server('airtable-mcp-server', '1.14.0', withEnv('AIRTABLE_API_KEY')),
  server('exa-mcp-server', '3.4.1', withEnv('EXA_API_KEY')),
  server('figma-developer-mcp', '0.13.2', { arguments: ['--stdio'], ...withEnv('FIGMA_API_KEY') }),
  server('firecrawl-mcp', '3.22.2', withEnv('FIRECRAWL_API_KEY')),
  server('mcp-fetch-server', '1.1.2', { calls: [['fetch_txt', { url: 'http://127.0.0.1:9/' }]] }),
  server('mcp-server-code-runner', '0.1.8', {
    calls: [['run-code', { code: 'console.log(1 + 1)', languageId: 'javascript' }]],
  }),
  server('ref-tools-mcp', '3.0.3', { ...withEnv('REF_API_KEY'), badCalls: false }),
  server('shadcn', '4.23.0', {
    arguments: ['mcp'],
    calls: [
      ['get_audit_checklist', {}],
      ['get_project_registries', {}],
    ],
  }),
  server('tavily-mcp', '0.2.22', { ...withEnv('TAVILY_API_KEY'), badCalls: false }),
]
