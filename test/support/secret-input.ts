import type { Canaries } from './canaries.ts'

/** A STDIO server with a secret in every field that can contain one. */
export function secretServer(canaries: Canaries, name: string, when: string) {
  const make = (where: string, prefix = '') => canaries.make(`${when}: ${where}`, prefix)
  return {
    name,
    command: 'npx',
    args: [
      '-y',
      '@example/server',
      '--api-key',
      make('the argument after a flag'),
      `--token=${make('the argument with =')}`,
      '--header',
      `Authorization: Bearer ${make('a Bearer argument')}`,
      make('an argument that looks like a key', 'ghp_'),
      make('another that looks like a key', 'sk-'),
      '-e',
      `DB_PASSWORD=${make('an argument like an assignment')}`,
      `https://api.example/mcp?k=${make('the query of a URL argument')}`,
      `postgres://me:${make('the password of a URL argument')}@db.example/x`,
      ...flagged(canaries, when),
      '-c',
      `export TOKEN=${make('an exported variable')} && run --pass ${make('a flag inside a shell command')}`,
      `{"user":"me","credentials":{"apiKey":"${make('JSON in one argument')}"}}`,
      `Server=db;Password=${make('a connection string')};Port=1`,
    ],
    env: { GITHUB_TOKEN: make('env'), SETTING: make('env of a harmless name') },
  }
}

const SECRET_FLAGS = ['--pat', '--pass', '--pwd', '--jwt', '--session', '--cookie', '--cred', '--sig', '-p']

/** Flags that mean a secret, each with a value that does not look like one. */
function flagged(canaries: Canaries, when: string): string[] {
  const value = (where: string) => canaries.word(`${when}: the argument ${where}`)
  return [
    ...SECRET_FLAGS.flatMap((flag) => [flag, value(`after ${flag}`)]),
    '-u',
    `me:${value('after -u')}`,
    `--dsn=${value('--dsn=')}`,
  ]
}

/** The same for an HTTP server. */
export function secretHttpServer(canaries: Canaries, name: string, when: string) {
  const make = (where: string) => canaries.make(`${when}: ${where}`)
  const query = `api_key=${make('the query')}&b=${make('the second of the query')}`
  return {
    name,
    url: `https://mcp.example/${make('the path')}/mcp?${query}#${make('the fragment')}`,
    headers: {
      Authorization: `Bearer ${make('the Authorization header')}`,
      'X-Team': make('another header'),
    },
  }
}

/** Snippets as found in READMEs, with secrets in them. Some of them cannot be imported. */
export function secretSnippets(canaries: Canaries): object[] {
  const make = (where: string) => canaries.make(`a snippet: ${where}`)
  const flags = (where: string) => ['--token', make(`${where}, argument`)]
  const json = {
    mcpServers: {
      pasted: { command: 'npx', args: flags('JSON'), env: { KEY: make('JSON, env') } },
      remote: {
        url: `https://r.example/?k=${make('JSON, url')}`,
        headers: { 'X-Key': make('JSON, header') },
      },
      refused: {
        url: `https://me:${make('JSON, refused url')}@r.example/`,
        env: { A: make('JSON, refused env') },
      },
      neither: { token: make('JSON, neither command nor url') },
      badEnv: {
        command: 'npx',
        env: { 'A=B': make('JSON, env of a bad name'), TOOLROOM_X: make('JSON, our name') },
      },
      badHeader: { url: 'https://r.example/', headers: { 'a b': make('JSON, header of a bad name') } },
      blocked: { url: `http://169.254.169.254/?k=${make('JSON, blocked url')}` },
      unknown: { command: 'npx', apiKey: make('JSON, unknown field'), disabled: true },
    },
  }
  const toml = `[mcp_servers.tomled]\ncommand = "npx"\nargs = ["--token", "${make('TOML, argument')}"]\n[mcp_servers.tomled.env]\nKEY = "${make('TOML, env')}"\n`
  return [
    json,
    { snippet: JSON.stringify(json, null, 2), on_conflict: 'update' },
    { snippet: JSON.stringify(json), dry_run: true },
    {
      servers: { typed: { type: make('JSON, type'), command: 'npx', args: make('JSON, args in one text') } },
    },
    { snippet: toml },
    { snippet: `[mcp_servers.broken]\ncommand = "npx"\nenv = { KEY = "${make('broken TOML')}` },
    { snippet: `{"mcpServers": {"broken": {"command": "npx", "env": {"KEY": "${make('broken JSON')}" oops` },
    {
      snippet: `claude mcp add added -e KEY=${make('command line, env')} -- npx -y server --token ${make('command line')}`,
    },
    {
      snippet: `claude mcp add --transport http over https://h.example/ --header "X-Key: ${make('command line, header')}"`,
    },
    { snippet: `https://link.example/mcp?key=${make('link')}` },
    { snippet: `please use ${make('prose')} as the key` },
  ]
}

/** Bodies that `POST /api/servers` and `POST /api/http-servers` refuse. */
export function refusedSecrets(canaries: Canaries): {
  stdio: (object | string)[]
  http: (object | string)[]
} {
  const make = (where: string) => canaries.make(`a refused body: ${where}`)
  const stdio = (fields: object) => ({ name: 'refused', command: 'npx', ...fields })
  const http = (fields: object) => ({ name: 'refused', url: 'https://r.example/', ...fields })
  return {
    stdio: [
      stdio({ name: `../${make('name')}` }),
      stdio({ command: `a\n${make('command')}` }),
      stdio({ args: make('args as text') }),
      stdio({ args: [{ token: make('args of objects') }] }),
      stdio({ args: [`--token=***${make('args beside a mask')}`] }),
      stdio({ env: { KEY: [make('env of lists')] } }),
      stdio({ env: { 'A=B': make('env of a bad name') } }),
      stdio({ env: { TOOLROOM_KEY: make('env of our name') } }),
      stdio({ env: { KEY: `\0${make('env with NUL')}` } }),
      stdio({ env: make('env as text') }),
      stdio({ cwd: make('cwd') }),
      stdio({ type: make('type') }),
      stdio({ token: make('an unknown field') }),
      stdio({ tags: [`!${make('tags')}`] }),
      `{"name":"refused","env":{"KEY":"${make('cut-off JSON')}`,
      `{"name":"refused","env":{"KEY":${make('JSON without quotes')}}}`,
      `"${make('a text instead of an object')}"`,
      `${make('no JSON at all')}`,
    ],
    http: [
      http({ url: `ftp://r.example/${make('url of another kind')}` }),
      http({ url: `https://me:${make('password')}@r.example/` }),
      http({ url: `https://${make('user')}@r.example/` }),
      http({ url: `https://r.example:99999/?key=${make('url that is none')}` }),
      http({ url: `http://169.254.169.254/${make('blocked url')}` }),
      http({ url: `https://r.example/?a=***&key=${make('url beside a mask')}` }),
      http({ headers: { 'a b': make('header of a bad name') } }),
      http({ headers: { Host: make('header of the connection') } }),
      http({ headers: { 'X-Key': `${make('header with a line break')}\r\nX-Evil: 1` } }),
      http({ headers: { 'X-Key': make('header given twice'), 'x-key': make('header given twice, again') } }),
      http({ transport: make('transport') }),
    ],
  }
}
