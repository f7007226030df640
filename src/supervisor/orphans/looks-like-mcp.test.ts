import { describe, expect, test } from 'vitest'
import { stopwatch } from '../../../test/support/measuring.ts'
import { looksLikeMcp } from './looks-like-mcp.ts'

/** Split at spaces, or at bars if an argument contains a space. */
const argv = (line: string) => line.split(line.includes('|') ? '|' : ' ')

describe('MCP server', () => {
  test.each([
    'mcp-server-git --repository /home/a/project',
    '/usr/local/bin/github-mcp-server stdio',
    '/opt/server-mcp',
    '/home/a/bin/mcp_server_time',
    '/opt/GitHubMcp.Server',
    'npm exec @modelcontextprotocol/server-filesystem /home/a',
    'npm exec --yes -- @upstash/context7-mcp',
    'npm exec @playwright/mcp@latest --headless',
    'npm run mcp',
    'npx -y @scope/foo-mcp',
    'npx -y --package=@scope/foo-mcp foo',
    'npx -p @scope/foo-mcp foo',
    'npx -y firebase-tools experimental:mcp',
    'node /usr/lib/node_modules/npm/bin/npx-cli.js -y mcp-remote https://example.com/sse',
    'node /home/a/.npm/_npx/1f2/node_modules/.bin/mcp-server-memory',
    'node ./node_modules/.bin/../gitnexus/dist/cli/index.js mcp',
    'node /home/a/node_modules/@modelcontextprotocol/server-memory/dist/index.js',
    'node /home/a/my-mcp-server/build/index.js',
    'node --require ./preload.cjs --import file:///a/loader.mjs /srv/mcp/src/index.ts',
    'node --max-old-space-size=512 mcp.js',
    '/home/a/.bun/bin/bun run /srv/weather-mcp/index.ts',
    'bunx @scope/foo-mcp',
    'deno run -A npm:@scope/mcp-thing',
    'pnpm dlx mcp-server-x',
    'python3 -m mcp_server_fetch --user-agent x',
    '/home/a/.venv/bin/python3.12 /home/a/.venv/bin/mcp-server-git',
    'python -u -X utf8 /srv/mcp-weather/server.py',
    'uvx mcp-server-time',
    'uvx --python 3.12 --from mcp-server-fetch fetch',
    'uv tool uvx mcp-server-git',
    'uv --directory /home/a/weather-mcp run server.py',
    'uv run --with mcp[cli] mcp run server.py',
    'uv run fastmcp run server.py',
    'docker run -i --rm -e GITHUB_TOKEN mcp/github',
    'docker run -i --rm --name x ghcr.io/github/github-mcp-server:latest',
    'docker mcp gateway run',
    'java -Xmx1g -jar /opt/foo-mcp-1.0.jar',
    'dotnet /opt/thing/McpServer.dll',
    'sh|-c|mcp-server-filesystem /home/a',
    'bash|-lc|cd /srv && KEY=1 exec npx -y "foo-mcp"',
    'bash /srv/foo-mcp/run.sh',
    'npx tsx /srv/foo-mcp/index.ts',
    'C:\\Program Files\\nodejs\\node.exe|C:\\Users\\anna\\foo-mcp\\index.js',
    'node.exe C:\\nodejs\\node_modules\\npm\\bin\\npx-cli.js -y @scope/foo-mcp',
    'C:\\Windows\\system32\\cmd.exe|/d|/s|/c|npx.cmd -y foo-mcp',
    'cmd.exe /C cd C:\\work & uvx mcp-server-time',
  ])('the command line %s is an MCP server', (line) => {
    expect(looksLikeMcp(argv(line))).toBe(true)
  })
})

describe('other programs', () => {
  test.each([
    '',
    'vim /home/a/mcp/notes.txt',
    'code --folder-uri /home/a/my-mcp-server',
    'grep mcp',
    'tail -f /var/log/mcp-server.log',
    '/home/a/my-mcp-server/.venv/bin/python -m pylsp',
    '/home/a/my-mcp-server/.venv/bin/python /home/a/my-mcp-server/.venv/bin/pylsp',
    'node /home/a/my-mcp-server/node_modules/typescript/lib/tsserver.js',
    'node /home/a/my-mcp-server/node_modules/.bin/vitest --watch',
    'node /usr/lib/node_modules/typescript/lib/tsserver.js --log /home/a/mcp/ts.log',
    'node -e require("mcp-server")',
    'node --require /home/a/mcp/hook.js /srv/web/server.js',
    'node /home/mcp/web/server.js',
    'node /srv/web/server.js --mcp-folder mcp',
    'node',
    'npm install @scope/foo-mcp',
    'npm run dev',
    'python -c import|mcp',
    'python -m pip install mcp-server-git',
    'python -m http.server --directory /home/a/mcp',
    'uv pip install mcp',
    'uv tool install mcp-server-git',
    'uv --directory /home/a/weather-mcp sync',
    'docker run -i -v /home/a/mcp:/data postgres psql',
    'docker run -d --name mcp nginx',
    'docker pull mcp/github',
    'sh|-c|cd /home/a/mcp && vim notes.txt',
    'bash --login',
    'mcphost',
    'can-utils mcp251x',
    '/usr/lib/systemd/systemd --user',
    'node /opt/toolroom/dist/mcp.js',
    'java -cp /home/a/mcp/lib.jar com.example.Main',
    'git clone https://github.com/a/foo-mcp',
    'rg --json modelcontextprotocol /srv',
    'C:\\Program Files\\nodejs\\node.exe|C:\\Users\\mcp\\web\\server.js',
    'cmd.exe|/c|type C:\\mcp\\notes.txt',
    'cmd.exe /k',
  ])('the command line %s is not an MCP server', (line) => {
    expect(looksLikeMcp(argv(line))).toBe(false)
  })

  test('a very long command line is checked quickly', () => {
    const spent = stopwatch()
    expect(looksLikeMcp(Array.from({ length: 100_000 }, () => 'node'))).toBe(false)
    expect(looksLikeMcp(['sh', '-c', 'sh -c '.repeat(20_000)])).toBe(false)
    expect(looksLikeMcp(['node', '../../'.repeat(40_000)])).toBe(false)
    expect(spent()).toBeLessThan(1000)
  })
})
