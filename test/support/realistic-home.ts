import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** One tool server in a file of an agent. */
export interface RealisticEntry {
  readonly agent_type: string
  readonly scope: string
  /** The folder of the project; null for the user's own files. */
  readonly project: string | null
  readonly name: string
}

export interface RealisticHome {
  /** Absolute paths by a short name. `shop`, `blog` and `notes` are projects that Claude Code lists. */
  readonly projects: Readonly<Record<'shop' | 'blog' | 'notes', string>>
  /** Every file that was written, with its bytes. */
  readonly files: ReadonlyMap<string, string>
  /** Every tool server in these files. */
  readonly entries: readonly RealisticEntry[]
}

/** Values that look like real ones. Tests check that none of them is shown. */
export const REALISTIC_SECRETS = {
  github: 'ghp_R3alisticHome0123456789abcdefABCDEF',
  postgres: 'c0rrect-horse-battery',
  context7: 'ctx7sk-5f0c2d1e-7c1b-4a77-9d27-1f2e3d4c5b6a',
  slack: 'xoxb-111122223333-444455556666-aBcDeFgHiJkLmNoPqRsTuVwX',
  brave: 'BSA9f8e7d6c5b4a3928171605f4e3d2c1b',
  linear: 'lin_api_0123456789abcdefghijklmnopqrstuvwxyz',
}

/**
 * The home of a developer with nine agents, as their own programs write it: comments, trailing commas, tabs, CRLF and
 * other settings included. `config` is what XDG_CONFIG_HOME names. No server in it can be started.
 */
export function writeRealisticHome(home: string, config = join(home, 'config')): RealisticHome {
  const projects = {
    shop: join(home, 'code', 'shop'),
    blog: join(home, 'code', 'blog'),
    notes: join(home, 'notes with spaces'),
  }
  for (const folder of Object.values(projects)) mkdirSync(folder, { recursive: true })
  const written = [
    ...claudeCode(home, projects),
    ...claudeDesktop(home),
    ...cursor(home, projects),
    ...vscode(config),
    ...codex(home),
    ...gemini(home),
    ...windsurf(home),
    ...zed(config),
    ...opencode(config),
  ]
  for (const { path, text } of written) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode: 0o600 })
  }
  return {
    projects,
    files: new Map(written.map(({ path, text }) => [path, text])),
    entries: written.flatMap(({ entries = [] }) => entries),
  }
}

interface Written {
  readonly path: string
  readonly text: string
  readonly entries?: readonly RealisticEntry[]
}

function named(agent_type: string, scope: string, project: string | null, ...names: string[]) {
  return names.map((name): RealisticEntry => ({ agent_type, scope, project, name }))
}

/** `${NAME}`, as agents write a reference to a variable. */
const ref = (text: string): string => `$\{${text}}`

const json = (value: unknown): string => JSON.stringify(value, null, 2)

function claudeCode(home: string, { shop, blog, notes }: RealisticHome['projects']): Written[] {
  const state = {
    numStartups: 214,
    installMethod: 'global',
    tipsHistory: { 'new-user-warmup': 3 },
    mcpServers: {
      github: {
        type: 'stdio',
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-github'],
        env: { GITHUB_PERSONAL_ACCESS_TOKEN: REALISTIC_SECRETS.github },
      },
      sentry: { type: 'http', url: 'https://mcp.sentry.example/mcp' },
    },
    projects: {
      [shop]: {
        allowedTools: ['mcp__postgres__query'],
        mcpServers: {
          postgres: {
            type: 'stdio',
            command: 'npx',
            args: [
              '-y',
              '@modelcontextprotocol/server-postgres',
              `postgresql://shop:${REALISTIC_SECRETS.postgres}@localhost:5432/shop`,
            ],
            env: {},
          },
          files: {
            type: 'stdio',
            command: 'npx',
            args: ['-y', '@modelcontextprotocol/server-filesystem', '.'],
          },
        },
        enabledMcpjsonServers: ['warehouse'],
        disabledMcpjsonServers: ['analytics'],
        hasTrustDialogAccepted: true,
      },
      [blog]: {
        allowedTools: [],
        mcpServers: {
          files: {
            type: 'stdio',
            command: 'npx',
            args: ['-y', '@modelcontextprotocol/server-filesystem', '.'],
          },
        },
        disabledMcpServers: ['files'],
      },
      [notes]: { allowedTools: [], mcpServers: {}, exampleFiles: ['today.md'] },
    },
    oauthAccount: { emailAddress: 'ada@example.com' },
  }
  const shopFile = {
    mcpServers: {
      warehouse: {
        command: './bin/warehouse-mcp',
        args: ['--token', ref('WAREHOUSE_TOKEN'), '--region', ref('REGION:-eu-west-1')],
        env: { DATABASE_URL: ref('DATABASE_URL') },
      },
      analytics: {
        type: 'http',
        url: `${ref('ANALYTICS_BASE:-https://analytics.example')}/mcp`,
        headers: { Authorization: `Bearer ${ref('ANALYTICS_KEY')}` },
      },
    },
  }
  return [
    {
      path: join(home, '.claude.json'),
      text: json(state),
      entries: [
        ...named('claude-code', 'user', null, 'github', 'sentry'),
        ...named('claude-code', 'local', shop, 'postgres', 'files'),
        ...named('claude-code', 'local', blog, 'files'),
      ],
    },
    {
      path: join(shop, '.mcp.json'),
      text: `${json(shopFile)}\n`,
      entries: named('claude-code', 'project', shop, 'warehouse', 'analytics'),
    },
    {
      path: join(notes, '.mcp.json'),
      text: '{"mcpServers":{"journal":{"command":"python3","args":["-m","journal_mcp"],"env":{"JOURNAL_DIR":"."}}}}',
      entries: named('claude-code', 'project', notes, 'journal'),
    },
  ]
}

function claudeDesktop(home: string): Written[] {
  const settings = {
    globalShortcut: 'Ctrl+Space',
    mcpServers: {
      filesystem: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-filesystem', join(home, 'Documents')],
      },
      memory: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'] },
      linear: {
        command: 'npx',
        args: [
          '-y',
          'mcp-remote',
          'https://mcp.linear.example/sse',
          '--header',
          `Authorization:${ref('AUTH')}`,
        ],
        env: { AUTH: `Bearer ${REALISTIC_SECRETS.linear}` },
      },
    },
  }
  return [
    {
      path: join(home, '.config', 'Claude', 'claude_desktop_config.json'),
      text: JSON.stringify(settings, null, '\t'),
      entries: named('claude-desktop', 'user', null, 'filesystem', 'memory', 'linear'),
    },
  ]
}

function cursor(home: string, { blog }: RealisticHome['projects']): Written[] {
  const user = {
    mcpServers: {
      github: {
        command: 'npx',
        args: ['-y', '@modelcontextprotocol/server-github'],
        env: { GITHUB_PERSONAL_ACCESS_TOKEN: ref('env:GITHUB_TOKEN') },
      },
      context7: {
        url: 'https://mcp.context7.example/mcp',
        headers: { CONTEXT7_API_KEY: REALISTIC_SECRETS.context7 },
      },
      playwright: {
        command: 'npx',
        args: ['@playwright/mcp@latest', '--output-dir', `${ref('userHome')}/shots`],
      },
    },
  }
  const project = { mcpServers: { hugo: { command: 'hugo-mcp', args: [`${ref('workspaceFolder')}/site`] } } }
  return [
    {
      path: join(home, '.cursor', 'mcp.json'),
      text: `${json(user)}\n`,
      entries: named('cursor', 'user', null, 'github', 'context7', 'playwright'),
    },
    {
      path: join(blog, '.cursor', 'mcp.json'),
      text: `${json(project)}\n`,
      entries: named('cursor', 'project', blog, 'hugo'),
    },
  ]
}

function vscode(config: string): Written[] {
  const text = `{
	// Servers that every window uses
	"inputs": [
		{ "type": "promptString", "id": "copilot_token", "description": "GitHub token", "password": true },
		{ "type": "pickString", "id": "region", "options": ["eu", "us"], "default": "eu" },
	],
	"servers": {
		"github-remote": {
			"type": "http",
			"url": "https://api.githubcopilot.example/mcp/",
			"headers": { "Authorization": "Bearer $\{input:copilot_token}", "X-Region": "$\{input:region}" },
		},
		"brave": {
			"type": "stdio",
			"command": "docker",
			"args": ["run", "-i", "--rm", "-e", "BRAVE_API_KEY", "-e", "HTTPS_PROXY", "mcp/brave-search"],
			"env": { "BRAVE_API_KEY": "${REALISTIC_SECRETS.brave}" },
			"envFile": "$\{workspaceFolder}/.env", // only in projects
		},
		/* asks before it starts */
		"events": { "type": "sse", "url": "https://events.example/sse?tenant=$\{env:TENANT}" },
	},
}
`
  return [
    {
      path: join(config, 'Code', 'User', 'mcp.json'),
      text: text.replaceAll('\n', '\r\n'),
      entries: named('vscode', 'user', null, 'github-remote', 'brave', 'events'),
    },
  ]
}

function codex(home: string): Written[] {
  const text = `model = "gpt-5-codex"
approval_policy = "on-request"

# documentation of libraries
[mcp_servers.context7]
command = "npx"
args = ["-y", "@upstash/context7-mcp"]
env_vars = ["CONTEXT7_API_KEY"]
startup_timeout_sec = 20
tool_timeout_sec = 120

[mcp_servers.figma]
url = "https://mcp.figma.example/mcp"
bearer_token_env_var = "FIGMA_OAUTH_TOKEN"
http_headers = { "X-Figma-Region" = "us-east-1" }
env_http_headers = { "X-Figma-Team" = "FIGMA_TEAM" }

[mcp_servers."linear.app"]
url = "https://mcp.linear.example/mcp"
enabled = false
enabled_tools = ["list_issues", "get_issue"]

[mcp_servers.python-notes]
command = "uvx"
args = ["mcp-server-time==2026.4.7", "--local-timezone", "Europe/Berlin"] # pinned
cwd = "${home.replaceAll('\\', '\\\\')}"

[mcp_servers.python-notes.env]
PYTHONUNBUFFERED = "1"

[projects."${home.replaceAll('\\', '\\\\')}/code/shop"]
trust_level = "trusted"
`
  return [
    {
      path: join(home, '.codex', 'config.toml'),
      text,
      entries: named('codex', 'user', null, 'context7', 'figma', 'linear.app', 'python-notes'),
    },
  ]
}

function gemini(home: string): Written[] {
  const text = `{
  "theme": "Default",
  "selectedAuthType": "oauth-personal",
  "mcpServers": {
    // used for release notes
    "docs": {
      "httpUrl": "https://docs.example/mcp",
      "headers": { "X-Api-Key": "$DOCS_KEY" },
      "timeout": 5000,
      "trust": true
    },
    "fetch": {
      "command": "uvx",
      "args": ["mcp-server-fetch"],
      "env": { "PROXY_TOKEN": "$\{PROXY_TOKEN}" },
      "cwd": "${home.replaceAll('\\', '\\\\')}",
      "excludeTools": ["raw"]
    }
  }
}`
  return [
    {
      path: join(home, '.gemini', 'settings.json'),
      text,
      entries: named('gemini-cli', 'user', null, 'docs', 'fetch'),
    },
    { path: join(home, '.gemini', 'mcp-server-enablement.json'), text: json({ fetch: { enabled: false } }) },
  ]
}

/** The file of Windsurf, which its successor still reads. */
function windsurf(home: string): Written[] {
  const settings = {
    mcpServers: {
      slack: {
        command: 'docker',
        args: ['run', '-i', '--rm', '-e', 'SLACK_BOT_TOKEN', '-e', 'SLACK_TEAM_ID', 'mcp/slack'],
        env: { SLACK_BOT_TOKEN: REALISTIC_SECRETS.slack, SLACK_TEAM_ID: 'T012AB3CD' },
      },
      deepwiki: { serverUrl: 'https://mcp.deepwiki.example/sse', disabled: true },
      jira: {
        serverUrl: 'https://mcp.jira.example/v1',
        headers: { Authorization: `Bearer ${ref('env:JIRA_TOKEN')}` },
        disabledTools: ['deleteIssue'],
      },
    },
  }
  return [
    {
      path: join(home, '.codeium', 'windsurf', 'mcp_config.json'),
      text: json(settings),
      entries: named('devin-desktop', 'user', null, 'slack', 'deepwiki', 'jira'),
    },
  ]
}

function zed(config: string): Written[] {
  const text = `// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "postgres-context-server": { "settings": { "database_url": "postgresql://localhost/zed" } },
    "sqlite": {
      "source": "custom",
      "enabled": true,
      "command": "uvx",
      "args": ["mcp-server-sqlite", "--db-path", "/srv/app/data.db"],
      "env": {},
    },
    "memory": {
      "source": "custom",
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-memory"],
      "env": { "MEMORY_FILE_PATH": "/srv/memory.json" },
    },
  },
  "vim_mode": true,
}
`
  return [
    {
      path: join(config, 'zed', 'settings.json'),
      text,
      entries: named('zed', 'user', null, 'sqlite', 'memory'),
    },
  ]
}

function opencode(config: string): Written[] {
  const text = `{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "memory": {
      "type": "local",
      "command": ["npx", "-y", "@modelcontextprotocol/server-memory"],
      "enabled": true,
    },
    "search": {
      "type": "local",
      "command": ["npx", "-y", "tavily-mcp@0.2.1"],
      "environment": { "TAVILY_API_KEY": "{env:TAVILY_API_KEY}" },
    },
    // switched off while it is being rebuilt
    "gitlab": {
      "type": "remote",
      "url": "https://gitlab.example/api/v4/mcp",
      "headers": { "Authorization": "Bearer {file:~/.config/gitlab-token}" },
      "enabled": false,
    },
  },
}
`
  return [
    {
      path: join(config, 'opencode', 'opencode.jsonc'),
      text,
      entries: named('opencode', 'user', null, 'memory', 'search', 'gitlab'),
    },
  ]
}
