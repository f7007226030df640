import { test } from 'vitest'
import { AppError } from '../kernel/errors.ts'
import { parseSnippet } from './snippet.ts'

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

const run = (t: string) => {
  const s = performance.now()
  try {
    parseSnippet(t)
  } catch (e) {
    if (!(e instanceof AppError)) {
      console.log('CRASH', JSON.stringify(t.slice(0, 200)), e)
    }
  }
  return performance.now() - s
}
test('pairs', () => {
  const slow: [number, string][] = []
  for (const pre of [
    '',
    '{"a":{"command":"',
    '{"a":{"command":"x", "env": {"A":"',
    '[mcp_servers.a]\n',
    'claude mcp add a ',
    '```\n{"a":',
    '{“a”: "',
  ])
    for (const a of [...PIECES, 'key', 'your', '<a', '${', '%A', '.exe', 'path/to', '@', '/', '@a/'])
      for (const b of ['', ...PIECES, 'key', '>', '%', ' ', '.', '-']) {
        const p = a + b
        const t = pre + p.repeat(Math.floor(40000 / p.length))
        const ms = run(t)
        if (ms > 150) {
          const again = run(t)
          if (again > 150) slow.push([again, JSON.stringify([pre, a, b])])
        }
      }
  slow.sort((x, y) => y[0] - x[0])
  console.log(slow.slice(0, 30))
}, 600000)
