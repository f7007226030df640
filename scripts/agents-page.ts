import type { Agent, Scope, System, TransportName } from '../src/agents/catalogue/catalogue.schema.ts'
import type { Definition } from '../src/agents/catalogue/definition.ts'
import { TRANSPORTS } from '../src/agents/catalogue/entry-template.ts'
import { writeEntry } from '../src/agents/catalogue/write-entry.ts'

/** What an agent showed when it was started with a file that Toolroom had edited. */
export interface Checked {
  readonly agent: string
  readonly version: string
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

Toolroom reads and edits the files in which these agents keep their tool servers. Each agent is data in
\`src/agents/catalogue/agents.json\`, and this page is made from it.

## How files are edited

- **Only the entry.** Toolroom changes the bytes of one entry and the comma beside it. Comments, order, indentation, line
  ends, BOM, unknown fields and neighbours stay as they are. On an update the same holds for the fields of the entry:
  approvals, timeouts and sign-ins stay.
- **In the agent's own dialect.** Where an agent wants strict JSON it gets strict JSON. A file that its agent could not read
  is not edited; you are told the line and the column.
- **No marks.** Which entries Toolroom wrote is kept in its own data folder, never in your file.
- **Nothing doubtful.** A file that cannot be read, or that can be read in two ways, is left alone. So is one of which there
  are several, when only you know which is meant.
- **Whole or not at all.** The result is read again by a second parser and compared before it is written; it is written
  beside the file and moved into place, with a backup in the data folder. A link stays a link, and the mode stays.
- **With the agent's lock**, where it has one.
- **Switched off as the agent does it.** Where it has no switch in a file, Toolroom takes the entry out and
  keeps it until it is switched on again.
`

/** The page of the documentation about agents. */
export function agentsPage(agents: readonly Agent[], checked: readonly Checked[] = []): string {
  const parts = [INTRODUCTION, table(agents), ...asked(checked), '## One by one\n', ...agents.map(details)]
  return `${parts.join('\n').trimEnd()}\n`
}

function table(agents: readonly Agent[]): string {
  const head = [
    'Agent',
    'Type',
    'User file',
    'Project file',
    'Format',
    'Takes',
    'Switched off',
    'Sees a change',
  ]
  const rows = agents.map((agent) => [
    `[${agent.name}](#${agent.type})`,
    code(agent.type),
    pathsOf(agent.scopes.find(({ scope }) => scope === 'user')),
    pathsOf(agent.scopes.find(({ scope }) => scope === 'project')),
    agent.format,
    takes(agent),
    off(agent),
    agent.reload ?? 'unknown',
  ])
  return ['## All agents', '', ...markdownTable(head, rows), ''].join('\n')
}

function asked(checked: readonly Checked[]): string[] {
  if (checked.length === 0) return []
  const rows = checked.map(({ agent, version, saw, note }) => [
    agent,
    version,
    saw.map(code).join(', ') || 'nothing',
    note,
  ])
  const text =
    'Toolroom wrote entries into their files, and these agents were started and asked what they see.'
  const head = ['Agent', 'Version', 'Saw', 'Note']
  return [['## Asked the agents themselves', '', text, '', ...markdownTable(head, rows), ''].join('\n')]
}

function details(agent: Agent): string {
  const { aliases, interpolation, lock, notes } = agent
  const facts = [
    `Type ${code(agent.type)}${aliases.length > 0 ? `, also ${aliases.map(code).join(', ')}` : ''}`,
    ...(agent.status === 'active' ? [] : [`It is ${agent.status}`]),
    `Entries under ${keys(agent.keyPath)}${alternatives(agent)}, ${agent.container === 'map' ? 'by name' : `as a list with ${code(agent.nameField ?? '')}`}`,
    `${agent.format.toUpperCase()} ${dialect(agent)}`,
    `Strongest first: ${agent.precedence.join(', ')}`,
    `Fills in: ${interpolation ? interpolation.syntax.map(code).join(', ') + (interpolation.note ? ` (${lower(interpolation.note)})` : '') : 'nothing'}`,
    `Switched off: ${off(agent)}`,
    ...(lock ? [`Its lock: ${code(lock.path)}, a ${lock.kind === 'file' ? 'file' : 'folder'}`] : []),
    `How sure this is: ${agent.confidence}`,
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
    scope.readOnly ? 'Only read' : null,
    ...scope.overrides.map((path) => `Or ${code(path)}`),
  ]
  return [scope.scope, pathsOf(scope, 'all'), notes.filter((note) => note !== null).join('. ')]
}

/** The example server as this agent writes it, once for each transport. Those that look alike are shown once. */
function examples(agent: Agent): string {
  const written = TRANSPORTS.filter((name) => agent[name]).map((name) =>
    JSON.stringify(writeEntry(agent, 'docs', definitionOf(name), 'linux')),
  )
  return ['```json', ...new Set(written), '```', ''].join('\n')
}

function definitionOf(type: TransportName): Definition {
  return type === 'stdio' ? EXAMPLE : { type, ...REMOTE }
}

function takes(agent: Agent): string {
  const words = { stdio: 'commands', http: 'HTTP', sse: 'SSE' }
  return TRANSPORTS.filter((name) => agent[name])
    .map((name) => words[name])
    .join(', ')
}

function off(agent: Agent): string {
  const { disabled } = agent
  switch (disabled.kind) {
    case 'entry-flag':
      return code(`${disabled.field}: ${disabled.value}`)
    case 'external-list':
      return `in the list ${keys(disabled.keyPath)} of ${code(disabled.paths.linux[0] ?? '')}`
    case 'external-map':
      return `${keys([...disabled.keyPath, '<name>'])} in ${code(disabled.paths.linux[0] ?? '')}`
    case 'list-in-file':
      return `in the list ${keys(disabled.keyPath)} of the same file`
    case 'ui-state':
      return 'in the app'
    case 'unknown':
    case 'none':
      return 'entry taken out'
  }
}

function dialect({ dialect: { comments, trailingCommas, bom }, format }: Agent): string {
  if (!format.startsWith('json')) return bom ? 'with or without BOM' : 'without BOM'
  if (!comments && !trailingCommas) return bom ? 'strict; a BOM is taken' : 'strict'
  const taken = [comments && 'comments', trailingCommas && 'trailing commas', bom && 'a BOM'].filter(Boolean)
  return `with ${taken.join(', ')}`
}

function alternatives({ keyPathAlternatives }: Agent): string {
  return keyPathAlternatives.map((path) => ` or ${path.length > 0 ? keys(path) : 'at the top'}`).join('')
}

/** One line where all systems agree. */
function pathsOf(scope: Scope | undefined, how: 'first' | 'all' = 'first'): string {
  if (!scope) return '–'
  const shown = SYSTEMS.map(([os, name]) => {
    const paths = how === 'all' ? scope.paths[os] : scope.paths[os].slice(0, 1)
    return { name, text: paths.map((path) => code(homely(path))).join(' or ') }
  }).filter(({ text }) => text !== '')
  const texts = new Set(shown.map(({ text }) => text))
  if (texts.size === 1 && shown.length === SYSTEMS.length) return [...texts].join('')
  const groups = [...texts].map((text) => {
    const names = shown.filter((each) => each.text === text).map(({ name }) => name)
    return `${names.join(', ')}: ${text}`
  })
  return groups.join('<br>')
}

/** The same path looks the same on every system. */
function homely(path: string): string {
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
