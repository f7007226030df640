// Popular servers from the npm registry, and calls that touch what each of them is for: a file, a page, an API.
// Keys are placeholders: the calls go as far as the network lets them.
import { join } from 'node:path'
import { root } from '../lib.mjs'

const OFFICIAL = '@modelcontextprotocol/server-'
const KEY = 'placeholder-0123456789'

/**
 * `args`, `env` and `calls` get the server's own `folder`, the `page` that is served on loopback, and the `chromium` of this
 * computer. `files` are in the folder before each trial. `gateway`: a server of Toolroom that it shall reach.
 */
export const SERVERS = [
  {
    name: 'filesystem',
    package: `${OFFICIAL}filesystem`,
    args: ({ folder }) => [folder],
    calls: ({ folder }) => [
      { tool: 'write_file', arguments: { path: join(folder, 'a.md'), content: 'hi' } },
      { tool: 'read_text_file', arguments: { path: join(folder, 'a.md') } },
    ],
  },
  {
    name: 'memory',
    package: `${OFFICIAL}memory`,
    env: ({ folder }) => ({ MEMORY_FILE_PATH: join(folder, 'memory.jsonl') }),
    calls: () => [
      {
        tool: 'create_entities',
        arguments: { entities: [{ name: 'Bern', entityType: 'city', observations: ['It has bears'] }] },
      },
      { tool: 'read_graph' },
    ],
  },
  {
    name: 'everything',
    package: `${OFFICIAL}everything`,
    calls: () => [{ tool: 'get-sum', arguments: { a: 2, b: 3 } }],
  },
  {
    name: 'sequential-thinking',
    package: `${OFFICIAL}sequential-thinking`,
    calls: () => [
      {
        tool: 'sequentialthinking',
        arguments: { thought: 'One', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
      },
    ],
  },
  {
    name: 'github',
    package: `${OFFICIAL}github`,
    env: () => ({ GITHUB_PERSONAL_ACCESS_TOKEN: KEY }),
    calls: () => [{ tool: 'search_repositories', arguments: { query: 'mcp' } }],
  },
  {
    name: 'gitlab',
    package: `${OFFICIAL}gitlab`,
    env: () => ({ GITLAB_PERSONAL_ACCESS_TOKEN: KEY }),
    calls: () => [{ tool: 'search_repositories', arguments: { search: 'mcp' } }],
  },
  {
    name: 'slack',
    package: `${OFFICIAL}slack`,
    env: () => ({ SLACK_BOT_TOKEN: KEY, SLACK_TEAM_ID: 'T01234567' }),
    calls: () => [{ tool: 'slack_list_channels' }],
  },
  {
    name: 'puppeteer',
    package: `${OFFICIAL}puppeteer`,
    env: ({ chromium }) => ({ PUPPETEER_EXECUTABLE_PATH: chromium, DOCKER_CONTAINER: 'true' }),
    calls: ({ page }) => [
      { tool: 'puppeteer_navigate', arguments: { url: page } },
      { tool: 'puppeteer_evaluate', arguments: { script: 'document.title' } },
    ],
  },
  {
    name: 'playwright',
    package: '@playwright/mcp',
    args: ({ chromium, folder }) => [
      ...['--headless', '--isolated', '--no-sandbox', '--executable-path', chromium],
      ...['--output-dir', folder],
    ],
    calls: ({ page }) => [
      { tool: 'browser_navigate', arguments: { url: page } },
      {
        tool: 'browser_take_screenshot',
        arguments: { type: 'png', scale: 'css', filename: 'page.png' },
      },
    ],
  },
  {
    name: 'chrome-devtools',
    package: 'chrome-devtools-mcp',
    bin: 'chrome-devtools-mcp',
    args: ({ chromium }) => [
      ...['--headless', '--isolated', '--no-usage-statistics'],
      ...[`--executablePath=${chromium}`, '--chromeArg=--no-sandbox'],
    ],
    calls: ({ page }) => [{ tool: 'new_page', arguments: { url: page } }, { tool: 'list_pages' }],
  },
  {
    name: 'mcp-remote',
    package: 'mcp-remote',
    bin: 'mcp-remote',
    gateway: {
      name: 'echo',
      command: process.execPath,
      args: [join(root, 'test/fixtures/servers/echo.mjs')],
    },
    args: ({ gateway: { url, key } }) => [url, '--header', `Authorization: Bearer ${key}`],
    calls: ({ gateway: { tool } }) => [{ tool, arguments: { text: 'hi' } }],
  },
  {
    name: 'git',
    package: '@cyanheads/git-mcp-server',
    calls: ({ folder }) => [
      { tool: 'git_init', arguments: { path: join(folder, 'repository') } },
      { tool: 'git_status', arguments: { path: join(folder, 'repository') } },
    ],
    files: { 'repository/a.md': 'hi\n' },
  },
  {
    name: 'eslint',
    package: '@eslint/mcp',
    calls: ({ folder }) => [{ tool: 'lint-files', arguments: { filePaths: [folder] } }],
    files: {
      'a.js': 'const a = 1\n',
      'eslint.config.js': 'module.exports = [{ rules: { "no-undef": 2 } }]\n',
    },
  },
  {
    name: 'repomix',
    package: 'repomix',
    args: () => ['--mcp'],
    calls: ({ folder }) => [{ tool: 'pack_codebase', arguments: { directory: folder } }],
    files: { 'a.js': 'export const a = 1\n' },
  },
  {
    name: 'context7',
    package: '@upstash/context7-mcp',
    calls: () => [{ tool: 'resolve-library-id', arguments: { libraryName: 'react', query: 'hooks' } }],
  },
  {
    name: 'tavily',
    package: 'tavily-mcp',
    env: () => ({ TAVILY_API_KEY: KEY }),
    calls: () => [{ tool: 'tavily_search', arguments: { query: 'mcp' } }],
  },
  {
    name: 'firecrawl',
    package: 'firecrawl-mcp',
    env: () => ({ FIRECRAWL_API_KEY: KEY }),
    calls: () => [{ tool: 'firecrawl_scrape', arguments: { url: 'https://example.com' } }],
  },
  {
    name: 'exa',
    package: 'exa-mcp-server',
    env: () => ({ EXA_API_KEY: KEY }),
    calls: () => [{ tool: 'web_search_exa', arguments: { query: 'mcp' } }],
  },
  {
    name: 'notion',
    package: '@notionhq/notion-mcp-server',
    env: () => ({ NOTION_TOKEN: KEY }),
    calls: () => [{ tool: 'API-get-self' }],
  },
  {
    name: 'sentry',
    package: '@sentry/mcp-server',
    env: () => ({ SENTRY_ACCESS_TOKEN: KEY }),
    calls: () => [{ tool: 'whoami' }],
  },
  {
    name: 'figma',
    package: 'figma-developer-mcp',
    args: () => ['--stdio'],
    env: () => ({ FIGMA_API_KEY: KEY, FRAMELINK_TELEMETRY: 'off' }),
    calls: () => [{ tool: 'get_figma_data', arguments: { fileKey: 'abc' } }],
  },
]
