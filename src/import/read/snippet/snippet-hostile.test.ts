import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs, some } from '../../../../test/support/full-or-short.ts'
import { stopwatch } from '../../../../test/support/measuring.ts'
import { AppError } from '../../../kernel/errors.ts'
import { parseSnippet, readSnippet, type Snippet } from './snippet.ts'

const MEGABYTE = 1024 * 1024
const NAME = /^[A-Za-z0-9][\w .-]*$/
const RUNS = { numRuns: runs(50, 2000) }

/** Checks the properties of every result. Returns undefined for an AppError and rethrows other errors. */
function checked(run: () => Snippet): Snippet | undefined {
  let snippet: Snippet
  try {
    snippet = run()
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_input') return undefined
    throw error
  }
  for (const { name, definition, notes } of snippet.entries) {
    expect(name).toMatch(NAME)
    expect(name.length).toBeLessThanOrEqual(64)
    const strings = definition.type === 'stdio' ? [definition.command, ...definition.args] : [definition.url]
    const map = definition.type === 'stdio' ? definition.env : definition.headers
    const all = [...strings, ...Object.values(map), ...notes]
    expect(all.filter((value) => typeof value !== 'string')).toEqual([])
  }
  for (const { name, reason } of snippet.refused) {
    expect(name.length).toBeLessThanOrEqual(64)
    expect(reason).toMatch(/^[A-Z].*[^.]$/s)
  }
  return snippet
}

const fill = (piece: string) => piece.repeat(Math.floor(MEGABYTE / piece.length))

const HOSTILE = [
  ['open braces', fill('{')],
  ['open brackets in a map', `{"a":${fill('[').slice(10)}`],
  ['brackets that never match', `{"a":${fill('[},').slice(10)}`],
  ['nested objects', fill('{"a":')],
  ['one long string', `{"a":{"command":"x","env":{"K":"${fill('x').slice(100)}"}}}`],
  ['one long key', `{"${fill('key').slice(100)}":{"command":"x"}}`],
  [
    'a long argument that resembles the name of a secret',
    `{"command":"npx","args":["${fill('key').slice(100)}"]}`,
  ],
  ['a long program', `{"command":"${fill('key').slice(100)}"}`],
  ['a long url', `{"url":"https://${fill('a.').slice(100)}"}`],
  ['a long command text', `{"command":"${fill('a /').slice(100)}"}`],
  ['a long Windows command', `{"command":"C:/${fill('.exe').slice(100)} x"}`],
  ['many fields', `{"command":"x",${Array.from({ length: 90_000 }, (_, i) => `"f${i}":1`).join(',')}}`],
  [
    'many variables',
    `{"command":"x","env":{${Array.from({ length: 80_000 }, (_, i) => `"f${i}":1`).join(',')}}}`,
  ],
  ['many arguments', `{"command":"x","args":[${fill('"$A",').slice(100, -1)}]}`.replace('[A"', '["A"')],
  ['many values', fill('{"command":"x"}\n')],
  ['many values with curly quotes', fill('{“command”:“x”}\n')],
  ['many fences', fill('```\n{\n```\n')],
  ['many fences with curly quotes', fill('```\n{“command”:“x”}\n```\n')],
  ['many fence openings', fill('````\n```\n')],
  ['backticks', fill('`')],
  ['block quotes', fill('> ')],
  ['curly quotes', fill('“')],
  ['escaped curly quotes', `{"a":${fill('\\“').slice(10)}`],
  ['curly quotes in braces', `{${fill('“').slice(10)}`],
  ['quotes', fill('"')],
  ['quotes in lines', fill('"":\n')],
  ['brackets in lines', fill('[\n')],
  ['spaces', fill(' ')],
  ['lines', fill('\n')],
  ['backslashes', fill('\\')],
  ['slashes', fill('/')],
  ['comments', fill('/*')],
  ['digits', `{"command":"x","env":{"A":${fill('9').slice(100)}}}`],
  ['many commands', fill('npx a\n')],
  ['many unclosed commands', fill("npx a'\n")],
  ['one long command', `npx ${fill('a ').slice(10)}`],
  ['one long continued command', `npx ${fill('a \\\n').slice(10)}`],
  ['assignments', fill('A=b ')],
  ['assignments without a value', fill('A= ')],
  ['options of uv', `uv ${fill('--a b ').slice(10)}`],
  ['a node command without a script', `node ${fill('-m').slice(10)}`],
  ['a long add', `claude mcp add ${fill('-e A=b ').slice(100)}`],
  ['a long add of headers', `claude mcp add --header ${fill('A:b ').slice(100)}`],
  ['TOML tables', fill('[mcp_servers.a]\n')],
  ['different TOML tables', Array.from({ length: 40_000 }, (_, i) => `[mcp_servers.a${i}]`).join('\n')],
  ['TOML keys', `[mcp_servers]\n${fill('a.').slice(100)} = 1`],
  ['nested TOML keys', `[mcp_servers.a]\n[${fill('mcp.').slice(100)}mcp]`],
  ['TOML lists', `mcp_servers = ${fill('[').slice(100)}`],
  ['TOML inline tables', `mcp_servers = ${fill('{a=').slice(100)}`],
  ['TOML digits', `[mcp_servers.x]\ncommand = "x"\nenv = { A = ${fill('9').slice(100)} }`],
  ['a TOML string', `[mcp_servers.x]\ncommand = """${fill('x\n').slice(100)}"""`],
  ['a link', `cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=${fill('A').slice(100)}`],
  ['a link in a link', `https://vscode.dev/redirect?url=${fill('vscode:mcp/install?').slice(100)}`],
] as const

test.each(some(HOSTILE, 2))('a megabyte of %s is parsed within 10 s', (_, text) => {
  expect(text.length).toBeLessThanOrEqual(MEGABYTE)
  const spent = stopwatch()
  checked(() => parseSnippet(text))
  expect(spent()).toBeLessThan(10_000)
})

test('a snippet of more than a megabyte is refused', () => {
  const text = ' '.repeat(MEGABYTE + 1)
  expect(() => parseSnippet(text)).toThrow('The snippet is longer than one megabyte')
})

test('an object that contains itself is parsed', () => {
  const value: Record<string, unknown> = { a: { command: 'x' } }
  value.mcp = value
  value.servers = value
  value.transport = value
  expect(checked(() => readSnippet(value))?.entries).toMatchObject([{ name: 'a' }])
})

test('64 levels of nesting are accepted and 65 are refused', () => {
  const nested = (levels: number) =>
    `{"a":{"command":"x","b":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}}`
  expect(parseSnippet(nested(64)).entries).toHaveLength(1)
  expect(() => parseSnippet(nested(65))).toThrow('at line 1, column 87: it is nested deeper than 64 levels')
})

test('500 servers are accepted and 501 are refused', () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`s${index}`, { command: 'x' }]))
  expect(readSnippet(many(500)).entries).toHaveLength(500)
  expect(() => readSnippet(many(501))).toThrow('The snippet contains more than 500 servers')
  expect(() => parseSnippet(JSON.stringify({ mcpServers: many(501) }))).toThrow('more than 500 servers')
})

test('prototype keys are ordinary keys, and are refused as names of servers and variables', () => {
  const text = `{"mcpServers": {
    "__proto__": {"command": "x"}, "constructor": {"command": "x"}, "prototype": {"command": "x"},
    "toString": {"command": "x", "env": {"constructor": "c"}},
    "a": {"__proto__": {"command": "x"}}, "b": {"command": "x", "env": {"__proto__": "p"}},
    "c": {"type": "constructor", "command": "x"}, "d": {"command": "x", "constructor": {}, "toString": 1}}}`
  const { entries, refused } = parseSnippet(text)
  expect(refused.map(({ name }) => name)).toEqual(['__proto__', 'constructor', 'prototype', 'a', 'b'])
  expect(entries.map(({ name }) => name)).toEqual(['toString', 'c', 'd'])
  expect(entries[0]?.definition).toMatchObject({ env: { constructor: 'c' } })
  expect(parseSnippet('[mcp_servers.__proto__]\ncommand = "x"').refused).toMatchObject([
    { name: '__proto__' },
  ])
  expect(Object.hasOwn(Object.prototype, 'command')).toBe(false)
})

const SECRET = 'ghp_0123456789abcdefghijABCDEFGHIJ'

test.each([
  `{"a": {"command": "x", "env": {"T": "${SECRET}", "N": null}}}`,
  `{"a": {"command": "x", "env": {"T": "${SECRET}", "P": 1}, "args": ["<${SECRET}>", "${SECRET}"], "token": "${SECRET}"}}`,
  `{"a": {"command": "npx", "args": ["${SECRET}"]}, "b": {"url": "https://${SECRET}@x.example"}}`,
  `{"command": "npx", "args": ["${SECRET}"]}`,
  `{"url": "https://x.example/${SECRET}?k=${SECRET}"}`,
  `{"a": {"url": "${SECRET}", "headers": {"X": "${SECRET}"}}}`,
  `{"a": {"command": "x", "env": {"T": "${SECRET}" "U": 1}}}`,
  `{"a": {"command": "x", "env": {"T": ${SECRET}}}}`,
  `{"a": {"command": "x", "type": "${SECRET}"}}`,
  `[mcp_servers.a]\nurl = "https://x.example"\nbearer_token_env_var = "${SECRET}"\nbearer_token = "${SECRET}"`,
  `[mcp_servers.a]\ntoken = "${SECRET}" x`,
  `[mcp_servers.a]\ntoken = ${SECRET}`,
  `claude mcp add a --api-key=${SECRET} -k${SECRET} -e T=${SECRET} -- npx x`,
  `claude mcp add a --header ${SECRET} https://x.example`,
  `claude mcp add a --env ${SECRET} -- npx x`,
  `npx -y x '${SECRET}`,
  `npx --token ${SECRET}`,
  `TOKEN=${SECRET} npx x && y`,
])('notes and errors for %s do not contain the secret', (text) => {
  const shown: unknown[] = []
  try {
    const { entries, refused } = parseSnippet(text)
    shown.push(refused, ...entries.map(({ name, notes }) => ({ name, notes })))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    shown.push(error.message, error.hint, error.errors, String(error.cause ?? ''))
  }
  expect(shown.length).toBeGreaterThan(0)
  expect(JSON.stringify(shown)).not.toContain(SECRET)
})

const PIECES = [
  ...[
    '{',
    '}',
    '[',
    ']',
    '"',
    '“',
    '”',
    "'",
    ':',
    ',',
    '=',
    '\n',
    '\r\n',
    ' ',
    '\\',
    '#',
    '//',
    '/*',
    '*/',
    '`',
  ],
  ...['```\n', '```json\n', '```toml\n', '```sh\n', '~~~\n', '\ufeff', '\u00a0', '$', '> ', '--', '-e', '&&'],
  ...['"mcpServers"', '"servers"', '"mcp"', '"command"', '"args"', '"env"', '"url"', '"type"', '"transport"'],
  ...[
    '"npx -y x"',
    '"https://x.example/mcp"',
    '"__proto__"',
    'null',
    'true',
    '1e999',
    '12345678901234567890',
  ],
  ...['[mcp_servers.a]\n', '[[mcp_servers]]\n', 'command = "x"\n', 'mcp_servers.a', 'env = {', '2020-01-01'],
  ...['npx ', 'uvx ', 'docker run ', 'node x.js ', 'claude mcp add ', 'add-json ', 'code --add-mcp ', 'A=b '],
  ...[
    'https://x.example/mcp',
    'cursor://anysphere.cursor-deeplink/mcp/install?config=',
    'vscode:mcp/install?%7B',
  ],
]
const pieces = fc.array(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...PIECES) }, fc.string()), {
  maxLength: 40,
})

test('any text is parsed or refused with an AppError', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        pieces.map((parts) => parts.join('')),
        fc.string({ unit: 'binary' }),
      ),
      (text) => {
        checked(() => parseSnippet(text))
      },
    ),
    RUNS,
  )
})

const KEYS = [
  'command',
  'cmd',
  'args',
  'env',
  'url',
  'httpUrl',
  'headers',
  'type',
  'transport',
  'cwd',
  'name',
  'path',
]
const WRAPPERS = [
  'mcpServers',
  'servers',
  'mcp',
  'mcp_servers',
  'context_servers',
  '__proto__',
  'constructor',
  'x',
]
const leaf = fc.oneof(
  fc.string(),
  fc.constantFrom('npx -y x', 'https://x.example', 'stdio', 'sse'),
  fc.anything(),
)
const entry = fc.dictionary(
  fc.constantFrom(...KEYS, 'other'),
  fc.oneof(leaf, fc.array(leaf, { maxLength: 4 }), fc.dictionary(fc.string(), leaf, { maxKeys: 4 })),
  { maxKeys: 6 },
)
const tree = fc.dictionary(
  fc.constantFrom(...WRAPPERS),
  fc.oneof(entry, fc.dictionary(fc.string(), entry), leaf),
)

test('any value is parsed or refused with an AppError', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        tree,
        entry,
        fc.anything({ withNullPrototype: true, withDate: true, maxKeys: 4, maxDepth: 3 }),
      ),
      (value) => {
        checked(() => readSnippet(value))
      },
    ),
    RUNS,
  )
})

test('JSON text and the parsed object give the same result', () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('<KEY>', 'a b', '“x”', 'https://x.example'))
  const server = fc.oneof(
    fc.record({ command: text, args: fc.array(text), env: fc.dictionary(fc.string(), text) }),
    fc.record({ url: fc.webUrl(), headers: fc.dictionary(fc.string(), text) }),
  )
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), server, { minKeys: 1, maxKeys: 4, noNullPrototype: true }),
      (servers) => {
        const value: unknown = JSON.parse(JSON.stringify({ mcpServers: servers }))
        const direct = checked(() => readSnippet(value))
        expect(checked(() => parseSnippet(JSON.stringify(value)))).toEqual(direct)
        expect(
          checked(() => parseSnippet(`Prose\n\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\`\n`)),
        ).toEqual(direct)
      },
    ),
    RUNS,
  )
})
