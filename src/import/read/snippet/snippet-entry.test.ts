import { expect, test } from 'vitest'
import { parseSnippet, readSnippet } from './snippet.ts'

const DOCS = 'https://docs.example/mcp'

test.each<[string, string[], string]>([
  ['{ "command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"] }', [], 'github'],
  ['{ "name": "mine", "command": "npx", "args": ["-y", "x"] }', [], 'mine'],
  [
    '{ "@acme/x": { "command": "x" } }',
    ["The name '@acme/x' is not valid and was changed to 'acme-x'"],
    'acme-x',
  ],
  [
    '{ "github.com/acme/x": { "command": "x" } }',
    ["The name 'github.com/acme/x' is not valid and was changed to 'github.com-acme-x'"],
    'github.com-acme-x',
  ],
  ['{ "Café": { "command": "x" } }', ["The name 'Café' is not valid and was changed to 'Cafe'"], 'Cafe'],
  [
    '{ "天气": { "command": "weather-mcp" } }',
    ["The name '天气' is not valid and was changed to 'weather'"],
    'weather',
  ],
  [
    '{ "": { "command": "weather-mcp" } }',
    ["The name '' is not valid and was changed to 'weather'"],
    'weather',
  ],
])('the server in %s gets a valid name', (text, notes, name) => {
  expect(parseSnippet(text).entries).toMatchObject([{ name, notes }])
})

test.each<[string, object, string[]]>([
  ['a placeholder in env', { env: { TOKEN: '<YOUR_TOKEN>', A: 'b' } }, ['env TOKEN contains a placeholder']],
  [
    'references, which are translated later',
    { env: { A: `\${input:token}`, B: `\${env:TOKEN}`, C: '$HOME' } },
    ['env C contains a placeholder'],
  ],
  ['a placeholder in upper case', { env: { KEY: 'YOUR_API_KEY' } }, ['env KEY contains a placeholder']],
  ['a placeholder in lower case', { env: { KEY: 'your-api-key' } }, ['env KEY contains a placeholder']],
  ['a key made of x characters', { env: { KEY: 'sk-xxxx' } }, ['env KEY contains a placeholder']],
  ['an empty value', { env: { KEY: '' } }, ['env KEY is empty']],
  ['a placeholder path', { args: ['--dir', '/path/to/notes'] }, ['argument 2 contains a placeholder']],
  ['a package with an extra', { args: ['mcp[cli]'] }, []],
  [
    'numbers and booleans',
    { env: { PORT: 80, ON: true } },
    ['Values without quotes were converted to strings: env PORT, ON'],
  ],
  [
    'a number among the arguments',
    { args: ['--port', 80] },
    ['Values without quotes were converted to strings: argument 2'],
  ],
  ['a disabled server', { disabled: true }, ['It is disabled in the snippet, and stays off']],
  ['a server that is not enabled', { enabled: false }, ['It is disabled in the snippet, and stays off']],
  ['an enabled server', { enabled: true, disabled: false }, []],
  [
    'fields of other agents',
    { autoApprove: [], timeout: 60 },
    ['Unsupported fields were ignored: autoApprove, timeout'],
  ],
  ['an unknown type', { type: 'quantum' }, ['Its type is unknown and was ignored']],
  ['a list of variables to forward', { env_vars: ['TOKEN'] }, []],
  [
    'a list of other things to forward',
    { env_vars: ['not a name'] },
    ['env_vars was ignored: add the variables to env with their values'],
  ],
  [
    'a type that contradicts the fields',
    { type: 'http' },
    ['Its type is remote, but it has only a command, so it was imported as a STDIO server'],
  ],
  [
    'mcp-remote',
    { command: 'npx', args: ['mcp-remote', 'https://x.example'] },
    ['mcp-remote only forwards to a url; you can add that url as an HTTP server instead'],
  ],
  [
    'a Windows program',
    { command: 'cmd', args: ['/c', 'npx', 'x'] },
    ['cmd exists only on Windows; on other systems, use the program after /c'],
  ],
])('the notes for %s are right', (_, fields, notes) => {
  expect(readSnippet({ a: { command: 'x', ...fields } }).entries[0]?.notes).toEqual(notes)
})

test('the note about bearer_token_env_var does not contain its value, which may be a token', () => {
  const { entries } = parseSnippet(`[mcp_servers.a]\nurl = "${DOCS}"\nbearer_token_env_var = "s3cret"`)
  expect(entries[0]?.notes).toEqual([
    'bearer_token_env_var was ignored: add the header Authorization with the token',
  ])
})

test.each<[string, unknown, string]>([
  [
    'an entry without command and url',
    { args: ['x'] },
    'It has neither a command nor a url; add one of them',
  ],
  [
    'an entry with command and url',
    { command: 'x', url: DOCS },
    'It has both a command and a url; remove one, or set type',
  ],
  [
    'null in env',
    { command: 'x', env: { TOKEN: null } },
    'The value of env TOKEN is null; use a string or remove it',
  ],
  [
    'an object in env',
    { command: 'x', env: { A: {} } },
    'The value of env A is not a string; put it in quotes',
  ],
  ['a list as env', { command: 'x', env: ['A=b'] }, 'Its env must be an object; write {"NAME": "value"}'],
  [
    'a number that is too large',
    { command: 'x', env: { ID: 2 ** 60 } },
    'The number in env ID is too large to be exact; put it in quotes',
  ],
  [
    'null in args',
    { command: 'x', args: [null] },
    'The value of argument 1 is null; use a string or remove it',
  ],
  ['an empty command', { command: ' ', args: [] }, 'Its command is empty; set it to the program to run'],
  [
    'a shell operator in the command',
    { command: 'cd /srv && node x.js' },
    'It uses shell operators such as && or |; keep only the command that starts the server',
  ],
  [
    'a url with another scheme',
    { url: 'ftp://x.example' },
    'Its url is not an http or https URL; use the full URL',
  ],
  ['a placeholder as url', { url: '<URL>' }, 'Its url is not an http or https URL; use the full URL'],
  [
    'a password in the url',
    { url: 'https://me:s3cret@x.example' },
    'Its url contains a user name or password; use a header instead',
  ],
  [
    'a WebSocket',
    { type: 'ws', url: 'wss://x.example' },
    'It uses WebSocket, which is not supported; use its http or sse address',
  ],
  ['a number as an entry', 5, 'It is not an object; write {"command": …} or {"url": …}'],
])('%s is refused with a hint', (_, entry, reason) => {
  const { entries, refused } = readSnippet({ mcpServers: { bad: entry, good: { command: 'x' } } })
  expect(refused).toEqual([{ name: 'bad', reason }])
  expect(entries.map(({ name }) => name)).toEqual(['good'])
})
