import { expect, test } from 'vitest'
import { AppError } from '../kernel/errors.ts'
import { parseSnippet, readSnippet, type SnippetEntry } from './snippet.ts'

const stdio = (command: string, args: string[] = [], env: Record<string, string> = {}, cwd?: string) => ({
  type: 'stdio',
  command,
  args,
  env,
  ...(cwd === undefined ? {} : { cwd }),
})
const http = (url: string, transport = 'auto', headers: Record<string, string> = {}) => ({
  type: 'http',
  url,
  transport,
  headers,
})
const definitions = (entries: readonly SnippetEntry[]) =>
  Object.fromEntries(entries.map(({ name, definition }) => [name, definition]))
const npx = (...args: string[]) => stdio('npx', ['-y', ...args])
const errorOf = (run: () => unknown): AppError => {
  try {
    run()
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

const NOTES = '@modelcontextprotocol/server-filesystem'
const DOCS = 'https://docs.example/mcp'

test.each<[string, string, Record<string, unknown>]>([
  [
    'the mcpServers of Claude, Cursor and many others',
    `{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "${NOTES}", "/srv/notes"] } } }`,
    { files: npx(NOTES, '/srv/notes') },
  ],
  [
    'the servers of VS Code with inputs beside them',
    `{ "inputs": [{ "type": "promptString", "id": "key", "password": true }],
       "servers": { "docs": { "type": "http", "url": "${DOCS}" },
                    "git": { "type": "stdio", "command": "uvx", "args": ["mcp-server-git"], "cwd": "/srv/repo" } } }`,
    { docs: http(DOCS, 'streamable_http'), git: stdio('uvx', ['mcp-server-git'], {}, '/srv/repo') },
  ],
  [
    'the settings.json of VS Code with mcp.servers among other settings',
    `{ "editor.fontSize": 14, "mcp": { "servers": { "a": { "command": "a-mcp" } } }, "files.trim": { "x": true } }`,
    { a: stdio('a-mcp') },
  ],
  ['a dotted key mcp.servers', `{ "mcp.servers": { "a": { "command": "a-mcp" } } }`, { a: stdio('a-mcp') }],
  [
    'the mcp of OpenCode with command lists and environment',
    `{ "$schema": "https://opencode.example/config.json",
       "mcp": { "files": { "type": "local", "command": ["npx", "-y", "${NOTES}"], "environment": { "DEBUG": "1" } },
                "docs": { "type": "remote", "url": "${DOCS}", "headers": { "X-Key": "k" } } } }`,
    { files: { ...npx(NOTES), env: { DEBUG: '1' } }, docs: http(DOCS, 'auto', { 'X-Key': 'k' }) },
  ],
  [
    'the mcp of OpenCode in its layout with servers',
    `{ "mcp": { "servers": { "a": { "command": ["a-mcp"] } }, "timeout": 5 } }`,
    { a: stdio('a-mcp') },
  ],
  [
    'the mcp of Gemini, which holds only settings, beside mcpServers',
    `{ "mcp": { "excluded": ["b"] }, "mcpServers": { "a": { "httpUrl": "${DOCS}" } } }`,
    { a: http(DOCS, 'streamable_http') },
  ],
  [
    'the context_servers of Zed, old and new',
    `{ "theme": "One Dark", "context_servers": {
         "new": { "source": "custom", "command": "a-mcp", "args": ["--stdio"], "env": {} },
         "old": { "command": { "path": "b-mcp", "args": ["-v"], "env": { "LEVEL": "info" } }, "settings": {} } } }`,
    { new: stdio('a-mcp', ['--stdio']), old: stdio('b-mcp', ['-v'], { LEVEL: 'info' }) },
  ],
  [
    'the nested transport of Cline',
    `{ "mcpServers": { "a": { "transport": { "type": "streamableHttp", "url": "${DOCS}", "headers": { "X": "y" } } } } }`,
    { a: http(DOCS, 'streamable_http', { X: 'y' }) },
  ],
  [
    'the settings of Amp, whose key has a dot in it',
    `{ "amp.url": "https://amp.example", "amp.mcpServers": { "a": { "command": "a-mcp" } } }`,
    { a: stdio('a-mcp') },
  ],
  [
    'serverUrl, sse, and headers in requestInit',
    `{ "mcpServers": { "a": { "serverUrl": "${DOCS}" }, "b": { "type": "sse", "url": "${DOCS}/sse" } },
       "servers": { "c": { "url": "${DOCS}", "requestInit": { "headers": { "X": "y" } } } } }`,
    { a: http(DOCS), b: http(`${DOCS}/sse`, 'sse'), c: http(DOCS, 'auto', { X: 'y' }) },
  ],
  [
    'the file of Claude Code, whose projects stay where they are',
    `{ "numStartups": 3, "projects": { "/srv/x": { "mcpServers": { "hidden": { "command": "h" } } } },
       "mcpServers": { "a": { "type": "stdio", "command": "a-mcp", "args": [], "env": {} } } }`,
    { a: stdio('a-mcp') },
  ],
  [
    'a list of servers with names',
    `{ "mcpServers": [{ "name": "a", "command": "a-mcp" }, { "name": "b", "type": "sse", "url": "${DOCS}" }] }`,
    { a: stdio('a-mcp'), b: http(DOCS, 'sse') },
  ],
  [
    'a bare map',
    `{ "a": { "command": "a-mcp" }, "b": { "url": "${DOCS}" } }`,
    { a: stdio('a-mcp'), b: http(DOCS) },
  ],
  [
    'servers called mcp and servers in a bare map',
    `{ "mcp": { "command": "a-mcp" }, "servers": { "command": "b-mcp" } }`,
    { mcp: stdio('a-mcp'), servers: stdio('b-mcp') },
  ],
  [
    'missing outer braces',
    `"a": { "command": "a-mcp" },\n"b": { "command": "b-mcp" },`,
    { a: stdio('a-mcp'), b: stdio('b-mcp') },
  ],
  [
    'missing outer braces around mcpServers',
    `"mcpServers": { "a": { "command": "a-mcp" } } // end`,
    { a: stdio('a-mcp') },
  ],
  ['a closing brace too many', `"a": { "command": "a-mcp" }\n  }\n}`, { a: stdio('a-mcp') }],
  [
    'comments, trailing commas, a byte order mark and CRLF',
    '\ufeff{\r\n  // the servers\r\n  "mcpServers": {\r\n    "a": { "command": "a-mcp", /* none */ "args": ["x",], },\r\n  },\r\n}\r\n',
    { a: stdio('a-mcp', ['x']) },
  ],
  [
    'curly quotes',
    `{ “mcpServers”: { “a”: { “command”: “a-mcp”, "args": ["say “hi”"] } } }`,
    { a: stdio('a-mcp', ['say “hi”']) },
  ],
  ['curly quotes and no outer braces', `“a”: { “command”: “a-mcp” }`, { a: stdio('a-mcp') }],
  [
    'the odd spaces of a web page',
    `{\u00a0\u00a0"a": {\u00a0"command": "a\u00a0b", "args": [] } }`,
    { a: stdio('a\u00a0b') },
  ],
  [
    'prose around JSON without fences',
    `Add this to your settings:\n\n{ "mcpServers": { "a": { "command": "a-mcp" } } }\n\nThen it's time to restart.`,
    { a: stdio('a-mcp') },
  ],
  [
    'prose with an apostrophe in a line that begins like a command',
    `npx doesn't need an install, so:\n{ "a": { "command": "a-mcp" } }`,
    { a: stdio('a-mcp') },
  ],
  [
    'TOML of Codex',
    `model = "o9"\n\n[mcp_servers.files]\ncommand = "npx"\nargs = ["-y", "${NOTES}"]\nstartup_timeout_sec = 20\n
[mcp_servers.files.env]\nDEBUG = "1"\n\n[mcp_servers."my docs"]\nurl = "${DOCS}"\nhttp_headers = { "X-Key" = "k" }\n`,
    { files: { ...npx(NOTES), env: { DEBUG: '1' } }, 'my docs': http(DOCS, 'auto', { 'X-Key': 'k' }) },
  ],
  [
    'TOML as a list',
    `[[mcp_servers]]\nname = "a"\ntransport = "stdio"\ncommand = "a-mcp"\n`,
    { a: stdio('a-mcp') },
  ],
  [
    'prose before TOML',
    `Put this into config.toml:\n[mcp_servers.a]\ncommand = "a-mcp"`,
    { a: stdio('a-mcp') },
  ],
  [
    'TOML of one server without a name',
    `command = "uvx"\nargs = ["mcp-server-git"]`,
    { git: stdio('uvx', ['mcp-server-git']) },
  ],
])('%s', (_, text, expected) => {
  const { entries, refused } = parseSnippet(text)
  expect(definitions(entries)).toEqual(expected)
  expect(refused).toEqual([])
})

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
])('the line %s is read', (text, name, definition) => {
  const { entries, refused } = parseSnippet(text)
  expect(definitions(entries)).toEqual({ [name]: definition })
  expect(refused).toEqual([])
})

test.each<[string, string[], string]>([
  ['{ "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"] }', [], 'github'],
  ['{ "name": "mine", "command": "npx", "args": ["-y", "x"] }', [], 'mine'],
  ['{ "@acme/x": { "command": "x" } }', ["The name '@acme/x' does not fit and became 'acme-x'"], 'acme-x'],
  [
    '{ "github.com/acme/x": { "command": "x" } }',
    ["The name 'github.com/acme/x' does not fit and became 'github.com-acme-x'"],
    'github.com-acme-x',
  ],
  ['{ "Café": { "command": "x" } }', ["The name 'Café' does not fit and became 'Cafe'"], 'Cafe'],
  [
    '{ "天气": { "command": "weather-mcp" } }',
    ["The name '天气' does not fit and became 'weather'"],
    'weather',
  ],
  ['{ "": { "command": "weather-mcp" } }', ["The name '' does not fit and became 'weather'"], 'weather'],
])('%s gets a name that fits', (text, notes, name) => {
  expect(parseSnippet(text).entries).toMatchObject([{ name, notes }])
})

test.each<[string, object, string[]]>([
  [
    'a placeholder in env',
    { env: { TOKEN: '<YOUR_TOKEN>', A: 'b' } },
    ['env TOKEN still holds a placeholder'],
  ],
  ['an input of VS Code', { env: { TOKEN: `\${input:token}` } }, ['env TOKEN still holds a placeholder']],
  [
    'a variable',
    { env: { TOKEN: `\${env:TOKEN}`, B: '$HOME' } },
    ['env TOKEN still holds a placeholder', 'env B still holds a placeholder'],
  ],
  ['a shouted placeholder', { env: { KEY: 'YOUR_API_KEY' } }, ['env KEY still holds a placeholder']],
  ['a quiet placeholder', { env: { KEY: 'your-api-key' } }, ['env KEY still holds a placeholder']],
  ['a crossed out key', { env: { KEY: 'sk-xxxx' } }, ['env KEY still holds a placeholder']],
  ['an empty value', { env: { KEY: '' } }, ['env KEY is empty']],
  ['a path to be filled in', { args: ['--dir', '/path/to/notes'] }, ['argument 2 still holds a placeholder']],
  ['a package with an extra', { args: ['mcp[cli]'] }, []],
  [
    'numbers and booleans',
    { env: { PORT: 80, ON: true } },
    ['These were not in quotes and became texts: env PORT, ON'],
  ],
  [
    'a number among the arguments',
    { args: ['--port', 80] },
    ['These were not in quotes and became texts: argument 2'],
  ],
  ['a disabled server', { disabled: true }, ['It is disabled in the snippet']],
  ['a server that is not enabled', { enabled: false }, ['It is disabled in the snippet']],
  ['an enabled server', { enabled: true, disabled: false }, []],
  [
    'fields of other agents',
    { autoApprove: [], timeout: 60 },
    ['Fields without a meaning here were left out: autoApprove, timeout'],
  ],
  ['a type that nobody knows', { type: 'quantum' }, ['Its type is not known here and was left out']],
  [
    'variables that the agent forwards',
    { env_vars: ['TOKEN'] },
    ['env_vars was left out: add those variables to env with their values'],
  ],
])('%s is noted', (_, fields, notes) => {
  expect(readSnippet({ a: { command: 'x', ...fields } }).entries[0]?.notes).toEqual(notes)
})

test('the token variable of Codex is noted by its key, since people put the token itself there', () => {
  const { entries } = parseSnippet(`[mcp_servers.a]\nurl = "${DOCS}"\nbearer_token_env_var = "s3cret"`)
  expect(entries[0]?.notes).toEqual([
    'bearer_token_env_var was left out: add the header Authorization with that token',
  ])
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
])('the command %s with args %j is divided as it was meant', (command, args, definition, notes) => {
  const entry = readSnippet({ a: { command, ...(args === undefined ? {} : { args }) } }).entries[0]
  expect(entry?.definition).toEqual(definition)
  expect(entry?.notes).toHaveLength(notes)
})

test.each<[string, unknown, string]>([
  ['nothing to run', { args: ['x'] }, 'It has neither a command nor a url; add one of them'],
  [
    'both',
    { command: 'x', url: DOCS },
    'It has both a command and a url; remove one, or say which with type',
  ],
  [
    'null in env',
    { command: 'x', env: { TOKEN: null } },
    'The value of env TOKEN is null; write a text or remove it',
  ],
  [
    'an object in env',
    { command: 'x', env: { A: {} } },
    'The value of env A is not a text; put it in quotes',
  ],
  ['a list as env', { command: 'x', env: ['A=b'] }, 'Its env cannot be read; write {"NAME": "value"}'],
  [
    'a number too long',
    { command: 'x', env: { ID: 2 ** 60 } },
    'The number in env ID is too long to be kept exactly; put it in quotes',
  ],
  [
    'null in args',
    { command: 'x', args: [null] },
    'The value of argument 1 is null; write a text or remove it',
  ],
  ['an empty command', { command: ' ', args: [] }, 'Its command is empty; name the program to run'],
  [
    'a shell in the command',
    { command: 'cd /srv && node x.js' },
    'It uses signs of a shell such as && or |; keep only the command that starts the server',
  ],
  [
    'another scheme',
    { url: 'ftp://x.example' },
    'Its url is not an http or https address; write the full address',
  ],
  [
    'a placeholder as url',
    { url: `\${URL}` },
    'Its url is not an http or https address; write the full address',
  ],
  [
    'a password in the url',
    { url: 'https://me:s3cret@x.example' },
    'Its url holds a user name or password; put them into a header instead',
  ],
  [
    'a WebSocket',
    { type: 'ws', url: 'wss://x.example' },
    'It uses WebSocket, which is not supported; use its http or sse address',
  ],
  ['a number', 5, 'It is not an object; write {"command": …} or {"url": …}'],
])('%s is refused with what to do', (_, entry, reason) => {
  const { entries, refused } = readSnippet({ mcpServers: { bad: entry, good: { command: 'x' } } })
  expect(refused).toEqual([{ name: 'bad', reason }])
  expect(entries.map(({ name }) => name)).toEqual(['good'])
})

test('a long number in JSON and TOML keeps all its digits', () => {
  const id = '1234567890123456789'
  const json = parseSnippet(`{"a": {"command": "x", "env": {"ID": ${id}}}}`)
  const toml = parseSnippet(`[mcp_servers.a]\ncommand = "x"\nenv = { ID = ${id} }`)
  expect([json, toml].map(({ entries }) => entries[0]?.definition)).toEqual([
    stdio('x', [], { ID: id }),
    stdio('x', [], { ID: id }),
  ])
})

test('a README that shows a server once per agent gives it once, and another of its name a new name', () => {
  const readme = [
    '# Acme',
    'For Claude:',
    '```json',
    '{"mcpServers": {"acme": {"command": "npx", "args": ["-y", "acme-mcp"]}}}',
    '```',
    'For VS Code:',
    '```jsonc title="mcp.json"',
    '{"servers": {"acme": {"type": "stdio", "command": "npx", "args": ["-y", "acme-mcp"]}}}',
    '```',
    'With Docker:',
    '~~~sh',
    'docker pull acme/acme-mcp',
    'claude mcp add acme -- docker run -i acme/acme-mcp',
    '~~~',
    'The tool takes:',
    '```json',
    '{"query": "x", "limit": 5}',
    '```',
    '```yaml',
    '{{ not json }}',
    '```',
    '```json',
    '{"mcpServers": { ... }}',
    '```',
  ].join('\r\n')
  const { entries, refused } = parseSnippet(readme)
  expect(definitions(entries)).toEqual({
    acme: npx('acme-mcp'),
    'acme-2': stdio('docker', ['run', '-i', 'acme/acme-mcp']),
  })
  expect(entries[1]?.notes).toEqual([
    "The snippet has more than one server called 'acme'; this one became 'acme-2'",
  ])
  expect(refused).toEqual([
    {
      name: 'Block at line 23',
      reason:
        'The JSON in the snippet cannot be read at line 23, column 18: there is a word or sign that JSON does not have',
    },
  ])
})

test.each([
  ['{\n  "a": { "command": "x" "args": [] }\n}', 'JSON', 'line 2, column 25: a comma is missing'],
  ['{\r\n"a": {\r\n  "command": "x"', 'JSON', "line 3, column 17: a closing '}' is missing"],
  [
    '{ "a": { "command": "C:\\Users\\x" } }',
    'JSON',
    'line 1, column 21: a backslash stands alone; in a path, write it twice',
  ],
  ['text\n```json\n{ "a": [1, 2 }\n```', 'JSON', 'line 3, column 14: a comma is missing'],
  ['"a": { "command": x }', 'JSON', 'line 1, column 19: there is a word or sign that JSON does not have'],
  ['\n[mcp_servers.a]\ncommand = "s3cret\n', 'TOML', 'line 3, column 18: a text is not closed by a quote'],
  ["npx -y x 's3cret", 'command', 'line 1, column 10: a quote is not closed'],
])('%j cannot be read, and the error says where', (text, what, where) => {
  const error = errorOf(() => parseSnippet(text))
  const message = `The ${what} in the snippet cannot be read at ${where}`
  expect(error).toMatchObject({ code: 'invalid_input', message, errors: [{ path: '/snippet', message }] })
  expect(error.hint).toMatch(/Check the quotes/)
})

test.each([
  '',
  ' \n ',
  'hello world',
  '{}',
  '[]',
  '"text"',
  'null',
  '{"mcpServers": {}}',
  '{"name": "x", "version": "1", "repository": {"url": "https://x.example"}, "bugs": {"url": "https://y.example"}}',
  '{"openapi": "3.1.0", "servers": [{"url": "https://api.example"}]}',
  'npm install -g x-mcp',
  'docker pull x/y',
  'pip install x',
  'mcpServers:\n  a:\n    command: x',
  '```python\nprint({})\n```',
  'See https://docs.example for more',
])('%j names no server', (text) => {
  const error = errorOf(() => parseSnippet(text))
  expect(error).toMatchObject({ code: 'invalid_input', message: 'No server was found in the snippet' })
  expect(error.hint).toContain('mcpServers')
})

test.each([[null], [undefined], [5], ['x'], [[]], [{}], [{ a: null }]])(
  'the value %j names no server',
  (value) => {
    expect(errorOf(() => readSnippet(value)).message).toBe('No server was found in the snippet')
  },
)

test.each([
  ['npx -y x-mcp && rm -rf /', 'It uses signs of a shell'],
  ['npx -y @smithery/cli install x --client claude', 'This command installs a server into an agent'],
  ['claude mcp add x', 'The command names no program and no url'],
  [`claude mcp add-json x '{"url": s3cret}'`, 'The JSON in the command cannot be read'],
  [
    'cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=s3cret',
    'The configuration in the link cannot be read',
  ],
])('the line %s is refused', (text, reason) => {
  const { entries, refused } = parseSnippet(text)
  expect(entries).toEqual([])
  expect(refused).toMatchObject([{ reason: expect.stringContaining(reason) }])
  expect(JSON.stringify(refused)).not.toContain('s3cret')
})
