import { expect, test } from 'vitest'
import { parseSnippet, readSnippet } from './snippet.ts'

const DOCS = 'https://docs.example/mcp'

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
  [
    'a type that contradicts',
    { type: 'http' },
    ['Its type says it is remote, but it has only a command, so it was read as a STDIO server'],
  ],
  [
    'a bridge',
    { command: 'npx', args: ['mcp-remote', 'https://x.example'] },
    ['mcp-remote only passes on to a url; that url can be added as an HTTP server itself'],
  ],
  [
    'a program of Windows',
    { command: 'cmd', args: ['/c', 'npx', 'x'] },
    ['cmd is a program of Windows; elsewhere name the program after /c'],
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
