import { expect, test } from 'vitest'
import { definitions, http, npx, stdio } from '../../../../test/support/snippets.ts'
import { parseSnippet, readSnippet } from './snippet.ts'

const DOCS = 'https://docs.example/mcp'

test.each<[string, string, Record<string, unknown>]>([
  ['npx -y @modelcontextprotocol/server-github', 'github', npx('@modelcontextprotocol/server-github')],
  ['$ npx -y @playwright/mcp@latest --headless', 'playwright', npx('@playwright/mcp@latest', '--headless')],
  ['npx tavily-mcp@0.1.3', 'tavily', stdio('npx', ['tavily-mcp@0.1.3'])],
  ['uvx mcp-server-fetch==2025.4.7', 'fetch', stdio('uvx', ['mcp-server-fetch==2025.4.7'])],
  [
    'uvx --from git+https://git.example/me/weather weather-mcp',
    'weather',
    stdio('uvx', ['--from', 'git+https://git.example/me/weather', 'weather-mcp']),
  ],
  [
    'docker run -i --rm -e TOKEN ghcr.io/acme/acme-mcp-server:1.2 stdio',
    'acme',
    stdio('docker', ['run', '-i', '--rm', '-e', 'TOKEN', 'ghcr.io/acme/acme-mcp-server:1.2', 'stdio']),
  ],
  ['node /srv/mcp-weather/build/index.js', 'weather', stdio('node', ['/srv/mcp-weather/build/index.js'])],
  ['python -m mcp_server_time', 'time', stdio('python', ['-m', 'mcp_server_time'])],
  [
    'uv --directory /srv/weather run weather.py',
    'weather',
    stdio('uv', ['--directory', '/srv/weather', 'run', 'weather.py']),
  ],
  ['cmd /c npx -y firecrawl-mcp', 'firecrawl', stdio('cmd', ['/c', 'npx', '-y', 'firecrawl-mcp'])],
  [
    'npx -y mcp-remote https://mcp.acme.example/sse',
    'mcp.acme.example',
    npx('mcp-remote', 'https://mcp.acme.example/sse'),
  ],
  ['LEVEL=info A="b c" npx -y x-mcp', 'x', { ...npx('x-mcp'), env: { LEVEL: 'info', A: 'b c' } }],
  [
    'npx -y x-mcp \\\n  --dir "/srv/my notes" \\\n  --flag',
    'x',
    npx('x-mcp', '--dir', '/srv/my notes', '--flag'),
  ],
  ['npx -y x-mcp C:\\Users\\me\\notes', 'x', npx('x-mcp', 'C:\\Users\\me\\notes')],
  ['`npx -y x-mcp`', 'x', npx('x-mcp')],
  ['/opt/acme/bin/acme-mcp-server --stdio', 'acme', stdio('/opt/acme/bin/acme-mcp-server', ['--stdio'])],
  [DOCS, 'docs.example', http(DOCS)],
  ['http://localhost:3001/sse', 'localhost', http('http://localhost:3001/sse')],
  ['claude mcp add files -- npx -y x-mcp /srv', 'files', npx('x-mcp', '/srv')],
  [
    'claude mcp add files -s user -e A=1 B=2 -- npx -y x-mcp',
    'files',
    { ...npx('x-mcp'), env: { A: '1', B: '2' } },
  ],
  [
    'claude mcp add --transport http docs https://docs.example/mcp --header "X-Key: k" --header "Y: z"',
    'docs',
    http(DOCS, 'streamable_http', { 'X-Key': 'k', Y: 'z' }),
  ],
  ['claude mcp add -t sse docs https://docs.example/mcp', 'docs', http(DOCS, 'sse')],
  ['claude mcp add --transport=http https://docs.example/mcp', 'docs.example', http(DOCS, 'streamable_http')],
  [
    `claude mcp add-json docs '{\n  "type": "http",\n  "url": "${DOCS}"\n}'`,
    'docs',
    http(DOCS, 'streamable_http'),
  ],
  ['codex mcp add files --env A=1 -- npx -y x-mcp', 'files', { ...npx('x-mcp'), env: { A: '1' } }],
  ['codex mcp add docs --url https://docs.example/mcp', 'docs', http(DOCS)],
  ['gemini mcp add -e A=1 files npx -y x-mcp', 'files', { ...npx('x-mcp'), env: { A: '1' } }],
  ['droid mcp add files "npx -y x-mcp"', 'files', npx('x-mcp')],
  [`code --add-mcp '{"name":"files","command":"npx","args":["-y","x-mcp"]}'`, 'files', npx('x-mcp')],
  [
    'code --add-mcp "{\\"name\\":\\"docs\\",\\"type\\":\\"sse\\",\\"url\\":\\"https://docs.example/mcp\\"}"',
    'docs',
    http(DOCS, 'sse'),
  ],
  [
    `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: 'files', ...npx('x-mcp') }))}`,
    'files',
    npx('x-mcp'),
  ],
  [
    `https://insiders.vscode.dev/redirect/mcp/install?name=files&config=${encodeURIComponent(JSON.stringify(npx('x-mcp')))}`,
    'files',
    npx('x-mcp'),
  ],
  [
    `cursor://anysphere.cursor-deeplink/mcp/install?name=files&config=${btoa(JSON.stringify({ command: 'npx -y x-mcp' }))}`,
    'files',
    npx('x-mcp'),
  ],
])('the line %s is imported', (text, name, definition) => {
  const { entries, refused } = parseSnippet(text)
  expect(definitions(entries)).toEqual({ [name]: definition })
  expect(refused).toEqual([])
})

test.each([
  ['npx -y x-mcp && rm -rf /', 'It uses shell operators such as && or |'],
  ['npx -y @smithery/cli install x --client claude', 'This command installs or inspects a server'],
  ['npx @modelcontextprotocol/inspector node x.js', 'This command installs or inspects a server'],
  ['claude mcp add x -- npx y && z', 'It uses shell operators such as && or |'],
  ['claude mcp add x', 'The command has neither a program nor a url'],
  [`claude mcp add-json x '{"url": s3cret}'`, 'Cannot parse the JSON in the command'],
  [
    'cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=s3cret',
    'Cannot parse the configuration in the link',
  ],
  ['https://github.com/acme/acme-mcp', 'This is the URL of a web page'],
])('the line %s is refused', (text, reason) => {
  const { entries, refused } = parseSnippet(text)
  expect(entries).toEqual([])
  expect(refused).toMatchObject([{ reason: expect.stringContaining(reason) }])
  expect(JSON.stringify(refused)).not.toContain('s3cret')
})

test.each<[string, unknown, unknown, number]>([
  ['npx -y x-mcp', undefined, npx('x-mcp'), 1],
  [`sh -c 'a && b'`, undefined, stdio('sh', ['-c', 'a && b']), 1],
  ['npx -y', ['x-mcp'], stdio('npx -y', ['x-mcp']), 0],
  ['C:\\Program Files\\nodejs\\node.exe', undefined, stdio('C:\\Program Files\\nodejs\\node.exe'), 0],
  ['C:\\Program Files\\x\\x.exe --stdio', undefined, stdio('C:\\Program Files\\x\\x.exe', ['--stdio']), 1],
  [
    '/Applications/My App.app/Contents/MacOS/x',
    undefined,
    stdio('/Applications/My App.app/Contents/MacOS/x'),
    0,
  ],
  ['/usr/bin/python3 src/server.py', undefined, stdio('/usr/bin/python3', ['src/server.py']), 1],
  ["Bob's tool", undefined, stdio("Bob's tool"), 0],
  ['x', '-y "a b"', stdio('x', ['-y', 'a b']), 1],
])('the command %s with args %j is split correctly', (command, args, definition, notes) => {
  const entry = readSnippet({ a: { command, ...(args === undefined ? {} : { args }) } }).entries[0]
  expect(entry?.definition).toEqual(definition)
  expect(entry?.notes).toHaveLength(notes)
})

test('unsupported options of an agent are noted by name', () => {
  const { entries } = parseSnippet('gemini mcp add --trust --timeout 5000 --scope user files npx x-mcp')
  expect(entries).toMatchObject([
    { name: 'files', notes: ['Unsupported options were ignored: --trust, --timeout'] },
  ])
})
