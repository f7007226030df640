import * as Type from 'typebox'
import { component, listOf, orNull, Timestamp } from '../../kernel/rest-parts.ts'
import {
  boolean,
  integer,
  objects,
  optional,
  partial,
  text,
  textOrNull,
  texts,
} from '../../kernel/schema-fields.ts'
import { masked } from '../../servers/shared/masked-values.ts'
import { ENTRY_CHANGES } from '../files/file-backups.ts'

/** No pattern: an unknown type is `not_found`. */
export const AgentKey = Type.Object({
  agent_type: text('The type, or one of its aliases', { examples: ['claude-code'] }),
})

const AgentType = Type.String({ examples: ['claude-code'] })
const ScopeName = Type.String({ maxLength: 40, pattern: '^[a-z][a-z-]*$', examples: ['user'] })
const Path = Type.String({ examples: ['/home/me/.claude.json'] })
const EntryName = Type.String({ minLength: 1, maxLength: 128, examples: ['github'] })

export const ProjectPath = text('The folder of a project, for scopes inside a project; requires the token', {
  minLength: 1,
  maxLength: 4096,
  pattern: '^(?:/|[A-Za-z]:[\\\\/]|\\\\\\\\)[^\\u0000-\\u001f]*$',
  expected: 'an absolute path',
  examples: ['/home/me/shop'],
})

export const Revision = text('SHA-256 of the file as you read it', {
  pattern: '^[0-9a-f]{64}$',
  expected: 'a revision from an earlier response',
  examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
})

const shown = (description: string, example: string) =>
  textOrNull(`${description}. Null if there is none, or if it is a secret`, { examples: [example] })

/** Two servers, value by value. */
export const ComparedValues = objects('Values that differ, and secrets', {
  label: Type.String({ examples: ['env MEMORY_FILE_PATH'] }),
  own: shown('The value of this server', '/home/me/.cursor/facts.json'),
  other: shown('The value of the other one', '/home/me/.claude/facts.json'),
  secret: orNull(
    Type.Enum(['same', 'different'], { description: 'How the secrets compare, which are not shown' }),
  ),
})

const ParseError = Type.Object({
  line: Type.Integer({ minimum: 1 }),
  column: Type.Integer({ minimum: 1 }),
  message: Type.String(),
})

const ScopeView = Type.Object({
  scope: ScopeName,
  path: Path,
  format: Type.String({ examples: ['json'] }),
  exists: Type.Boolean(),
  writable: Type.Boolean(),
  revision: orNull(Revision),
  server_count: Type.Integer({ minimum: 0 }),
  parse_error: Type.Union([ParseError, Type.Null()]),
  problem: textOrNull('Why the file is not used or not edited'),
  note: orNull(Type.String()),
})

const DRIFTS = ['external_edit', 'entry_removed'] as const

const Drift = objects({
  scope: ScopeName,
  name: EntryName,
  verdict: Type.Enum(DRIFTS, {
    description: 'Another program changed or removed an entry that Toolroom wrote',
  }),
})
export type Drift = Type.Static<typeof Drift>

const summary = {
  agent_type: AgentType,
  name: Type.String({ examples: ['Claude Code'] }),
  installed: Type.Boolean(),
  transports: Type.Array(Type.Enum(['stdio', 'http', 'sse']), {
    description: 'What its entries can lead to',
  }),
  detected_by: orNull(Type.String({ examples: ['~/.claude'] })),
  scopes: Type.Array(ScopeView),
  server_count: Type.Integer({ minimum: 0 }),
  managed_count: Type.Integer({ minimum: 0 }),
  drift: Drift,
  reload_hint: orNull(Type.String({ examples: ['new session'] })),
}

/** An entry of an agent's file with its secrets masked. */
const EntryView = Type.Object({
  name: EntryName,
  type: orNull(Type.Enum(['stdio', 'http', 'sse'])),
  command: Type.Optional(Type.String()),
  args: Type.Optional(Type.Array(Type.String())),
  env: Type.Optional(masked({ GITHUB_TOKEN: '***' })),
  cwd: Type.Optional(orNull(Type.String())),
  url: Type.Optional(Type.String()),
  headers: Type.Optional(masked({ Authorization: '***' })),
  enabled: orNull(boolean('Null if only the agent itself can tell')),
  parked: boolean(
    'Removed from the file and kept by Toolroom: disabled in an agent that has no switch, or replaced by the gateway entry',
  ),
  managed: boolean('Written by Toolroom'),
  linked_server_id: textOrNull('The registered server behind this entry'),
  differs: texts(
    'Where it differs from the registered server that it is linked to, or that has its name. References are not compared',
    { examples: [['env GITHUB_TOKEN']] },
  ),
  scope: ScopeName,
  line: orNull(Type.Integer({ minimum: 1 })),
  problem: textOrNull('Why the agent ignores the entry'),
})
export type EntryView = Type.Static<typeof EntryView>
component({ AgentEntry: EntryView }, "An entry of an agent's file")

const Count = Type.Integer({ minimum: 0, examples: [12] })
const Visible = Type.Object({
  tools: Count,
  tokens: integer('What its tool list takes in its context', { minimum: 0, examples: [3100] }),
  by_server: objects({ server_id: Type.String({ examples: ['github'] }), tools: Count, tokens: Count }),
})
export type Visible = Type.Static<typeof Visible>

const AgentSummary = Type.Object({
  ...summary,
  ...optional({
    servers: Type.Array(EntryView, { description: 'With `include=servers`' }),
    visible: Type.Object(Visible.properties, {
      description: 'With `include=tools`. What the gateway offers to the agent now',
    }),
    gateway_servers: orNull(
      Type.Array(Type.String({ examples: ['github'] }), {
        description:
          'With `include=tools`. The servers that the agent may use at the gateway. Null: all exposed servers',
      }),
    ),
    connected_via: orNull(
      Type.Enum(['gateway', 'direct'], {
        description:
          'With `include=tools`. `gateway`: an entry leads to Toolroom. `direct`: entries start or reach registered servers themselves',
      }),
    ),
    starts_toolroom: boolean(
      'With `include=tools`. Its entry is a command that may start Toolroom when it is not running. With a URL, it has no tools then',
    ),
    keeps_names: boolean(
      'With `include=tools`. It was connected with an entry for each server, under its old name. A server that is added needs an entry of its own',
    ),
    last_seen_at: orNull(
      Type.String({
        ...Timestamp,
        description: 'With `include=tools`. When a key of the agent was last used, within a minute',
      }),
    ),
  }),
})
component({ AgentSummary }, 'An agent and its files')
export const AgentList = listOf(AgentSummary)
export type AgentSummary = Type.Static<typeof AgentSummary>

export const AgentListQuery = partial({
  include: text('`servers`: the entries of each agent. `tools`: what each agent gets from the gateway', {
    pattern: '^(servers|tools)(,(servers|tools))?$',
    expected: 'servers, tools or servers,tools',
    examples: ['servers,tools'],
  }),
})

export const AgentView = Type.Object({
  ...summary,
  homepage: orNull(Type.String()),
  aliases: Type.Array(Type.String()),
  servers: Type.Array(EntryView),
  revision: orNull(Revision),
  notes: Type.Array(Type.String()),
})
export type AgentView = Type.Static<typeof AgentView>
component({ Agent: AgentView }, 'An agent, its files and their entries')

export const AgentQuery = partial({ scope: ScopeName, project_path: ProjectPath })

export const FileQuery = partial({
  ...AgentQuery.properties,
  first_line: integer('The first line to show', { minimum: 1, maximum: 10_000_000, default: 1 }),
  limit: integer('The number of lines', { minimum: 1, maximum: 500, default: 200 }),
})
export type FileQuery = Type.Static<typeof FileQuery>

const FileLine = Type.Object({
  line: Type.Integer({ minimum: 1, examples: [4] }),
  text: text('With secrets masked', { examples: ['    "command": "npx"'] }),
  cut: boolean('The line is longer than 2,000 characters, or than 20,000 before masking'),
  fault_column: orNull(integer('Where `text` cannot be parsed; null for other lines', { minimum: 1 })),
})

export const FileView = Type.Object({
  agent_type: AgentType,
  scope: ScopeName,
  path: Path,
  format: Type.String({ examples: ['json'] }),
  revision: orNull(Revision),
  total_lines: Type.Integer({ minimum: 0 }),
  lines: Type.Array(FileLine, {
    description: 'Empty if the file is not UTF-8, too large or not a regular file',
  }),
  parse_error: Type.Union([ParseError, Type.Null()]),
  problem: textOrNull('Why the file is not used'),
})
export type FileView = Type.Static<typeof FileView>
component({ AgentFile: FileView }, "Lines of an agent's file, with secrets masked")

export const HttpEntries = listOf(EntryView)

export const EffectiveQuery = partial({ project_path: ProjectPath })

const EntryLocation = Type.Object({
  scope: ScopeName,
  path: Path,
  line: orNull(Type.Integer({ minimum: 1 })),
})

export const Effective = listOf(
  Type.Object({
    ...EntryView.properties,
    path: Path,
    shadows: Type.Array(EntryLocation, { description: 'Entries with the same name in weaker scopes' }),
  }),
)
component({ EffectiveEntryList: Effective }, 'The entries that the agent uses')
export type EffectiveEntry = Type.Static<typeof Effective>['items'][number]

export const BackupAction = Type.Enum(['set', 'remove', 'undo', 'restore', 'foreign_edit'], {
  description: '`foreign_edit`: what another program wrote during a change of ours',
})

export const History = listOf(
  Type.Object({
    id: Type.String(),
    ts: Timestamp,
    scope: ScopeName,
    path: Path,
    action: BackupAction,
    names: Type.Array(Type.String()),
    changes: objects('What happened to each entry. Empty for changes by an earlier version', {
      name: EntryName,
      what: Type.Enum([...ENTRY_CHANGES], {
        description: '`taken_over`: the gateway replaces it. `brought_back`: it is as it was before that',
      }),
    }),
    current: boolean('The file has not changed since'),
    request_id: orNull(Type.String()),
  }),
)
component({ AgentChangeList: History }, "Toolroom's changes to the agent's files, newest first")
export type HistoryItem = Type.Static<typeof History>['items'][number]
