import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { GOOSE, OPENCODE, put } from '../../test/support/agents.ts'
import { ownFolder } from '../../test/support/folder.ts'
import { PRIVATE_FILE } from '../../test/support/home-env.ts'
import { AUTHORISED, openTestService } from '../../test/support/test-service.ts'

/** A string that must never appear in any output, numbered so that a failure identifies it. */
let planted = 0
function canary(): string {
  planted += 1
  return `canary-${planted}-Zq8x`
}

const FILES: Record<string, { path: string; text: () => string }> = {
  'claude-code': {
    path: '.claude.json',
    text: () => `{
  "apiKeyHelper": "${canary()}", "customApiKeyResponses": ["${canary()}"],
  "mcpServers": {
    "theirs": { "type": "stdio", "command": "npx", "args": ["--api-key", "${canary()}", "--token=${canary()}"],
      "env": { "A": "${canary()}", "PASSWORD": "${canary()}" }, "oauth": { "refresh": "${canary()}" } },
    "remote": { "type": "http", "url": "https://me:${canary()}@docs.example/mcp?key=${canary()}",
      "headers": { "Authorization": "Bearer ${canary()}", "X-Other": "${canary()}" } }
  },
  "oauthAccount": { "accessToken": "${canary()}" }
}`,
  },
  opencode: {
    path: OPENCODE,
    text: () => `// ${canary()}
{ /* ${canary()} */
  "provider": { "x": { "options": { "apiKey": "${canary()}" } } },
  "mcp": {
    // old: ${canary()}
    "theirs": { "type": "local", "command": ["npx", "--secret", "${canary()}"], "environment": { "K": "${canary()}" } } // ${canary()}
  }
}
`,
  },
  codex: {
    path: '.codex/config.toml',
    text: () => `# ${canary()}
notify = ["${canary()}"]
[mcp_servers.theirs] # ${canary()}
command = "npx"
args = ["--password", "${canary()}"]
env = { A = "${canary()}", B = '${canary()}' }
extra = """
${canary()}
two ${canary()}"""
[mcp_servers.remote]
url = "https://docs.example/mcp?token=${canary()}"
http_headers = { Authorization = "Bearer ${canary()}" }
# ${canary()}
`,
  },
  goose: {
    path: GOOSE,
    text: () => `# ${canary()}
OPENAI_KEY: ${canary()}
extensions:
  theirs:
    type: stdio
    name: theirs
    cmd: npx # ${canary()}
    args: [--key, ${canary()}]
    envs: { A: ${canary()}, B: "${canary()}" }
    enabled: true
    notes: |
      ${canary()}
      and ${canary()}
other: '${canary()}'
`,
  },
}

test("no secret of an agent's file appears in a response, diff, log line, audit line or event", async () => {
  const home = ownFolder()
  for (const { path, text } of Object.values(FILES)) put(home, path, text())
  const service = await openTestService({ home, env: { LOG_LEVEL: 'trace' } })
  const said: string[] = []
  const socket = new WebSocket(`${service.address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => socket.terminate())
  socket.on('message', (data) => said.push(String(data)))
  await once(socket, 'open')
  socket.send(JSON.stringify({ type: 'subscribe', topics: ['log'] }))
  const ask = async (method: 'GET' | 'PUT' | 'POST' | 'DELETE', url: string, payload?: object) => {
    const reply = await service.inject({ method, url, headers: AUTHORISED, ...(payload && { payload }) })
    said.push(reply.body)
    return reply
  }
  const secret = canary()
  for (const type of Object.keys(FILES)) {
    const base = `/api/agents/${type}`
    for (const read of ['', '/http-servers', '/effective', '/history', '/file'])
      expect((await ask('GET', base + read)).statusCode).toBe(200)
    const ours = { command: 'npx', args: ['--token', secret], env: { TOKEN: secret } }
    for (const dry_run of [true, false]) {
      expect((await ask('PUT', `${base}/servers`, { servers: { ours }, dry_run })).statusCode).toBe(200)
      const theirs = { command: 'npx', args: ['changed'], env: { A: secret } }
      expect((await ask('PUT', `${base}/servers`, { servers: { theirs }, dry_run })).statusCode).toBe(200)
      expect(
        (await ask('DELETE', `${base}/servers`, { names: ['ours', 'theirs'], dry_run })).statusCode,
      ).toBe(200)
    }
    expect((await ask('POST', `${base}/undo`, {})).statusCode).toBe(200)
  }
  await ask('GET', '/api/agents')
  await ask('GET', '/api/agents/scan')
  await ask('POST', '/api/agents/import', {})
  await ask('GET', '/api/servers')
  await ask('GET', '/api/http-servers')
  put(home, '.codex/config.toml', `${'x'.repeat(10)} = broken ${canary()}`)
  put(
    home,
    FILES.goose?.path ?? '',
    `${FILES.goose?.text()}cert: [ |\n  ${canary()}==\nKEY: ${canary()}= = x\n`,
  )
  for (const type of ['codex', 'goose']) {
    const { parse_error, lines } = (await ask('GET', `/api/agents/${type}/file`)).json()
    expect(parse_error).not.toBeNull()
    expect(lines.length).toBeGreaterThan(0)
  }
  await ask('PUT', '/api/agents/codex/servers', { servers: { ours: { command: 'x' } } })
  await sleep(400)
  await ask('GET', '/api/logs?limit=1000')
  const all = said.join('\n')
  expect(all.length).toBeGreaterThan(20_000)
  const seen = [...new Set(all.match(/canary-\d+/g) ?? [])]
  expect(
    seen.map((word) => `${word}: ${all.slice(all.indexOf(word) - 200, all.indexOf(word) + 40)}`),
  ).toEqual([])
  // What Toolroom stores is encrypted or readable by its owner only.
  const kept = filesBelow(service.data)
  for (const file of kept) expect(statSync(file).mode & 0o077, file).toBe(PRIVATE_FILE & 0o077)
  const open = kept.filter((file) => !file.endsWith('.before') && readFileSync(file).includes('canary-'))
  expect(open).toEqual([])
})

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

test("an audit line about an agent's file shows of arguments only what readers without the token may see; the response shows more", async () => {
  const home = ownFolder()
  put(home, '.cursor/mcp.json', '{"mcpServers": {}}\n')
  const service = await openTestService({ home })
  const ask = async (method: 'PUT' | 'POST', path: string, body: object) => {
    const reply = await service.inject({
      method,
      url: `/api/agents/cursor/${path}`,
      headers: AUTHORISED,
      body,
    })
    expect(reply.statusCode, reply.body).toBe(200)
    return reply.json<{ diff: string }>().diff
  }
  const servers = { docs: { command: 'run', args: ['--verbose', 'open-sesame', '/srv/docs'] } }
  expect(await ask('PUT', 'servers', { servers })).toContain('"open-sesame"')
  expect(await ask('POST', 'undo', {})).toContain('"open-sesame"')

  const { items } = (await service.inject('/api/logs?source=audit')).json()
  expect(items.map(({ message }: { message: string }) => message)).toEqual([
    'agent config undone: cursor',
    'agent config changed: cursor',
  ])
  for (const { data } of items) {
    expect(data.diff).toContain('"--verbose"')
    expect(data.diff).toContain('"/srv/docs"')
    expect(JSON.stringify(data)).not.toContain('sesame')
  }
})
