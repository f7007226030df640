import { chmodSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { openRemote } from '../../fixtures/workshop/remote.mjs'
import { ownFolder } from '../../support/folder.ts'
import { Agent } from '../../support/gateway.ts'
import { npmEnv } from '../../support/registry/npm-env.ts'
import { openService } from '../../support/service-process.ts'
import { openWorkshopRegistry } from './workshop-registry.ts'

/**
 * The computer of the pictures: five agents, twelve servers with the names of well-known ones, and an hour of calls.
 * Everything in it is real: processes, sockets, files and calls. Only the clock is moved, so that the hour takes a minute.
 */

const MAIN_FILE = fileURLToPath(new URL('../../../dist/main.js', import.meta.url))
const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/workshop/${name}`, import.meta.url))
const npx = (name: string, ...args: string[]) => ({ command: 'npx', args: ['-y', name, ...args] })
const uvx = (name: string) => ({ command: 'uvx', args: [name] })
const server = (name: string) => `@modelcontextprotocol/server-${name}`
const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const GITHUB = { ...npx(server('github')), env: { GITHUB_TOKEN: 'ghp_W0rkshop0123456789abcdefABCDEF0123' } }
const POSTGRES = {
  ...npx(server('postgres')),
  env: { DATABASE_URL: 'postgres://app:c0rrect-horse@127.0.0.1:5432/app' },
}
const FILESYSTEM = npx(server('filesystem'), '~/notes')
const PLAYWRIGHT = npx('@playwright/mcp@latest')
const FETCH = uvx('mcp-server-fetch')

const ZED = `// Zed settings
{
  "theme": "One Dark",
  "buffer_font_size": 14
  "context_servers": {}
}
`

function filesOf(home: string): ReadonlyMap<string, string> {
  const at = (...parts: string[]) => join(home, ...parts)
  return new Map([
    [
      at('.claude.json'),
      json({
        mcpServers: {
          github: GITHUB,
          playwright: PLAYWRIGHT,
          filesystem: FILESYSTEM,
          postgres: POSTGRES,
          linear: { type: 'http', url: 'https://mcp.linear.app/mcp' },
          sentry: { type: 'http', url: 'https://mcp.sentry.dev/mcp' },
          context7: npx('@upstash/context7-mcp'),
        },
      }),
    ],
    [
      at('.config', 'Claude', 'claude_desktop_config.json'),
      json({
        mcpServers: {
          filesystem: FILESYSTEM,
          postgres: POSTGRES,
          slack: { ...npx('@slack/mcp'), env: { SLACK_BOT_TOKEN: '' } },
          time: uvx('mcp-server-time'),
        },
      }),
    ],
    [
      at('.cursor', 'mcp.json'),
      json({
        mcpServers: {
          playwright: PLAYWRIGHT,
          filesystem: FILESYSTEM,
          figma: { url: 'https://mcp.figma.com/mcp' },
          fetch: FETCH,
          memory: npx(server('memory')),
        },
      }),
    ],
    [
      at('.codex', 'config.toml'),
      `# the model for small changes
model = "o4-mini"

[mcp_servers.playwright] # headless in CI
command = "npx"
args = ["-y", "@playwright/mcp@latest"]
`,
    ],
    [at('.config', 'zed', 'settings.json'), ZED],
    // Programs with well-known names that start the fixture.
    ...['npx', 'uvx'].map((name): [string, string] => [
      at('.local', 'bin', name),
      `#!/bin/sh\nexec '${process.execPath}' '${fixture('server.mjs')}' "$@"\n`,
    ]),
  ])
}

/** What the agents at the gateway see. */
const VISIBLE = {
  'claude-code': {
    servers: ['github', 'playwright', 'filesystem', 'postgres', 'linear', 'sentry', 'context7'],
  },
  codex: {
    servers: ['playwright', 'fetch', 'context7'],
    tools: { playwright: ['browser_navigate', 'browser_snapshot', 'browser_click', 'browser_close'] },
  },
}
const CURSOR = ['playwright', 'filesystem', 'figma', 'fetch', 'memory']

interface Options {
  readonly port?: string
  /** How many minutes of calls are made. */
  readonly minutes: number
}

/** The service with the home, before the first run. `addServers` imports everything and makes the calls. */
export async function openWorkshop({ port = '0', minutes }: Options) {
  const home = ownFolder()
  for (const [path, text] of filesOf(home)) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode: 0o600 })
    if (path.includes('bin')) chmodSync(path, 0o755)
  }
  mkdirSync(join(home, 'notes'))
  symlinkSync(MAIN_FILE, join(home, '.local', 'bin', 'toolroom'))
  const remote = await openRemote()
  onTestFinished(() => remote.close())
  const registry = await openWorkshopRegistry()
  const clock = join(home, 'clock')
  const setClock = (minutesAgo: number) => {
    writeFileSync(`${clock}.new`, String(-60 * minutesAgo))
    renameSync(`${clock}.new`, clock)
  }
  setClock(minutes)
  const service = await openService({
    home,
    env: {
      ...npmEnv(home, registry.url),
      PORT: port,
      PATH: `${join(home, '.local', 'bin')}:${process.env.PATH}`,
      TZ: 'UTC',
      HTTPS_PROXY: remote.url,
      NO_PROXY: '127.0.0.1', // npm asks the proxy for the registry, too
      NODE_TLS_REJECT_UNAUTHORIZED: '0', // the certificate of the fixture names another host
      NODE_OPTIONS: `--require ${fixture('clock.cjs')} --no-warnings`,
      WORKSHOP_CLOCK: clock,
    },
  })
  const did = async (method: string, path: string, body?: object) => {
    const reply = await service.ask(method, path, body)
    expect(reply.status, `${method} ${path}: ${JSON.stringify(reply.body)}`).toBeLessThan(300)
    return reply.body
  }
  /** Imports, connects two agents, and makes the calls. At the end two servers and a file have trouble. */
  const addServers = async () => {
    await did('POST', '/agents/import', {})
    for (const [agent, visible] of Object.entries(VISIBLE)) {
      await did('POST', `/agents/${agent}/connect`, { take_over: true })
      await did('PUT', `/agents/${agent}/tools`, visible)
    }
    await did('PUT', '/agents/cursor/servers', { server_ids: CURSOR })
    for (const id of ['github', 'playwright', 'filesystem', 'postgres', 'memory']) await service.start(id)
    for (const id of ['linear', 'sentry', 'figma']) await service.ask('POST', `/http-servers/${id}/test`)
    const agents = await Promise.all(
      [join(home, '.claude.json'), join(home, '.codex', 'config.toml')].map(async (path) => {
        const key = /tk_[\w-]+/.exec(readFileSync(path, 'utf8'))?.[0] ?? ''
        return Agent.open(service, key, 'legacy')
      }),
    )
    for (let left = minutes; left > 0; left -= 1) {
      setClock(left)
      if (left === 5) writeFileSync(join(home, 'postgres.down'), '')
      if (left === 1) writeFileSync(join(home, 'postgres.down'), 'crash')
      await callsOf(minutes - left, agents)
    }
    setClock(0)
    remote.change()
    for (const enabled of [false, true]) await did('PUT', '/http-servers/linear', { enabled })
    await did('POST', '/http-servers/linear/test')
    await did('POST', '/servers/memory/stop')
    const file = join(home, '.cursor', 'mcp.json')
    writeFileSync(file, readFileSync(file, 'utf8').replace('server-memory"', 'server-memory", "--shared"'))
    await callsOf(0, agents)
  }
  return { ...service, remote, registry, did, addServers, setClock, home }
}
export type Workshop = Awaited<ReturnType<typeof openWorkshop>>

/** One minute of work: each agent makes its calls one after the other. The number of calls rises and falls. */
async function callsOf(minute: number, [claude, codex]: readonly Agent[]): Promise<void> {
  const work = async (agent: Agent | undefined, own: readonly Work[]) => {
    for (const [tool, args, every, times] of own) {
      if (minute % every !== 0) continue
      const wave = 1 + Math.round(times * (0.5 + 0.5 * Math.sin((minute + tool.length * 9) / 7)))
      await Promise.all(Array.from({ length: wave }, () => agent?.call(tool, args)))
    }
  }
  await Promise.all([work(claude, OF_CLAUDE), work(codex, OF_CODEX), sleep(900)])
}

type Work = readonly [tool: string, args: object, every: number, times: number]
const REPO = { owner: 'acme', repo: 'web' }
const OLD_USERS = "select id, email from users where last_login < now() - interval '30 days'"
const OF_CLAUDE: readonly Work[] = [
  ['github__search_code', { q: 'refreshToken repo:acme/web' }, 1, 4],
  ['filesystem__read_file', { path: '~/notes/today.md' }, 1, 5],
  ['postgres__query', { sql: OLD_USERS }, 1, 3],
  ['linear__list_issues', { team: 'WEB', state: 'started' }, 2, 3],
  ['github__get_issue', { ...REPO, issue_number: 1482 }, 2, 2],
  ['sentry__find_issues', { organizationSlug: 'acme', query: 'is:unresolved' }, 3, 2],
  ['github__list_commits', REPO, 3, 1],
  ['filesystem__search_files', { path: '~/notes', pattern: 'login' }, 4, 1],
  ['context7__resolve_library', { libraryName: 'fastify' }, 5, 1],
  ['postgres__list_tables', {}, 6, 1],
]
const OF_CODEX: readonly Work[] = [
  ['playwright__browser_navigate', { url: 'https://app.acme.example/login' }, 2, 0],
  ['playwright__browser_click', { element: 'Sign in', ref: 'e12' }, 2, 1],
  ['playwright__browser_snapshot', {}, 2, 2],
]
