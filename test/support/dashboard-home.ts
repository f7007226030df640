import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openHttp } from '../fixtures/http/sites.ts'
import { tiny } from '../fixtures/http/tiny.ts'
import { atEnd } from './lifetime.ts'

/** The home `F` of the checks of the dashboard: four agents with 11 entries of 8 different servers, and a broken file. */

const SERVERS = fileURLToPath(new URL('../fixtures/servers/', import.meta.url))
const program = (file: string, ...args: string[]) => ({
  command: process.execPath,
  args: [join(SERVERS, `${file}.mjs`), ...args],
})

/** A value that looks like a secret. No page may show it. */
export const HOME_SECRET = 'ghp_Dashb0ardHome0123456789abcdefABCDEF'

export interface DashboardHome {
  /** Every file of an agent, with its bytes. */
  readonly files: ReadonlyMap<string, string>
  /** The STDIO servers, as `POST /api/servers` takes them. */
  readonly stdio: readonly { readonly name: string; readonly command: string; readonly args: string[] }[]
  /** The HTTP servers, as `POST /api/http-servers` takes them. */
  readonly http: readonly { readonly name: string; readonly url: string }[]
}

/** Writes the files of the agents, and starts the two HTTP servers, which are closed after the test. */
export async function writeDashboardHome(home: string): Promise<DashboardHome> {
  const h200 = await openHttp(tiny)
  const h401 = await openHttp(
    (_, response) => void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
  )
  for (const site of [h200, h401]) atEnd(() => site.close())
  const url = { h200: `${h200.origin}/mcp`, h401: `${h401.origin}/mcp` }
  const entries = {
    echo: program('dozen'),
    slow: program('slow', '--ms=3000'),
    crash: program('crash'),
    noisy: program('noisy'),
    noenv: program('noenv', '--name=TOKEN'),
    mutate: program('restarted', `--state=${join(home, 'mutate.state')}`),
    flood: program('flood', '--rate=5000', '--seconds=20'),
  }
  const { echo, slow, crash, noisy, noenv, mutate, flood } = entries
  const files = new Map([
    [
      join(home, '.claude.json'),
      json({
        numStartups: 12,
        mcpServers: {
          echo: { type: 'stdio', ...echo, env: { NOTES_TOKEN: HOME_SECRET } },
          slow: { type: 'stdio', ...slow },
          crash: { type: 'stdio', ...crash },
          noisy: { type: 'stdio', ...noisy },
          h200: { type: 'http', url: url.h200 },
        },
      }),
    ],
    [
      join(home, '.config', 'Claude', 'claude_desktop_config.json'),
      json({ mcpServers: { echo: { ...echo, env: { NOTES_TOKEN: HOME_SECRET } }, noenv, mutate } }),
    ],
    [
      join(home, '.cursor', 'mcp.json'),
      json({ mcpServers: { echo: { ...echo, env: { NOTES_TOKEN: HOME_SECRET } }, flood } }),
    ],
    [
      join(home, '.codex', 'config.toml'),
      `# the model for small changes
model = "o4-mini"

[mcp_servers.crash] # fails on purpose
command = ${JSON.stringify(crash.command)}
args = ${JSON.stringify(crash.args)}
`,
    ],
    [
      join(home, '.config', 'zed', 'settings.json'),
      '// Zed settings\n{\n  "theme": "One Dark"\n  "context_servers": {},\n}\n',
    ],
  ])
  for (const [path, text] of files) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text, { mode: 0o600 })
  }
  return {
    files,
    stdio: Object.entries(entries).map(([name, { command, args }]) => ({ name, command, args })),
    http: Object.entries(url).map(([name, each]) => ({ name, url: each })),
  }
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`
