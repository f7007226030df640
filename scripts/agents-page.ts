import type { Agent, Scope, System, TransportName } from '../src/agents/catalogue/agent-record.ts'
import type { Definition } from '../src/agents/catalogue/server-definition.ts'
import { TRANSPORTS, writeEntry } from '../src/agents/catalogue/write-entry.ts'

/** The result of starting an agent with a file that Toolroom had edited. */
export interface Checked {
  readonly agent: string
  readonly version: string
  readonly date: string
  readonly saw: readonly string[]
  readonly note: string
}

const SYSTEMS: readonly [System, string][] = [
  ['linux', 'Linux'],
  ['darwin', 'macOS'],
  ['win32', 'Windows'],
]
const EXAMPLE: Definition = {
  type: 'stdio',
  command: 'npx',
  args: ['-y', 'docs-server'],
  env: { DOCS_TOKEN: '…' },
  cwd: null,
}
const REMOTE = { url: 'https://mcp.example.com/mcp', headers: { Authorization: 'Bearer …' } }

const INTRODUCTION = `# Agents

Toolroom reads and edits the files in which these agents keep their tool servers. This page is generated from
\`src/agents/catalogue/agents.json\`.

## How files are edited

- **Only the entry.** Toolroom changes the bytes of one entry and the comma beside it. Comments, order, indentation, line
  ends, BOM, unknown fields and other entries stay unchanged. An update changes only the fields that differ: approvals,
  timeouts and sign-ins stay.
- **In the agent's dialect.** An agent that requires strict JSON gets strict JSON. A file that its agent cannot read is not
  edited; the error names the line and the column.
- **No marks.** Toolroom records in its data folder which entries it wrote, never in your file.
- **No guesses.** An invalid or ambiguous file is not edited. Neither are several files of which only you know which one the
  agent uses.
- **Atomic.** A second parser verifies the result before it is written. The new file is written beside the old one and moved
  into place, with a backup in the data folder. Symbolic links and file modes stay.
- **Never in the middle of a write.** Many programs truncate a file and then write it again. A file that is empty, cut short
  or invalid and may be in that state is read again for up to 2 s. If it is still invalid, it is refused; if it is still empty
  but had content before, too, unless it has not been modified for 10 s. Nothing is written then.
- **All or nothing.** Changes of a file run one after another. Before the first file is written, Toolroom saves what it is
  going to do; the entries it manages, the gateway key and the audit row are saved in one step afterwards. A change that a
  crash or a full disk interrupts is completed or taken back at the next start. If another program has edited the file
  since then, Toolroom manages the entries that are there and removes keys that are not.
- **With the agent's lock**, if it has one.
- **Disabled in the agent's way.** If an agent has no switch in a file, Toolroom removes the entry and keeps it until it is
  enabled again.
- **The file that is read.** Where an agent has several possible files, the one that exists is edited. The file of an
  earlier version counts as the user's own as long as it is the only one: Windsurf's, until Devin Desktop has made its
  own.

## Connect without doubled tools

\`POST /api/agents/cursor/connect\` writes one entry, \`toolroom\`, through which Cursor reaches the servers that were chosen
for it; if none were, all. If the file also has entries for these servers, Cursor gets their tools twice, and the response
says which:

\`\`\`
"doubled": [{"name": "echo", "server_id": "echo", "tools": ["echo", "env", "slow", "pid"]}],
"warnings": ["Cursor gets 4 tools of 'echo' twice: from its own entry and from the gateway. Send \\"take_over\\": true to park the entry"]
\`\`\`

With \`{"take_over": true}\` these entries are parked in the same change: they leave the file, and Toolroom keeps them.

\`\`\`
"updated": ["toolroom"], "parked": ["echo"],
"diff": "--- /home/me/.cursor/mcp.json
+++ /home/me/.cursor/mcp.json
@@ -1,10 +1,9 @@
 {
   \\"mcpServers\\": {
-    \\"echo\\": { \\"command\\": \\"node\\", \\"args\\": [\\"/home/me/echo.mjs\\"] },
     \\"toolroom\\": {
…
\`\`\`

- **The agent sees exactly the servers that it had.** A take-over chooses the servers of the parked entries for the agent,
  before its file is written. \`"servers": "all"\` follows all servers instead, also those that are added later; a list of ids
  chooses these. An agent that follows all servers already goes on doing so.
- With \`"keep_names": true\` the agent keeps an entry for each server, under its old name and with its other fields (such as
  \`autoApprove\`). Each leads to \`/mcp/{server_id}\`, with one key, so that tools keep their names. The key opens only the
  servers that were chosen for the agent. A server that is added later needs an entry of its own: \`PUT\` with
  \`"via": "gateway"\`, or \`toolroom enable\`. To change from the one way to the other, disconnect first.
- An entry belongs to a server of Toolroom if it was written for it, or if an import would register it with the same values:
  command, arguments, variables and folder, or URL and headers. A secret that was copied to Toolroom is compared by its value.
  An entry with another value stays in the file, because it is another server. So do disabled entries, entries with a field
  that Toolroom cannot keep (such as an \`envFile\` or a list of tools), entries that refer to a secret or a variable that
  Toolroom does not have, and entries of servers that you have stopped.
- \`gateway\` in the response says what the agent can use \`before\` and \`after\`: servers, tools, tokens, credentials, the old
  and new names of its tools, and which servers it would gain. \`variants\` are servers of the same name with other values, which
  it does not get: \`memory-cursor\` beside \`memory\`. Secrets are only said to be the same or different. \`dry_run\` shows all of
  it.
- Only the file that \`connect\` writes to is changed. Servers that Claude Code's user file has for single projects stay there,
  unless it has the same server everywhere.
- \`GET /api/agents/cursor\` lists parked entries with \`parked: true\`.
- \`disconnect\` restores them (\`restored\`). The file gets every byte from before, unless another program has written to it
  since: then only these entries change, at their old place and with their comments if the lines around them are the
  same. An entry that another program has added again stays, with a warning.
- \`undo\` takes back a take-over as a whole. \`dry_run\` shows what any of these would do.

## Read a file

\`GET /api/agents/{agent_type}/file\` (token) shows the lines of a file as they are, also of one that cannot be parsed. Keys,
numbers, names, commands, arguments, folders and URLs are shown; if the file can be parsed, also the names of models, file
paths, and the words of comments. Every other text is masked, because it may be a secret: also a path or a comment with what
the file has as a secret elsewhere, text after a name such as \`token\`, words with digits, and entries in comments. Diffs with
the token show the same.
\`?first_line=3&limit=2\` of a settings file of Zed in which a comma is missing:

\`\`\`
{"agent_type": "zed", "scope": "user", "path": "/home/me/.config/zed/settings.json", "format": "jsonc",
 "revision": "f9d5290954e4a3b4fb90d9becccd5658726a5cded3109fe1fab5151472f205a6", "total_lines": 5,
 "lines": [
  {"line": 3, "text": "  \\"theme\\": \\"***\\"", "cut": false, "fault_column": null},
  {"line": 4, "text": "  \\"context_servers\\": {},", "cut": false, "fault_column": 3}],
 "parse_error": {"line": 4, "column": 3,
  "message": "/home/me/.config/zed/settings.json cannot be edited: line 4, column 3: Invalid JSON: a comma is missing"},
 "problem": null}
\`\`\`

\`fault_column\` is the place in \`text\`, which masking makes shorter or longer; \`column\` is the place in the file. At most 500
lines are returned at once, each with at most 2,000 characters.

## The grid of agents and servers

\`GET /api/agents?include=servers,tools\` adds to each agent what a grid shows, in one public read with secrets masked:

\`\`\`
{"agent_type": "cursor", …,
 "servers": [
  {"name": "toolroom", "type": "http", "url": "http://127.0.0.1:8665/mcp", "headers": {"Authorization": "***"}, "enabled": null,
   "parked": false, "managed": true, "linked_server_id": null, "differs": [], "scope": "user", "line": 3, "problem": null},
  {"name": "echo", "type": "stdio", "command": "node", "args": ["/home/me/echo.mjs"], "env": {}, "cwd": null, "enabled": false,
   "parked": true, "managed": false, "linked_server_id": "echo", "differs": [], "scope": "user", "line": null, "problem": null}],
 "visible": {"tools": 4, "tokens": 90, "by_server": [{"server_id": "echo", "tools": 4, "tokens": 90}]},
 "gateway_servers": null, "connected_via": "gateway", "keeps_names": false, "last_seen_at": null}
\`\`\`

| Field | With | Meaning |
| --- | --- | --- |
| \`servers\` | \`servers\` | Its entries, as \`GET /api/agents/{agent_type}\` shows them |
| \`visible\` | \`tools\` | What the gateway offers to it now, together and by server |
| \`gateway_servers\` | \`tools\` | The servers that were chosen for it at the gateway. \`null\`: all exposed servers |
| \`keeps_names\` | \`tools\` | It was connected with an entry for each server, under its old name |
| \`connected_via\` | \`tools\` | \`gateway\`: an entry leads to Toolroom. \`direct\`: its entries start or reach registered servers themselves. \`null\`: neither |
| \`last_seen_at\` | \`tools\` | When one of its keys was last used, within a minute |

\`differs\` of an entry names what is not as in the registered server that it is linked to, or that has its name:
\`["env GITHUB_TOKEN", "argument 2"]\`. To use the entry's settings, [import](#import) it with \`"update": true\`; to use those
of the server, write it again with \`PUT\`.

\`PUT /api/agents/{agent_type}/servers\` makes all changes of a file in one: \`{"server_ids": ["github"], "remove": ["fetch"]}\`
adds and removes with one diff and one backup, and \`"enable": true\` also enables entries of \`server_ids\` that are disabled.
\`"disable": ["fetch"]\` switches entries off: by the agent's own switch, or where it has none they leave the file and are parked.
An entry of the user's own comes back with \`enable\` as it was, with its comments if the lines around it are the same.

\`used_by_agents\` of a server is the same from the other side: the agents with an entry for it, Toolroom's or their own, and
those that may use it through the gateway.

## Import

\`POST /api/agents/import\` registers the servers in agents' files. It reads the files of the user, and for agents that are
installed the files of the projects that Claude Code and Codex list. It starts nothing and changes no file.

\`\`\`sh
curl -X POST -H "X-SVC-Token: $TOKEN" -H 'content-type: application/json' \\
  http://127.0.0.1:8665/api/agents/import -d '{"dry_run": true}'
\`\`\`

| Field of an item | Meaning |
|---|---|
| \`found_in\` | Every entry of this server: agent, scope, project and name |
| \`command\`, \`args\`, \`url\` | The definition, with secrets masked |
| \`variants\` | Other definitions of the same name, and the values that differ. Each is an item of its own |
| \`approved\` | \`false\`: it is only in a repository's \`.mcp.json\`, and Claude Code has not been allowed to start it. The dashboard and \`toolroom init\` leave it out unless you choose it, and it is imported off |
| \`enabled\` | \`false\`: disabled where it was found. It stays off: a STDIO server is stopped, an HTTP server is disabled. The dashboard and \`toolroom init\` leave it out, and do not try it, unless you choose it |
| \`plain_secrets\` | Where the definition has a secret as plain text. \`"move_secrets": true\` copies it to a [named secret](references.md), to which the server refers; the file keeps its own |
| \`outgoing\` | The variables and secrets that it would get, and where they go. It is off until [you allow them](references.md#what-an-import-may-get) |
| \`can_pin\` | The package that \`npx\` would download. \`"pin": true\` installs it once, and the server runs the installed file |
| \`notes\` | What was translated, what has to be set, and fields that have no counterpart |

\`POST /api/agents/import/trial\` with an element of \`found_in\` starts the server of that entry once, or connects to it, with its
values: it need not be registered, and nothing is stored. \`error\` says why it did not start. If a server is then added with
exactly these values, the result is its [last try](running.md#does-it-work), and its tools are known. If it would get
variables or secrets, send the items of \`outgoing\` as \`allow_outgoing\`; otherwise the answer is 409 \`outgoing_not_allowed\`.

Entries with the same values are one server, whatever their order and their agent's way to write a variable. Entries of one
name with other values are different servers, because each agent uses its own: the second one gets its project or its agent
as a suffix, such as \`memory-cursor\`. A server that is registered stays as it is; an entry with other values becomes a new
one. With \`"update": true\` the registered server gets the settings of the entry instead (\`outcome: "updated"\`): the one with
the same command or name, or \`server_id\`. One that runs an installed package or is of another kind is not changed.

\`problems\` lists the files that could not be read, with the reason: their entries are missing.

\`entries\` imports only some items: send their \`found_in\` of a dry run. They get the names that the dry run has shown. With its
\`digest\`, an entry that has changed since is refused.

\`"start_mode"\` applies to the new STDIO servers. A server of a project keeps its folder as \`cwd\`, unless a package runs
without relative paths. One item of the response:

\`\`\`json
{"name":"figma","type":"http","outcome":"created","server_id":null,"found_in":[{"agent_type":"codex","scope":"user","project":null,"name":"figma"}],"variants":[],"reason":null,"command":null,"args":[],"url":"https://mcp.figma.example/mcp","enabled":false,"plain_secrets":[],"outgoing":[{"reference":"\${env:FIGMA_OAUTH_TOKEN}","to":"header Authorization","host":"mcp.figma.example","program":null,"allowed":false}],"can_pin":null,"notes":["header Authorization refers to \${env:FIGMA_OAUTH_TOKEN}: set FIGMA_OAUTH_TOKEN in the environment of Toolroom","Fields without a counterpart are not imported: startup_timeout_sec","It is disabled in Codex, and stays off"]}
\`\`\`

An entry that leads to Toolroom itself is not listed.

## Changed by another program

\`drift\` of an agent names the entries that Toolroom wrote and another program has changed or removed. They are not repaired by
themselves; a [notice](notices.md) leads to the difference. \`POST /api/agents/{agent_type}/drift\` keeps one version, in all
files of the agent: \`{"keep": "toolroom"}\` writes what Toolroom wrote again, with a backup and an undo, and \`{"keep": "file"}\`
leaves the files as they are, so that the entries count as Toolroom's in their new form, or not at all if they were removed.
With \`"dry_run": true\`, \`toolroom\` returns the difference. Send \`path\` and \`base_revision\` of its items back as \`files\`
(\`path\`, \`revision\`): if one has been edited since, nothing is changed. On the command line:

\`\`\`sh
toolroom agents diff cursor                    # what writing Toolroom's entries again would change
toolroom agents diff cursor --keep toolroom    # shows it, asks, and writes
toolroom agents diff cursor --keep file        # leaves the file as it is
\`\`\`

If the entry of the gateway was removed and that is kept, its key is deleted. The entries that it had replaced stay with
Toolroom until the agent is disconnected.

## Backups

\`GET /api/backups\` lists the contents of files from before each change, newest first. The last 20 of each file are kept,
and the first one, \`original\`, for ever.

\`\`\`
{"id": "1794806369268-29f62401-7281", "ts": "2026-11-16T05:19:29.268Z", "agent_type": "cursor", "scope": "user",
 "path": "/home/me/.cursor/mcp.json", "action": "set", "names": ["toolroom"], "original": true, "bytes": 165}
\`\`\`

\`POST /api/backups/restore\` takes everything of Toolroom out of all files, or out of those of one \`agent_type\`: entries
that it wrote leave, entries that it changed get their former value, and parked ones return. A file to which no other
program has written gets the bytes of its original (\`exact\`); in any other file only these entries change. Each restore
is a change like any other: it has a diff, a dry run, a backup and an undo.

\`\`\`
{"dry_run": true, "total": 1, "items": [{"agent_type": "cursor", "scope": "user", "path": "/home/me/.cursor/mcp.json",
 "changed": true, "exact": true, "updated": [], "removed": ["toolroom"], "restored": ["echo"], "diff": "…",
 "backup_id": null, "reload_hint": "Automatically; some versions need the refresh button", "warnings": [], "problem": null}]}
\`\`\`

A file that cannot be changed has a \`problem\`, and the others are restored.
`

/** The text of docs/agents.md. */
export function agentsPage(agents: readonly Agent[], checked: readonly Checked[] = []): string {
  const parts = [INTRODUCTION, table(agents), ...verified(checked), '## Details\n', ...agents.map(details)]
  return `${parts.join('\n').trimEnd()}\n`
}

function table(agents: readonly Agent[]): string {
  const head = ['Agent', 'Type', 'User file', 'Project file', 'Format', 'Transports', 'Disabled by', 'Reload']
  const rows = agents.map((agent) => [
    `[${agent.name}](#${agent.type})`,
    code(agent.type),
    pathsOf(agent.scopes.find(({ scope }) => scope === 'user')),
    pathsOf(agent.scopes.find(({ scope }) => scope === 'project')),
    agent.format,
    transports(agent),
    disabledBy(agent),
    agent.reload ?? 'unknown',
  ])
  return ['## All agents', '', ...markdownTable(head, rows), ''].join('\n')
}

function verified(checked: readonly Checked[]): string[] {
  if (checked.length === 0) return []
  const rows = checked.map(({ agent, version, date, saw, note }) => [
    agent,
    version,
    date,
    saw.map(code).join(', ') || 'none',
    note,
  ])
  const text =
    'Toolroom wrote entries into the files of these agents, and each agent was started and listed them.'
  const head = ['Agent', 'Version', 'Checked', 'Servers', 'Note']
  return [['## Verified with the agents', '', text, '', ...markdownTable(head, rows), ''].join('\n')]
}

function details(agent: Agent): string {
  const { aliases, interpolation, lock, notes } = agent
  const facts = [
    `Type ${code(agent.type)}${aliases.length > 0 ? `, also ${aliases.map(code).join(', ')}` : ''}`,
    ...(agent.status === 'active' ? [] : [`Status: ${agent.status}`]),
    `Entries under ${keys(agent.keyPath)}${alternatives(agent)}, ${agent.container === 'map' ? 'by name' : `as a list with ${code(agent.nameField ?? '')}`}`,
    `${agent.format.toUpperCase()} ${dialect(agent)}`,
    `Precedence, strongest first: ${agent.precedence.join(', ')}`,
    `Variables: ${interpolation ? interpolation.syntax.map(code).join(', ') + (interpolation.note ? ` (${lower(interpolation.note)})` : '') : 'none'}`,
    `Disabled by: ${disabledBy(agent)}`,
    ...(lock ? [`Lock: ${code(lock.path)}, a ${lock.kind === 'file' ? 'file' : 'folder'}`] : []),
    `Confidence: ${agent.confidence}`,
  ]
  const title = agent.homepage ? `[${agent.name}](${agent.homepage})` : agent.name
  return [
    `<a id="${agent.type}"></a>\n\n### ${title}\n`,
    ...facts.map((fact) => `- ${fact}`),
    '',
    ...markdownTable(['Scope', 'File', 'Note'], agent.scopes.map(scopeRow)),
    '',
    ...notes
      .map((note) => `> ${note}.\n>`)
      .join('\n')
      .replace(/\n>$/, '\n')
      .split('\n'),
    examples(agent),
  ].join('\n')
}

function scopeRow(scope: Scope): string[] {
  const notes = [
    scope.note,
    scope.standsInFor === undefined
      ? null
      : `Used for \`${scope.standsInFor}\` as long as it is the only file of the two`,
    scope.readOnly ? 'Read-only' : null,
    ...scope.overrides.map((path) => `Or ${code(path)}`),
  ]
  return [scope.scope, pathsOf(scope, 'all'), notes.filter((note) => note !== null).join('. ')]
}

/** The example server in the notation of this agent, once for each transport. Equal examples are shown once. */
function examples(agent: Agent): string {
  const written = TRANSPORTS.filter((name) => agent[name]).map((name) =>
    JSON.stringify(writeEntry(agent, 'docs', definitionOf(name), 'linux')),
  )
  return ['```json', ...new Set(written), '```', ''].join('\n')
}

function definitionOf(type: TransportName): Definition {
  return type === 'stdio' ? EXAMPLE : { type, ...REMOTE }
}

function transports(agent: Agent): string {
  const words = { stdio: 'commands', http: 'HTTP', sse: 'SSE' }
  return TRANSPORTS.filter((name) => agent[name])
    .map((name) => words[name])
    .join(', ')
}

function disabledBy(agent: Agent): string {
  const { disabled } = agent
  switch (disabled.kind) {
    case 'entry-flag':
      return code(`${disabled.field}: ${disabled.value}`)
    case 'external-list':
      return `the list ${keys(disabled.keyPath)} in ${code(disabled.paths.linux[0] ?? '')}`
    case 'external-map':
      return `${keys([...disabled.keyPath, '<name>'])} in ${code(disabled.paths.linux[0] ?? '')}`
    case 'list-in-file':
      return `the list ${keys(disabled.keyPath)} in the same file`
    case 'ui-state':
      return 'the app'
    case 'unknown':
    case 'none':
      return 'removing the entry'
  }
}

function dialect({ dialect: { comments, trailingCommas, bom }, format }: Agent): string {
  if (!format.startsWith('json')) return bom ? 'with or without BOM' : 'without BOM'
  if (!comments && !trailingCommas) return bom ? 'strict; a BOM is accepted' : 'strict'
  const accepted = [comments && 'comments', trailingCommas && 'trailing commas', bom && 'a BOM'].filter(
    Boolean,
  )
  return `with ${accepted.join(', ')}`
}

function alternatives({ keyPathAlternatives }: Agent): string {
  return keyPathAlternatives.map((path) => ` or ${path.length > 0 ? keys(path) : 'at the top'}`).join('')
}

/** One path if it is the same on all systems. */
function pathsOf(scope: Scope | undefined, how: 'first' | 'all' = 'first'): string {
  if (!scope) return '–'
  const shown = SYSTEMS.map(([os, name]) => {
    const paths = how === 'all' ? scope.paths[os] : scope.paths[os].slice(0, 1)
    return { name, text: paths.map((path) => code(normalised(path))).join(' or ') }
  }).filter(({ text }) => text !== '')
  const texts = new Set(shown.map(({ text }) => text))
  if (texts.size === 1 && shown.length === SYSTEMS.length) return [...texts].join('')
  const groups = [...texts].map((text) => {
    const names = shown.filter((each) => each.text === text).map(({ name }) => name)
    return `${names.join(', ')}: ${text}`
  })
  return groups.join('<br>')
}

/** The same notation of a path for every system. */
function normalised(path: string): string {
  const plain = path.replace(/^%USERPROFILE%/, '~').replace(/^\$XDG_CONFIG_HOME/, '~/.config')
  return plain.startsWith('%') || /^[A-Z]:/.test(plain) ? plain : plain.replaceAll('\\', '/')
}

function keys(path: readonly string[]): string {
  return code(path.join(' > '))
}

function code(text: string): string {
  return `\`${text}\``
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)]
}
