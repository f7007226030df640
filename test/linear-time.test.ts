import { expect, test } from 'vitest'
import { AGENTS } from '../src/agents/catalogue/agent-catalogue.ts'
import { readEntry } from '../src/agents/catalogue/read-entry.ts'
import { maskLine, visibleText } from '../src/agents/diff/masked-diff.ts'
import { unifiedDiff } from '../src/agents/diff/unified-diff.ts'

import { contentOf } from '../src/agents/files/read-config.ts'
import type { Format } from '../src/agents/formats/format.ts'
import { jsonFormat } from '../src/agents/formats/json/json-format.ts'
import { tomlFormat } from '../src/agents/formats/toml/toml-format.ts'
import { yamlFormat } from '../src/agents/formats/yaml/yaml-format.ts'
import { RequestHeads } from '../src/api/http/plain/request-head.ts'
import { parseTemplate } from '../src/gateway/catalogue/uri-template.ts'
import { wordDiff } from '../src/gateway/pins/word-diff.ts'
import { parseSnippet } from '../src/import/read/snippet/snippet.ts'
import { commandWords } from '../src/import/read/snippet/snippet-shell.ts'
import { invalidAt } from '../src/kernel/json/json-checks.ts'
import { compare } from '../src/kernel/list-diff.ts'
import { createLog } from '../src/kernel/log.ts'
import { slugOf } from '../src/kernel/rest-parts.ts'
import { KnownSecrets } from '../src/kernel/secrets/known-secrets.ts'
import { maskArgs, maskText, maskUrl, secretsIn } from '../src/kernel/secrets/mask-secrets.ts'
import { publicArgs } from '../src/kernel/secrets/public-command.ts'
import { parseReferences } from '../src/kernel/secrets/references.ts'
import { plainText, printableLine } from '../src/kernel/secrets/strip-terminal-codes.ts'
import { itemsOf } from '../src/mcp/protocol/json-items.ts'
import { readMessage } from '../src/mcp/protocol/json-rpc-message.ts'
import { LineSplitter } from '../src/mcp/protocol/line-splitter.ts'
import { headerText } from '../src/mcp/protocol/mcp-headers.ts'
import { membersOf, RawJson, withMembers } from '../src/mcp/protocol/raw-json.ts'
import { SseReader } from '../src/mcp/protocol/sse-reader.ts'
import { challengeIn } from '../src/mcp/transports/http/status-failure.ts'
import { scopesIn } from '../src/net/oauth/scopes.ts'
import { parseChallenges } from '../src/net/oauth/www-authenticate.ts'
import { redactEntry } from '../src/observe/logs/log-pipeline.ts'
import { levelOf } from '../src/observe/logs/server-lines.ts'
import { explainNpm } from '../src/servers/packages/npm-failure.ts'
import { isPackageName } from '../src/servers/packages/package-spec.ts'
import { npmSettings } from '../src/servers/packages/registry/npm-settings.ts'
import { personOf } from '../src/servers/packages/registry/packument.ts'
import { ranked } from '../src/servers/packages/registry/search-npm.ts'
import { keepMaskedArgs, keepMaskedUrl } from '../src/servers/shared/masked-values.ts'
import { FORMATTERS } from '../src/store/logs/read/page-reader.ts'
import { explainExit } from '../src/supervisor/exit/explain-exit.ts'
import { looksLikeMcp } from '../src/supervisor/orphans/looks-like-mcp.ts'
import { FULL } from './support/full-or-short.ts'
import { cpuOf } from './support/linear.ts'

/** Texts that make backtracking, repeated searches and repeated copies slow: each is repeated up to the length. */
const PIECES = [
  ...'a1 \t\n\r"\'\\/#-.,:=[]{}<>`*_%',
  ...[
    '\\"',
    "\\'",
    "''",
    '""',
    '/*',
    '//',
    '*/',
    '--',
    '- ',
    ': ',
    '= ',
    '[[',
    '{"',
    '{"a":',
    '["',
    '? ',
    '&a ',
    '*a ',
  ],
  ...[
    'a:',
    'a: ',
    'a=',
    'a = ',
    'a.',
    'a,',
    'a b',
    'a-',
    'aA',
    '1a',
    '1.',
    '1_',
    'a\n',
    'a\r',
    '\r\n',
    '\u2028',
    '| ',
    '!a ',
  ],
  ...[
    'key',
    'key=',
    'key: ',
    '"key":',
    '--key ',
    '--key=',
    '-p ',
    '-u a:',
    'password="',
    "password='",
    'export A=',
  ],
  ...[
    'Bearer ',
    'eyJ',
    'eyJaaaaaaaa-',
    'sk-',
    'ghp_',
    '://',
    'a://',
    'a://@',
    'a://a:a',
    '?a=',
    '&a=',
    '${',
    '${a',
    '${env:',
    '${env:a:-',
    '*** ',
  ],
  ...[
    '\u001b[',
    '\u001b]',
    '\u001b[1;',
    '\u009b1',
    '```',
    '```\n',
    '~~~',
    'npx ',
    'npx -y a ',
    'A=1 ',
    'Error: ',
    ' at ',
  ],
  ...[
    'data:',
    'data: a\n',
    '\u00e9',
    '\ud83d\ude00',
    '\u200b',
    '\ud800',
    'x = 1\n',
    'a: 1\n',
    '"a":1,',
    '-----BEGIN CERTIFICATE-----',
  ],
]
/** Different beginnings and ends: a pattern may fail only at the end. `npm test` tries half of them, in turns. */
const FRAMES: readonly (readonly [string, string])[] = [
  ['', ''],
  ['"', '!'],
  ['{"a":"', '"}'],
  ['a: x', '\u2028x'],
]

type Read = (text: string) => unknown
const ignoring =
  (read: Read): Read =>
  (text) => {
    try {
      return read(text)
    } catch (error) {
      if (error instanceof RangeError) throw error // the stack is exhausted
      return undefined
    }
  }
const formatReads = (name: string, format: Format): [string, Read][] => [
  [`${name}: read`, (text) => format.read(text)],
  [`${name}: the second parser`, (text) => format.readAgain(text)],
  [`${name}: lines of entries`, (text) => format.lines(text)(['a'])],
  [`${name}: set`, (text) => format.set(text, ['a', 'b'], { c: 1 })],
]
const known = new KnownSecrets()
known.set('x', ['aaaaaaaaaaaaaaaaaaaab', 'key=key=key=key!', '          .'])
known.set(
  'long',
  ['a', 'a b', '://', '\\"', '\n-'].flatMap((piece) => [piece.repeat(2000), `${piece.repeat(1500)}!`]),
)
const silent = createLog(() => {}, 'trace')
const agent = AGENTS[0]
const line = {
  id: 1,
  ts: 0,
  level: 'info',
  source: 'server',
  stream: null,
  server_id: null,
  agent_type: null,
  tool: null,
  request_id: null,
  data: null,
  repeat: 1,
  truncated: false,
}

/** Every function that reads text of a server, an agent's file, a package, a registry, a remote or a pasted snippet. */
const READERS: readonly (readonly [string, Read])[] = [
  ['references', (text) => parseReferences(text)],
  ['diff: mask a line', (text) => maskLine(text, visibleText('public', [], []))],
  ['diff: mask a line for its owner', (text) => maskLine(`# ${text}`, visibleText('owner', [], [], [{}]))],
  ['diff: unified', (text) => unifiedDiff('x', text, `${text}b`)(visibleText('public', [], []))],
  ['compare lines', (text) => compare(text.split('a'), [...text.split('a'), 'b'])],
  ['bytes of a file', (text) => contentOf('x', Buffer.from(text))],
  [
    'bytes of a file that is not UTF-8',
    (text) => contentOf('x', Buffer.concat([Buffer.from(text), Buffer.from([0xff])])),
  ],
  ...formatReads('JSON', jsonFormat({ comments: true, trailingCommas: true, bom: true })),
  ...formatReads('TOML', tomlFormat),
  ...formatReads('YAML', yamlFormat),
  [
    'an entry',
    (text) =>
      agent &&
      readEntry(agent, text, { command: text, args: [text, text], env: { [text]: text }, url: text }),
  ],
  ['mask arguments', (text) => maskArgs([text, text])],
  ['mask an argument after a flag', (text) => maskArgs(['--a', text, `--${text}`, text])],
  ['arguments without the token', (text) => publicArgs(text, [text])],
  ['text without terminal sequences', (text) => plainText(text)],
  ['mask text', (text) => maskText(text)],
  ['mask a URL', (text) => [maskUrl(text), maskUrl(`https://a.example/${text}`), maskUrl(`https://${text}`)]],
  [
    'secrets of a definition',
    (text) =>
      secretsIn({ args: [text], env: { A: text }, headers: { A: text }, url: `https://a.example/?${text}` }),
  ],
  [
    'write back',
    (text) => [ignoring(() => keepMaskedArgs([text, '***'], [text, text]))(text), keepMaskedUrl(text, text)],
  ],
  ['known secrets', (text) => known.redact(text)],
  ['slug', (text) => slugOf(text)],
  ['an error in the log', (text) => silent.error({ error: new Error(text) }, text)],
  [
    'a log line',
    (text) =>
      redactEntry(
        { ts: 0, level: 'info', source: 'server', message: text, data: { text, [text]: text }, tool: text },
        known,
      ),
  ],
  ['the level of a line', (text) => levelOf(text)],
  [
    'a line of a download',
    (text) => Object.values(FORMATTERS).map((format) => format.line({ ...line, message: text } as never)),
  ],
  ['a challenge of a remote', (text) => challengeIn(`Bearer ${text}`)],
  ['all challenges of a remote', (text) => parseChallenges(`Bearer ${text}`)],
  ['scopes', (text) => scopesIn(text)],
  ['a quoted message', (text) => printableLine(text, 500)],
  ['npm output', (text) => explainNpm('x', [text, `npm error code ${text}`])],
  ['.npmrc', (text) => npmSettings('{"registry":"https://a.example/"}', [text], {}, text)],
  ['a person of a package', (text) => personOf(text)],
  [
    'ranking of packages',
    (text) => ranked([{ name: text, description: text, keywords: [text] }] as never, text),
  ],
  ['a package name', (text) => isPackageName(text)],
  ['lines', (text) => new LineSplitter(64 * 1024, () => {}).push(Buffer.from(text))],
  ['an SSE stream', (text) => new SseReader(() => {}, 1024 * 1024).push(Buffer.from(text))],
  ['a header', (text) => headerText(text)],
  [
    'the head of a request',
    (text) => new RequestHeads().read(Buffer.from(`POST /${text} HTTP/1.1\r\nA:${text}\r\n\r\n`)),
  ],
  ['a JSON-RPC message', (text) => readMessage(Buffer.from(text))],
  ['members of a JSON object', (text) => membersOf(Buffer.from(`{${text}`), 0)],
  ['items of a JSON list', (text) => itemsOf(Buffer.from(`[${text}`), 0)],
  ['validity of a large result', (text) => invalidAt(Buffer.from(text), { start: 0, end: text.length })],
  ['an edit of params', (text) => withMembers(new RawJson(JSON.stringify({ text }), { text }), { a: 1 })],
  ['a snippet', (text) => parseSnippet(text)],
  ['a command', (text) => commandWords(text)],
  [
    'output of a process that ended',
    (text) =>
      explainExit({
        code: 1,
        signal: null,
        stderr: [text, text],
        noise: [text],
        wasRunning: false,
        args: [text],
      }),
  ],
  ['a command line of a process', (text) => looksLikeMcp([text, '-c', text])],
  ['a URI template', (text) => parseTemplate(text)],
  ['a URI', (text) => parseTemplate('a{+x}{?y}{&z}b')?.matches(`a${text}b`)],
  ['a tool description', (text) => wordDiff(text, `b${text}`)],
]

const SIZE = 8 * 1024
/** CPU time that is too short to judge. Quadratic code that takes less at 16 KiB is not a problem at 64 KiB either. */
const NOTHING_MS = 6
/** Twice the length takes twice the time; quadratic code takes four times. */
const MOST = 3.2

const fill = (piece: string, [start, end]: readonly [string, string], length: number): string =>
  start + piece.repeat(length / piece.length) + end

/** Undefined if the time is linear. Suspicions are confirmed: a collection of garbage may fall into one measurement. */
function finding(
  read: Read,
  piece: string,
  frame: readonly [string, string],
  size: number,
): string | undefined {
  const [once, twice] = [fill(piece, frame, size), fill(piece, frame, 2 * size)]
  const quick = cpuOf(() => read(twice), undefined, 1)
  if (quick <= NOTHING_MS || quick < MOST * cpuOf(() => read(once), undefined, 1)) return undefined
  const first = cpuOf(() => read(once))
  const second = cpuOf(
    () => read(twice),
    (ms) => ms <= NOTHING_MS || ms < MOST * first,
  )
  if (second <= NOTHING_MS || second / first < MOST) return undefined
  return `${JSON.stringify(piece)} in ${JSON.stringify(frame)}: ${first.toFixed(1)} ms, twice the length ${second.toFixed(1)} ms`
}

test.each(READERS)(
  '%s: adversarial text is read in linear time (safety goal R9)',
  (name, read) => {
    const safe = ignoring(read)
    const size = name.startsWith('YAML') ? SIZE / 4 : SIZE
    const found: string[] = []
    for (const [n, piece] of PIECES.entries()) {
      for (const frame of FULL ? FRAMES : FRAMES.filter((_, at) => at % 4 === n % 4)) {
        const slow = found.length < 3 ? finding(safe, piece, frame, size) : undefined
        if (slow !== undefined) found.push(slow)
      }
    }
    expect(found).toEqual([])
  },
  300_000,
)
