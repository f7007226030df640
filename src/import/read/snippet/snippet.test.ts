import { expect, test } from 'vitest'
import { definitions, http, npx, stdio } from '../../../../test/support/snippets.ts'
import { AppError } from '../../../kernel/errors.ts'
import { parseSnippet, readSnippet } from './snippet.ts'

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
    'the servers of VS Code with inputs',
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
    'the mcp of Gemini, which contains only settings, beside mcpServers',
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
    'the settings of Amp with a dotted key',
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
    'the file of Claude Code without its projects',
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
    'a plain map',
    `{ "a": { "command": "a-mcp" }, "b": { "url": "${DOCS}" } }`,
    { a: stdio('a-mcp'), b: http(DOCS) },
  ],
  [
    'servers called mcp and servers in a plain map',
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
  ['an extra closing brace', `"a": { "command": "a-mcp" }\n  }\n}`, { a: stdio('a-mcp') }],
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
    'the special spaces of a web page',
    `{\u00a0\u00a0"a": {\u00a0"command": "a\u00a0b", "args": [] } }`,
    { a: stdio('a\u00a0b') },
  ],
  [
    'prose around JSON without fences',
    `Add this to your settings:\n\n{ "mcpServers": { "a": { "command": "a-mcp" } } }\n\nThen it's time to restart.`,
    { a: stdio('a-mcp') },
  ],
  [
    'prose with an apostrophe in a line that starts like a command',
    `npx doesn't need an install, so:\n{ "a": { "command": "a-mcp" } }`,
    { a: stdio('a-mcp') },
  ],
  [
    'a fence inside a list, indented and without a language',
    '1. Add:\n\n   ```\n   { "a": { "command": "a-mcp" } }\n   ```\n2. Restart',
    { a: stdio('a-mcp') },
  ],
  ['an unclosed fence', '```json\n{ "a": { "command": "a-mcp" } }', { a: stdio('a-mcp') }],
  [
    'a fence of TOML and one of JSON',
    '```toml\n[mcp_servers.a]\ncommand = "a-mcp"\n```\nor\n```json\n{ "b": { "command": "b-mcp" } }\n```',
    { a: stdio('a-mcp'), b: stdio('b-mcp') },
  ],
  [
    'comments in fields',
    `{ "mcpServers": { "_comment": "ours", "//": "x", "a": { "command": "a-mcp" } } }`,
    { a: stdio('a-mcp') },
  ],
  ['a URL as an entry', `{ "mcpServers": { "docs": "${DOCS}" } }`, { docs: http(DOCS) }],
  ['a list at the top', `[{ "name": "a", "command": "a-mcp" }]`, { a: stdio('a-mcp') }],
  [
    'two values one after the other',
    `{ "a": { "command": "a-mcp" } }\n{ "b": { "command": "b-mcp" } }`,
    { a: stdio('a-mcp'), b: stdio('b-mcp') },
  ],
  [
    'all spellings of streamable HTTP',
    `{ "a": { "type": "streamable-http", "url": "${DOCS}" }, "b": { "type": "streamableHttp", "url": "${DOCS}" },
       "c": { "transport": "streamable_http", "url": "${DOCS}" }, "d": { "type": "HTTP", "url": "HTTPS://docs.example/mcp" } }`,
    Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, http(DOCS, 'streamable_http')])),
  ],
  [
    'the httpUrl of Gemini, which has precedence',
    `{ "a": { "url": "https://old.example", "httpUrl": "${DOCS}" } }`,
    { a: http(DOCS, 'streamable_http') },
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
])('a snippet with %s is imported', (_, text, expected) => {
  const { entries, refused } = parseSnippet(text)
  expect(definitions(entries)).toEqual(expected)
  expect(refused).toEqual([])
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

test('a server that a README shows several times is imported once, and a different one gets a new name', () => {
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
    "The snippet contains several servers called 'acme'; this one was renamed to 'acme-2'",
  ])
  expect(refused).toEqual([
    {
      name: 'Block at line 23',
      reason: 'The JSON in the snippet cannot be parsed at line 23, column 18: unexpected word or character',
    },
  ])
})

test.each([
  ['{\n  "a": { "command": "x" "args": [] }\n}', 'JSON', 'line 2, column 25: a comma is missing'],
  ['{\r\n"a": {\r\n  "command": "x"', 'JSON', "line 3, column 17: a closing '}' is missing"],
  [
    '{ "a": { "command": "C:\\Users\\x" } }',
    'JSON',
    'line 1, column 21: invalid escape sequence; write a backslash in a path twice',
  ],
  ['text\n```json\n{ "a": [1, 2 }\n```', 'JSON', 'line 3, column 14: a comma is missing'],
  ['"a": { "command": x }', 'JSON', 'line 1, column 19: unexpected word or character'],
  ['\n[mcp_servers.a]\ncommand = "s3cret\n', 'TOML', 'line 3, column 18: a string is not closed by a quote'],
  ["npx -y x 's3cret", 'command', 'line 1, column 10: a quote is not closed'],
])('the error for %j contains the position', (text, what, where) => {
  const error = errorOf(() => parseSnippet(text))
  const message = `The ${what} in the snippet cannot be parsed at ${where}`
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
])('the text %j contains no server', (text) => {
  const error = errorOf(() => parseSnippet(text))
  expect(error).toMatchObject({ code: 'invalid_input', message: 'No server was found in the snippet' })
  expect(error.hint).toContain('mcpServers')
})

test.each([[null], [undefined], [5], ['x'], [[]], [{}], [{ a: null }]])(
  'the value %j contains no server',
  (value) => {
    expect(errorOf(() => readSnippet(value)).message).toBe('No server was found in the snippet')
  },
)
